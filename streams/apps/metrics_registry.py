"""Prometheus registry: samples collected at scrape time, and metrics of the HTTP server.

Needs prometheus-client, so workers, sinks and extractors do not import it: they count in plain
numbers, which `streams.apps.metric_samples` reads at a scrape.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client import Gauge as PrometheusGauge
from prometheus_client import Histogram as PrometheusHistogram
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from streams.apps.metric_samples import Sample
from streams.observability import metrics
from streams.observability.metrics import Histogram, Metric
from streams.quota import Quota

if TYPE_CHECKING:
    from faust import App

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

disable_created_metrics()  # type: ignore[no-untyped-call]  # an unused second series for each
REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)


def exposition() -> bytes:
    """All metrics in Prometheus's text format (`CONTENT_TYPE`)."""
    return generate_latest(REGISTRY)


# --- what parts count by themselves ---------------------------------------------------------------


class _Samples(Collector):
    """Collector of a process's samples at scrape time."""

    def __init__(self, samples: Callable[[], Iterable[Sample]]) -> None:
        self._samples = samples

    def collect(self) -> Iterator[Family]:
        families: dict[str, Family] = {}
        for metric, labels, value in self._samples():
            family = families.get(metric.name)
            if family is None:
                family = families[metric.name] = _family(metric)
            _add(family, labels, value)
        yield from families.values()


def _family(metric: Metric) -> Family:
    if metric.kind == "counter":
        return CounterMetricFamily(metric.name, metric.about, labels=metric.labels)
    if metric.kind == "gauge":
        return GaugeMetricFamily(metric.name, metric.about, labels=metric.labels)
    return HistogramMetricFamily(metric.name, metric.about, labels=metric.labels)


def _add(family: Family, labels: tuple[str, ...], value: float | Histogram) -> None:
    if isinstance(family, HistogramMetricFamily) and isinstance(value, Histogram):
        family.add_metric(labels, value.cumulative(), value.sum)
    elif isinstance(family, CounterMetricFamily | GaugeMetricFamily):
        assert not isinstance(value, Histogram), f"{family.name} is no histogram"
        family.add_metric(labels, value)


@contextmanager
def collected(samples: Callable[[], Iterable[Sample]]) -> Iterator[None]:
    """Adds samples to `exposition` within the block; called at each scrape."""
    collector = _Samples(samples)
    REGISTRY.register(collector)
    try:
        yield
    finally:
        REGISTRY.unregister(collector)


def watch_faust(app: "App") -> None:
    """Registers Faust's sensor in this registry, before the app starts. It counts a partition's
    fetch as one event, and no messages acknowledged by lanes."""
    from faust.sensors.prometheus import FaustMetrics, PrometheusMonitor

    app.monitor = PrometheusMonitor(metrics=FaustMetrics.create(REGISTRY, "faust"))


# --- what the server observes ---------------------------------------------------------------------


def _counter(metric: Metric) -> Counter:
    return Counter(metric.name, metric.about, metric.labels, registry=REGISTRY)


def _gauge(metric: Metric) -> PrometheusGauge:
    return PrometheusGauge(metric.name, metric.about, metric.labels, registry=REGISTRY)


def _histogram(metric: Metric) -> PrometheusHistogram:
    return PrometheusHistogram(
        metric.name, metric.about, metric.labels, buckets=metric.buckets, registry=REGISTRY
    )


HTTP_REQUESTS = _counter(metrics.HTTP_REQUESTS)
HTTP_FAILURES = _counter(metrics.HTTP_FAILURES)
HTTP_SECONDS = _histogram(metrics.HTTP_SECONDS)
HTTP_IN_FLIGHT = _gauge(metrics.HTTP_IN_FLIGHT)
HTTP_STREAMS = _gauge(metrics.HTTP_STREAMS)
WRITE_WAIT_SECONDS = _histogram(metrics.WRITE_WAIT_SECONDS)
QUOTA_CHARGED = _counter(metrics.QUOTA_CHARGED)
QUOTA_REFUSALS = _counter(metrics.QUOTA_REFUSALS)
for _limit in Quota._fields:  # initial 0, so that the first is an increase
    QUOTA_CHARGED.labels(_limit)
    QUOTA_REFUSALS.labels(_limit)
SEARCH_SECONDS = _histogram(metrics.SEARCH_SECONDS)
