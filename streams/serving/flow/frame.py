"""One sample of the pipeline: named numbers.

`AGENT.rate`, `AGENT.read`, `AGENT.applied`, `AGENT.signals`, …; `TOPIC.rate`, `TOPIC.lag`; for
files `log.waiting`, `tables.unwritten`, `tables.commit`; for configured workers `AGENT.latency`,
`AGENT.restored`, `stalled`, `stalls`, `lanes`; for sinks `sink.lag`, `sink.rate`, `sink.oldest`,
`sink.commit`; `dead.REASON` and `dead`.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from streams import topology
from streams.observability import metrics as known
from streams.serving.backends.stats import FOLD, Observed, Tier
from streams.serving.flow import exposition
from streams.serving.flow.exposition import MetricSample
from streams.serving.flow.parts import BrokerLag, Ports, cumulated
from streams.serving.flow.rates import Buckets, ShownNumber, Window, number, quantile

ENDINGS = ("read", "applied", "duplicate", "dead", "withheld")
SIGNALS = ("hops", "hops_repeated", "hops_dead", "hops_left_out")
"""Counters of user signals that an agent has read, which are not input records."""
SLOW = 0.99


class Frame(msgspec.Struct, frozen=True):
    """`ready` and `about`: whether this server answers, or progress of its restore. `away`: since
    when no broker answers (seconds), and `why`. `ports`: state of the configured metrics ports
    (`answer`, `away`), or None."""

    tier: Tier
    ready: bool
    about: str
    away: float | None
    why: str
    ports: str | None
    numbers: Mapping[str, ShownNumber]


class Frames:
    """Creates frames from a tier's counters, with rates over the previous frames."""

    def __init__(self, broker: BrokerLag | None, ports: Ports) -> None:
        self._broker = broker
        self._ports = ports
        self._flow = Window()
        self._ends = Window(15.0)  # the broker is queried every few seconds
        self._sinks = Window(15.0)
        self._lag: object = None

    def take(self, observed: Observed, ready: bool, about: str) -> Frame:
        """The frame of now."""
        now = time.monotonic()
        numbers = self._of_agents(observed, now)
        if observed.tier == "files":
            numbers |= self._of_files(observed)
        if self._broker is not None:
            numbers |= self._of_broker(self._broker, now) | self._of_ports(now)
        away = self._ports.away
        return Frame(
            observed.tier,
            ready,
            about,
            self._broker.away_since if self._broker else None,
            "; ".join(filter(None, [self._broker.why if self._broker else "", *away.values()])),
            ("away" if away else "answer") if self._ports.addresses else None,
            {name: number(value, unit) for name, (value, unit) in numbers.items()},
        )

    def _of_agents(self, observed: Observed, now: float) -> dict[str, Any]:
        reading: dict[str, float] = {}
        for agent, counts in observed.counts.items():
            reading |= {f"{agent}.{name}": counts.get(name, 0) for name in ENDINGS}
            reading[f"{agent}.signals"] = sum(counts.get(name, 0) for name in SIGNALS)
            reading[f"{agent}.rate"] = counts.get("read", 0) + reading[f"{agent}.signals"]
        if observed.commits is not None:
            reading["commits"] = observed.commits.cumulative()[-1][1]
            reading["commits.seconds"] = observed.commits.sum
        if not reading:
            self._flow.clear()
        self._flow.add(now, reading)
        agents = (
            [FOLD]
            if observed.tier == "files"
            else [topology_agent.name for topology_agent in topology.AGENTS]
        )
        numbers: dict[str, Any] = {}
        for agent in agents if observed.tier != "history" else ():
            numbers[f"{agent}.rate"] = self._flow.rate(f"{agent}.rate"), "rate"
            for name in ("signals", *ENDINGS):
                numbers[f"{agent}.{name}"] = reading.get(f"{agent}.{name}"), "count"
        if observed.reasons is not None:
            numbers["dead"] = sum(observed.reasons.values()), "count"
            for reason, count in observed.reasons.items():
                numbers[f"dead.{reason}"] = count, "count"
        return numbers

    def _of_files(self, observed: Observed) -> dict[str, Any]:
        commits, seconds = self._flow.gain("commits"), self._flow.gain("commits.seconds")
        each = seconds / commits if commits and seconds is not None else None
        return {
            "log.waiting": (observed.waiting, "count"),
            "tables.unwritten": (observed.unwritten, "count"),
            "tables.commit": (each, "seconds"),
        }

    def _of_broker(self, broker: BrokerLag, now: float) -> dict[str, Any]:
        """Ends of topics grow as they are written; groups are behind them."""
        if broker.lag is not self._lag:
            self._lag = broker.lag
            ends: Counter[str] = Counter()
            partitions = set()
            for group_lag in broker.lag or ():
                if (group_lag.topic, group_lag.partition) not in partitions:
                    partitions.add((group_lag.topic, group_lag.partition))
                    ends[group_lag.topic] += group_lag.end
            self._ends.add(now, ends)
        numbers: dict[str, Any] = {}
        for agent in topology.AGENTS:
            for topic in agent.sources:
                numbers[f"{topic.name}.lag"] = self._behind(broker, agent, topic.name), "count"
                numbers[f"{topic.name}.rate"] = self._ends.rate(topic.name), "rate"
        sinks = [
            group_lag.lag
            for group_lag in broker.lag or ()
            if group_lag.topic in (topology.HISTORY.name, topology.DEAD_LETTERS.name)
        ]
        numbers["sink.lag"] = (sum(sinks) if sinks else None), "count"
        return numbers

    def _behind(self, broker: BrokerLag, agent: topology.Agent, topic: str) -> int | None:
        """The lag of the group that reads all sources of an agent; the maximum of several."""
        names = {source.name for each in topology.AGENTS for source in each.sources}
        reads: dict[str, set[str]] = {}
        behind: Counter[str] = Counter()
        for group_lag in broker.lag or ():
            reads.setdefault(group_lag.group, set()).add(group_lag.topic)
            if group_lag.topic == topic:
                behind[group_lag.group] += group_lag.lag
        workers = [count for group, count in behind.items() if reads[group] >= names]
        return max(workers, default=None)

    def _of_ports(self, now: float) -> dict[str, Any]:
        measured, before = self._ports.all(), self._ports.before()
        numbers: dict[str, Any] = {}
        for agent in topology.AGENTS:
            late = _buckets(measured, known.TRANSACTION_SECONDS, agent=agent.name)
            early = _buckets(before, known.TRANSACTION_SECONDS, agent=agent.name)
            numbers[f"{agent.name}.latency"] = _slow(early, late), "seconds"
            restored = _values(measured, known.RESTORE_PROGRESS, agent=agent.name)
            numbers[f"{agent.name}.restored"] = min(restored, default=None), "share"
        numbers["stalled"] = _sum(_values(measured, known.STALLED)), "count"
        numbers["stalls"] = _sum(_values(measured, known.STALLS)), "count"
        numbers["lanes"] = _sum(_values(measured, known.LANES)), "count"
        numbers["sink.oldest"] = max(_values(measured, known.SINK_OLDEST), default=None), "seconds"
        late = _buckets(measured, known.SINK_COMMIT_SECONDS)
        early = _buckets(before, known.SINK_COMMIT_SECONDS)
        numbers["sink.commit"] = _slow(early, late), "seconds"
        rows = _sum(_values(measured, known.SINK_ROWS))
        self._sinks.add(now, {} if rows is None else {"rows": rows})
        numbers["sink.rate"] = self._sinks.rate("rows"), "rate"
        return numbers


def _values(samples: Sequence[MetricSample], metric: known.Metric, **labels: str) -> list[float]:
    return [sample.value for sample in exposition.of(samples, metric, **labels)]


def _buckets(
    samples: Sequence[MetricSample], metric: known.Metric, **labels: str
) -> list[tuple[float, float]]:
    return cumulated(exposition.of(samples, metric, "_bucket", **labels))


def _slow(early: Buckets, late: Buckets) -> float | None:
    """The recent quantile; the overall one without recent values."""
    lately = quantile(SLOW, early, late) if early else None
    return quantile(SLOW, (), late) if lately is None else lately


def _sum(values: Sequence[float]) -> float | None:
    return sum(values) if values else None
