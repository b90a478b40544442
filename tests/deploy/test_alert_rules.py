"""Which alerts fire for which series, by promtool: for each alert what makes it fire, and the same
without the fault. tests/fault/test_alerts.py breaks real processes."""

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

pytestmark = [pytest.mark.component, pytest.mark.needs("prometheus")]
RULES = Path(__file__).resolve().parents[2] / "docs" / "operations" / "alerts.yml"
ALERTS = sorted({rule["alert"] for rule in yaml.safe_load(RULES.read_text())["groups"][0]["rules"]})

WORKER = 'job="turnfold-worker",instance="w1:9101"'
OTHER = 'job="turnfold-worker",instance="w2:9101"'
SINK = 'job="turnfold-sink",instance="s1:9101"'
SERVER = 'job="turnfold-serve",instance="h1:9101"'
EXTRACTOR = 'job="turnfold-extract",instance="x1:9101"'
LANE = 'agent="session",partition="0"'
LETTERS = f"turnfold_dead_letters_total{{{WORKER},{LANE},reason="
ELSEWHERE = f"turnfold_dead_letters_total{{{OTHER},{LANE},reason="
GROUP = f'{SERVER},group="turnfold",topic="turns",partition='
LAG, POSITION = "turnfold_group_lag_offsets{", "turnfold_group_position_offsets{"

OTHER_SINK = 'job="turnfold-sink",instance="s2:9101"'
OLDEST = f"turnfold_sink_oldest_seconds{{{SINK}}}"
BUCKET = f'turnfold_write_wait_seconds_bucket{{{SERVER},le="1.0"}}'
WRITES = f"turnfold_write_wait_seconds_count{{{SERVER}}}"

HEALTHY = {
    f"up{{{WORKER}}}": "1x120",
    f"up{{{SINK}}}": "1x120",
    f"up{{{SERVER}}}": "1x120",
    f"turnfold_ready{{{WORKER}}}": "1x120",
    f"turnfold_lanes{{{WORKER},state=\"ready\"}}": "8x120",
    f"turnfold_stalled_lanes{{{WORKER}}}": "0x120",
    f'turnfold_success_age_seconds{{{WORKER},act="fetch"}}': "0.1x120",
    f"{LAG}{GROUP}\"0\"}}": "3x120",
    f"{POSITION}{GROUP}\"0\"}}": "0+100x120",
    f'{LETTERS}"invalid"}}': "7x120",
    f"turnfold_sink_misfits_total{{{SINK}}}": "0x120",
    OLDEST: "2x120",
    BUCKET: "0+60x120",
    WRITES: "0+60x120",
    f"turnfold_http_failures_total{{{SERVER}}}": "0x120",
    f'turnfold_http_requests_total{{{SERVER},route="/v1/records",status="200"}}': "0+60x120",
    f'turnfold_quota_refusals_total{{{SERVER},limit="records"}}': "0x120",
    f"turnfold_quota_behind_tenants{{{WORKER},{LANE}}}": "0x120",
    f'turnfold_model_budget_used_ratio{{{EXTRACTOR},budget="run",unit="tokens"}}': "0.5x120",
    f'turnfold_model_groups_total{{{EXTRACTOR},ending="failed"}}': "0x120",
    f'turnfold_model_groups_total{{{EXTRACTOR},ending="planned"}}': "0+1x120",
    f'turnfold_model_breaker_state{{{EXTRACTOR},state="open"}}': "0x120",
}  # fmt: skip
"""A sample a minute for two hours. `_` is no sample."""


class Case(NamedTuple):
    """`series` replace or add to `HEALTHY`; `at` minutes exactly the alerts `firing` fire."""

    name: str
    series: dict[str, str]
    at: int
    firing: set[str]


