"""Metrics, dashboards and alerts agree: no name that nothing has, no label that is not there."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from streams.apps.metrics_registry import collected, exposition
from streams.observability.metrics import METRICS, Histogram, Metric

ROOT = Path(__file__).resolve().parents[2]
OPERATIONS = ROOT / "docs" / "operations"
KNOWN = {metric.name: metric for metric in METRICS}

PARTS = ["Symptom", "Cause", "Check", "Act"]
TARGET = {"instance", "job"}
"""Labels that Prometheus itself gives every sample."""
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
SELECTOR = re.compile(r"\b(turnfold_\w+)\s*(?:\{([^}]*)\})?")
UP = re.compile(r'\bup\{job=~"\.\*turnfold\.\*')
MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
LEGEND = re.compile(r"\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}")


def sample_names(metric: Metric) -> dict[str, set[str]]:
    """The names of a metric's samples with their labels, as Prometheus stores them."""
    labels = set(metric.labels)
    if metric.kind != "histogram":
        return {metric.name: labels}
    name = metric.name
    return {f"{name}_bucket": labels | {"le"}, f"{name}_sum": labels, f"{name}_count": labels}


SAMPLES = {name: labels for metric in METRICS for name, labels in sample_names(metric).items()}


def wrong(expression: str, legends: str = "") -> list[str]:
    """What a PromQL expression, and the legends of its result, name that is not there.

    A small tokenizer: text goes first, so that what is left in words is metrics, labels, functions.
    """
    bare = TEXT.sub('""', expression)
    found, labels = [], set(TARGET)
    for name, matchers in SELECTOR.findall(bare):
        if name not in SAMPLES:
            found.append(name)
            continue
        labels |= SAMPLES[name]
        unknown = set(MATCHER.findall(matchers)) - SAMPLES[name] - TARGET
        found += [f"{name}{{{label}}}" for label in unknown]
    groupings = GROUPING.findall(bare)
    grouped = {label.strip() for one in groupings for label in one.split(",")} - {""}
    found += sorted(grouped - labels)
    if "histogram_quantile" in bare and "le" not in grouped:
        found.append("no le")
    left = labels if not groupings else grouped | ({"le"} & labels)
    return found + sorted(set(LEGEND.findall(legends)) - left)


def expressions() -> Iterator[tuple[str, str]]:
    """Every expression of the dashboard and the alerts, with the texts that name its labels."""
    dashboard = json.loads((OPERATIONS / "grafana.json").read_text("utf-8"))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield target["expr"], target["legendFormat"]
    for rule in rules():
        yield rule["expr"], " ".join(re.findall(r"\{\{\s*\$labels[^}]*\}\}", json.dumps(rule)))


def rules() -> list[dict[str, Any]]:
    loaded = yaml.safe_load((OPERATIONS / "alerts.yml").read_text("utf-8"))
    return [rule for group in loaded["groups"] for rule in group["rules"]]


@pytest.mark.parametrize(("expression", "legends"), list(expressions()))
def test_dashboard_and_alerts_name_metrics_and_labels_that_exist(
    expression: str, legends: str
) -> None:
    assert SELECTOR.search(expression) or UP.search(expression), "asks for none of our metrics"
    assert wrong(expression, legends) == []


def test_a_wrong_name_or_label_would_be_found() -> None:
    assert wrong("rate(turnfold_record_total[5m])") == ["turnfold_record_total"]
    assert wrong("turnfold_lanes{stat='x'}") == ["turnfold_lanes{stat}"]
    assert wrong('turnfold_lanes{state="turnfold_nothing"}') == []
    assert wrong("sum by (tenant) (turnfold_lanes)") == ["tenant"]
    assert wrong("sum by (state) (turnfold_lanes)", "{{agent}}") == ["agent"]
    assert wrong("turnfold_search_seconds") == ["turnfold_search_seconds"]
    assert wrong("histogram_quantile(1, sum(turnfold_search_seconds_bucket))") == ["no le"]


def test_every_alert_says_what_it_is() -> None:
    for rule in rules():
        assert rule["annotations"].keys() == {"summary", "description"}, rule["alert"]
        assert rule["labels"]["severity"] in ("warning", "critical")


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    page = (ROOT / "docs" / "runbooks.md").read_text("utf-8")
    _, *sections = re.split(r"^## (?=Turnfold)", page, flags=re.MULTILINE)
    books = {section.split("\n", 1)[0]: section for section in sections}
    assert list(books) == list(dict.fromkeys(rule["alert"] for rule in rules()))
    for alert, book in books.items():
        assert re.findall(r"^- \*\*(\w+):\*\*", book, re.MULTILINE) == PARTS, alert


def test_jobs_of_the_shipped_configuration_are_those_that_the_rules_know() -> None:
    jobs = yaml.safe_load((OPERATIONS / "prometheus.yml").read_text("utf-8"))["scrape_configs"]
    names = [job["job_name"] for job in jobs]
    matchers = [one for rule in rules() for one in re.findall(r'up\{job=~"([^"]+)"', rule["expr"])]
    assert matchers
    assert all(any(re.fullmatch(one, name) for one in matchers[1:]) for name in names)
    assert all(re.fullmatch(matchers[0], name) for name in names)


def test_every_metric_is_in_the_docs() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text("utf-8")
    for metric in METRICS:
        assert f"| `{metric.name}` | {metric.kind} |" in page


def test_names_follow_prometheus_and_labels_are_of_bounded_number() -> None:
    assert len(KNOWN) == len(METRICS)
    for metric in METRICS:
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name
        assert bool(metric.buckets) == (metric.kind == "histogram"), metric.name
        assert sorted(metric.buckets) == list(metric.buckets)
        assert not {"tenant", "session", "user", "key", "id", "path"} & set(metric.labels)


def test_a_histogram_counts_what_does_not_exceed_a_bound() -> None:
    metric = KNOWN["turnfold_sink_commit_seconds"]
    seconds = Histogram(metric.buckets)
    for value in (0.01, 0.05, 0.06, 59.0, 61.0):
        seconds.observe(value)
    with collected(lambda: [(metric, (), seconds)]):
        text = exposition().decode()
    (family,) = [one for one in text_string_to_metric_families(text) if one.name == metric.name]
    buckets = {one.labels["le"]: one.value for one in family.samples if one.name.endswith("bucket")}
    assert buckets["0.05"] == 2 and buckets["0.1"] == 3
    assert buckets["60.0"] == 4 and buckets["+Inf"] == 5
    (total,) = [one.value for one in family.samples if one.name.endswith("_sum")]
    assert total == pytest.approx(120.12)
    assert metric.name not in exposition().decode(), "asked no more"
