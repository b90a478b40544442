"""Reads the metrics ports of the Kafka tier: the families listed below (Prometheus's text
format)."""

import asyncio
from collections.abc import Iterable
from http.client import HTTPConnection, HTTPException
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from streams.observability import metrics as known
from streams.observability.metrics import Metric

WITHIN = 2.0
"""Seconds that a port may take to answer."""
MOST_BYTES = 2_000_000
FAMILIES = (
    known.LANES, known.STALLED, known.STALLS, known.RESTORE_PROGRESS, known.TRANSACTION_SECONDS,
    known.SINK_ROWS, known.SINK_OLDEST, known.SINK_COMMIT_SECONDS,
)  # fmt: skip
_NAMES = tuple(metric.name for metric in FAMILIES)


class MetricSample(NamedTuple):
    """One sample of one port."""

    name: str
    labels: dict[str, str]
    value: float


class Unanswered(Exception):  # noqa: N818 - what it is
    """A port that gives no metrics now."""


async def read(address: str) -> list[MetricSample]:
    """The samples of a port, `HOST:PORT`, of the families above. Raises Unanswered."""
    return await asyncio.to_thread(_read, address)


def _read(address: str) -> list[MetricSample]:
    connection = HTTPConnection(address, timeout=WITHIN)
    try:
        connection.request("GET", "/metrics")
        reply = connection.getresponse()
        text = reply.read(MOST_BYTES).decode("utf-8", "replace")
        if reply.status != 200:
            raise Unanswered(f"{address} answers {reply.status}")
        return list(parsed(text))
    except (OSError, HTTPException, ValueError) as error:
        raise Unanswered(f"{address}: {getattr(error, 'strerror', None) or error}") from None
    finally:
        connection.close()


def parsed(text: str) -> Iterable[MetricSample]:
    """The samples of a text. Raises ValueError for an invalid text."""
    lines = "".join(f"{line}\n" for line in text.splitlines() if line.startswith(_NAMES))
    for family in text_string_to_metric_families(lines):
        for sample in family.samples:
            yield MetricSample(sample.name, dict(sample.labels), sample.value)


def of(
    samples: Iterable[MetricSample], metric: Metric, end: str = "", **labels: str
) -> list[MetricSample]:
    """The samples of a metric with these labels; `end`: `_bucket` and its like."""
    name = metric.name + end
    return [
        sample
        for sample in samples
        if sample.name == name
        and all(sample.labels.get(key) == value for key, value in labels.items())
    ]