CASES = [
    Case("healthy", {}, 30, set()),
    Case("a Prometheus that is new reports old letters once", {}, 5, {"TurnfoldDeadLetters"}),
    Case("one of two workers is dead", {f"up{{{OTHER}}}": "1x19 0x60"}, 23, {"TurnfoldDown"}),
    Case("for a moment", {f"up{{{OTHER}}}": "1x19 0 1x60"}, 23, set()),
    Case("the only worker is dead", {f"up{{{WORKER}}}": "1x19 0x60"}, 30,
         {"TurnfoldDown", "TurnfoldAbsent"}),
    Case("the worker is no target any more", {f"up{{{WORKER}}}": "1x19 _x60"}, 40,
         {"TurnfoldAbsent"}),
    Case("no sink was ever there", {f"up{{{SINK}}}": "_x120"}, 20, {"TurnfoldAbsent"}),
    Case("no server was ever there", {f"up{{{SERVER}}}": "_x120"}, 20, {"TurnfoldAbsent"}),
    Case("the extractor is gone", {f"up{{{EXTRACTOR}}}": "1x19 _x60"}, 40, {"TurnfoldAbsent"}),
    Case("jobs have longer names",
         {f"up{{{WORKER}}}": "_x120", 'up{job="prod/mem-turnfold-worker",instance="a"}': "1x120"},
         100, set()),
    Case("another program is down", {'up{job="worker",instance="a"}': "0x120"}, 30, set()),
    Case("no fetch is answered",
         {f'turnfold_success_age_seconds{{{WORKER},act="fetch"}}': "0x19 0+60x60"}, 23,
         {"TurnfoldNoProgress"}),
    Case("a sink writes nothing",
         {f'turnfold_success_age_seconds{{{SINK},act="write"}}': "0x19 0+60x60"}, 23,
         {"TurnfoldNoProgress"}),
    Case("a slow write that ends",
         {f'turnfold_success_age_seconds{{{SINK},act="write"}}': "0x19 61 0x60"}, 22, set()),
    Case("a small constant lag", {f"{POSITION}{GROUP}\"0\"}}": "0+100x20 2000x60"}, 40,
         {"TurnfoldLagStands"}),
    Case("one of two partitions stands",
         {f"{LAG}{GROUP}\"1\"}}": "4x120", f"{POSITION}{GROUP}\"1\"}}": "9x120"}, 70,
         {"TurnfoldLagStands"}),
    Case("a group that has read all is idle",
         {f"{LAG}{GROUP}\"0\"}}": "0x120", f"{POSITION}{GROUP}\"0\"}}": "500x120"}, 70, set()),
    Case("a lag that grows while the group works", {f"{LAG}{GROUP}\"0\"}}": "0+1000x120"}, 60,
         {"TurnfoldLagGrows"}),
    Case("a lag that shrinks", {f"{LAG}{GROUP}\"0\"}}": "120000-1000x120"}, 60, set()),
    Case("nobody exports the lag",
         {f"{LAG}{GROUP}\"0\"}}": "_x120", f"{POSITION}{GROUP}\"0\"}}": "_x120"}, 60,
         {"TurnfoldLagUnknown"}),
    Case("lanes are stalled", {f"turnfold_stalled_lanes{{{WORKER}}}": "0x19 12x60"}, 23,
         {"TurnfoldStalled"}),
    Case("the first letter of its reason", {f'{LETTERS}"bad_json"}}': "0x19 1x60"}, 21,
         {"TurnfoldDeadLetters"}),
    Case("a series that begins at 1", {f'{LETTERS}"bad_json"}}': "_x19 1x60"}, 21,
         {"TurnfoldDeadLetters"}),
    Case("another letter", {f'{LETTERS}"invalid"}}': "7x19 8x60"}, 21, {"TurnfoldDeadLetters"}),
    Case("old letters", {f'{LETTERS}"invalid"}}': "7x19 8x60"}, 40, set()),
    Case("the lane moves to another worker",
         {f'{LETTERS}"invalid"}}': "7x19 _x60", f'{ELSEWHERE}"invalid"}}': "_x20 7x60"}, 22, set()),
    Case("the lane moves, and there a letter comes before the first scrape",
         {f'{LETTERS}"invalid"}}': "7x19 _x60", f'{ELSEWHERE}"invalid"}}': "_x20 8x60"}, 22,
         {"TurnfoldDeadLetters"}),
    Case("the worker comes back after an hour",
         {f'{LETTERS}"invalid"}}': "7x30 _x60 7x30"}, 95, set()),
    Case("letters wait for an operator",
         {f'turnfold_unsettled_letters{{{SERVER},reason="invalid"}}': "0x19 3x100"}, 85,
         {"TurnfoldUnsettledLetters"}),
    Case("letters are settled within the hour",
         {f'turnfold_unsettled_letters{{{SERVER},reason="invalid"}}': "0x19 3x40 0x60"}, 85, set()),
    Case("lanes restore for long",
         {f'turnfold_lanes{{{WORKER},state="restoring"}}': "0x19 4x60"}, 31,
         {"TurnfoldRestoresLong"}),
    Case("not ready", {f"turnfold_ready{{{WORKER}}}": "1x19 0x60"}, 36, {"TurnfoldNotReady"}),
    Case("the first misfit", {f"turnfold_sink_misfits_total{{{SINK}}}": "0x19 1x60"}, 22,
         {"TurnfoldSinkMisfits"}),
    Case("a misfit before the first scrape",
         {f"turnfold_sink_misfits_total{{{SINK}}}": "_x19 1x60"}, 22, {"TurnfoldSinkMisfits"}),
    Case("an old misfit", {f"turnfold_sink_misfits_total{{{SINK}}}": "_x19 1x60"}, 40, set()),
    Case("requests fail",
         {f"turnfold_http_failures_total{{{SERVER}}}": "0x19 0+2x60",
          f'turnfold_http_requests_total{{{SERVER},route="/v1/search",status="500"}}':
          "_x19 1+2x60"}, 28, {"TurnfoldServerErrors", "TurnfoldErrorBudgetBurns"}),
    Case("a fault that is over",
         {f"turnfold_http_failures_total{{{SERVER}}}": "0x19 0+60x5 300x90"}, 60, set()),
    Case("few requests fail for long",
         {f"turnfold_http_failures_total{{{SERVER}}}": "0+0.5x120"}, 60,
         {"TurnfoldErrorBudgetBurns"}),
    Case("fewer requests fail than may",
         {f"turnfold_http_failures_total{{{SERVER}}}": "0+0.03x120"}, 60, set()),
    Case("the only requests fail",
         {f'turnfold_http_requests_total{{{SERVER},route="/v1/records",status="200"}}': "0x120",
          f"turnfold_http_failures_total{{{SERVER}}}": "0x19 0+1x60"}, 28,
         {"TurnfoldServerErrors", "TurnfoldErrorBudgetBurns"}),
    Case("writes take long",
         {BUCKET: "0+60x19 1140+40x90", WRITES: "0+60x120"}, 60, {"TurnfoldWritesBurn"}),
    Case("some writes take long for hours",
         {BUCKET: "0+54x120", WRITES: "0+60x120"}, 100, {"TurnfoldWritesBurn"}),
    Case("no write is within a second",
         {BUCKET: "0x120", WRITES: "0+1x120"}, 60, {"TurnfoldWritesBurn"}),
    Case("nothing is written", {BUCKET: "9x120", WRITES: "9x120"}, 60, set()),
    Case("few writes take long", {BUCKET: "0+58x120", WRITES: "0+60x120"}, 100, set()),
    Case("long writes that are over",
         {BUCKET: "0x19 0+60x90", WRITES: "0+60x120"}, 60, set()),
    Case("the history is behind",
         {OLDEST: "2x19 90x90"}, 60, {"TurnfoldFreshnessBurns"}),
    Case("one of two sinks is behind",
         {OLDEST: "2x120", f"turnfold_sink_oldest_seconds{{{OTHER_SINK}}}": "2x19 90x90"}, 60,
         {"TurnfoldFreshnessBurns"}),
    Case("the history was behind", {OLDEST: "2x19 90x20 2x90"}, 70, set()),
    Case("the history is within a minute", {OLDEST: "55x120"}, 100, set()),
    Case("a tenant is refused",
         {f'turnfold_quota_refusals_total{{{SERVER},limit="records"}}': "0x19 150x60"}, 22,
         {"TurnfoldQuotaRefuses"}),
    Case("a tenant is refused before the first scrape",
         {f'turnfold_quota_refusals_total{{{SERVER},limit="bytes"}}': "_x19 150x60"}, 22,
         {"TurnfoldQuotaRefuses"}),
    Case("a tenant waits", {f"turnfold_quota_behind_tenants{{{WORKER},{LANE}}}": "0x30 1x90"}, 95,
         {"TurnfoldTenantBehind"}),
    Case("the budget is nearly spent",
         {f'turnfold_model_budget_used_ratio{{{EXTRACTOR},budget="run",unit="tokens"}}':
          "0.5x19 0.95x60"}, 22, {"TurnfoldModelBudget"}),
    Case("the model gives nothing usable",
         {f'turnfold_model_groups_total{{{EXTRACTOR},ending="failed"}}': "0x30 0+1x90",
          f'turnfold_model_groups_total{{{EXTRACTOR},ending="planned"}}': "5x120"}, 80,
         {"TurnfoldModelFails"}),
    Case("the first group of a new extractor fails",
         {f'turnfold_model_groups_total{{{EXTRACTOR},ending="failed"}}': "_x50 1+1x60",
          f'turnfold_model_groups_total{{{EXTRACTOR},ending="planned"}}': "_x50 0x60"}, 68,
         {"TurnfoldModelFails"}),
    Case("the endpoint is down",
         {f'turnfold_model_breaker_state{{{EXTRACTOR},state="open"}}': "0x19 1x60"}, 31,
         {"TurnfoldModelDown"}),
]  # fmt: skip


def plan(cases: list[Case]) -> dict[str, Any]:
    """A file of tests as promtool reads it."""
    return {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "name": case.name,
                "interval": "1m",
                "input_series": [
                    {"series": name, "values": values}
                    for name, values in {**HEALTHY, **case.series}.items()
                ],
                "promql_expr_test": [
                    {
                        "expr": 'group by (alertname) (ALERTS{alertstate="firing"})',
                        "eval_time": f"{case.at}m",
                        "exp_samples": [
                            {"labels": f'{{alertname="{alert}"}}', "value": 1}
                            for alert in sorted(case.firing)
                        ],
                    }
                ],
            }
            for case in cases
        ],
    }


def run(cases: list[Case], folder: Path) -> "subprocess.CompletedProcess[str]":
    path = folder / "tests.yml"
    path.write_text(json.dumps(plan(cases)))  # JSON is YAML
    return subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True)


def test_rules_fire_for_their_faults_and_for_nothing_else(tmp_path: Path) -> None:
    done = run(CASES, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_case_in_which_it_fires() -> None:
    assert set().union(*(case.firing for case in CASES)) == set(ALERTS)


def test_a_rule_that_does_not_fire_would_be_found(tmp_path: Path) -> None:
    healthy = Case("healthy", {}, 5, {"TurnfoldDown"})
    assert run([healthy], tmp_path).returncode == 1


def test_promtool_accepts_the_rules() -> None:
    done = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
