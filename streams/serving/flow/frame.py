"""One look at the pipeline: all that is known of it at a moment, as numbers with names.

`AGENT.rate`, `AGENT.read`, `AGENT.applied`, `AGENT.signals`, …; `TOPIC.rate`, `TOPIC.lag`; of files
`log.waiting`, `tables.unwritten`, `tables.commit`; of workers that were asked `AGENT.latency`,
`AGENT.restored`, `stalled`, `stalls`, `lanes`; of sinks `sink.lag`, `sink.rate`, `sink.oldest`,
`sink.commit`; `dead.REASON` and `dead`.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams import topology
from streams.observability import metrics as known
from streams.serving.backends.stats import FOLD, Observed, Tier
from streams.serving.flow import exposition
from streams.serving.flow.exposition import Measured
from streams.serving.flow.parts import Broker, Ports, cumulated
from streams.serving.flow.rates import Buckets, Number, Window, number, quantile

ENDINGS = ("read", "applied", "duplicate", "dead", "withheld")
SIGNALS = ("hops", "hops_repeated", "hops_dead", "hops_left_out")
"""What an agent has read of user signals, which are no input records."""
SLOW = 0.99


class Frame(NamedTuple):
    """`ready` and `about`: whether this server answers, or how far its restore is. `away`: since
    when no broker answers (seconds), and `why`. `ports`: whether workers' metrics were named
    (`answer`, `away`), else None."""

    tier: Tier
    ready: bool
    about: str
    away: float | None
    why: str
    ports: str | None
    numbers: Mapping[str, Number]

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        numbers = {name: one._asdict() for name, one in self.numbers.items()}
        return {**self._asdict(), "numbers": numbers}


class Frames:
    """Makes frames of what a tier has counted, each with rates since some frames before."""

    def __init__(self, broker: Broker | None, ports: Ports) -> None:
        self._broker = broker
        self._ports = ports
        self._flow = Window()
        self._ends = Window(15.0)  # the broker is asked every few seconds
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
        agents = [FOLD] if observed.tier == "files" else [one.name for one in topology.AGENTS]
        found: dict[str, Any] = {}
        for agent in agents if observed.tier != "history" else ():
            found[f"{agent}.rate"] = self._flow.rate(f"{agent}.rate"), "rate"
            for name in ("signals", *ENDINGS):
                found[f"{agent}.{name}"] = reading.get(f"{agent}.{name}"), "count"
        if observed.reasons is not None:
            found["dead"] = sum(observed.reasons.values()), "count"
            for reason, count in observed.reasons.items():
                found[f"dead.{reason}"] = count, "count"
        return found

    def _of_files(self, observed: Observed) -> dict[str, Any]:
        commits, seconds = self._flow.gain("commits"), self._flow.gain("commits.seconds")
        each = seconds / commits if commits and seconds is not None else None
        return {
            "log.waiting": (observed.waiting, "count"),
            "tables.unwritten": (observed.unwritten, "count"),
            "tables.commit": (each, "seconds"),
        }

    def _of_broker(self, broker: Broker, now: float) -> dict[str, Any]:
        """Ends of topics grow as they are written; groups are behind them."""
        if broker.lag is not self._lag:
            self._lag = broker.lag
            ends: Counter[str] = Counter()
            seen = set()
            for one in broker.lag or ():
                if (one.topic, one.partition) not in seen:
                    seen.add((one.topic, one.partition))
                    ends[one.topic] += one.end
            self._ends.add(now, ends)
        found: dict[str, Any] = {}
        for agent in topology.AGENTS:
            for topic in agent.sources:
                found[f"{topic.name}.lag"] = self._behind(broker, agent, topic.name), "count"
                found[f"{topic.name}.rate"] = self._ends.rate(topic.name), "rate"
        sinks = [
            one.lag
            for one in broker.lag or ()
            if one.topic in (topology.HISTORY.name, topology.DEAD_LETTERS.name)
        ]
        found["sink.lag"] = (sum(sinks) if sinks else None), "count"
        return found

    def _behind(self, broker: Broker, agent: topology.Agent, topic: str) -> int | None:
        """Of the group that reads all sources of an agent; that which is behind most."""
        names = {source.name for each in topology.AGENTS for source in each.sources}
        reads: dict[str, set[str]] = {}
        behind: Counter[str] = Counter()
        for one in broker.lag or ():
            reads.setdefault(one.group, set()).add(one.topic)
            if one.topic == topic:
                behind[one.group] += one.lag
        workers = [count for group, count in behind.items() if reads[group] >= names]
        return max(workers, default=None)

    def _of_ports(self, now: float) -> dict[str, Any]:
        measured, before = self._ports.all(), self._ports.before()
        found: dict[str, Any] = {}
        for agent in topology.AGENTS:
            late = _buckets(measured, known.TRANSACTION_SECONDS, agent=agent.name)
            early = _buckets(before, known.TRANSACTION_SECONDS, agent=agent.name)
            found[f"{agent.name}.latency"] = _slow(early, late), "seconds"
            restored = _values(measured, known.RESTORE_PROGRESS, agent=agent.name)
            found[f"{agent.name}.restored"] = min(restored, default=None), "share"
        found["stalled"] = _sum(_values(measured, known.STALLED)), "count"
        found["stalls"] = _sum(_values(measured, known.STALLS)), "count"
        found["lanes"] = _sum(_values(measured, known.LANES)), "count"
        found["sink.oldest"] = max(_values(measured, known.SINK_OLDEST), default=None), "seconds"
        late = _buckets(measured, known.SINK_COMMIT_SECONDS)
        early = _buckets(before, known.SINK_COMMIT_SECONDS)
        found["sink.commit"] = _slow(early, late), "seconds"
        rows = _sum(_values(measured, known.SINK_ROWS))
        self._sinks.add(now, {} if rows is None else {"rows": rows})
        found["sink.rate"] = self._sinks.rate("rows"), "rate"
        return found


def _values(samples: Sequence[Measured], metric: known.Metric, **labels: str) -> list[float]:
    return [one.value for one in exposition.of(samples, metric, **labels)]


def _buckets(
    samples: Sequence[Measured], metric: known.Metric, **labels: str
) -> list[tuple[float, float]]:
    return cumulated(exposition.of(samples, metric, "_bucket", **labels))


def _slow(early: Buckets, late: Buckets) -> float | None:
    """Of what was measured lately; where that is nothing, of all."""
    lately = quantile(SLOW, early, late) if early else None
    return quantile(SLOW, (), late) if lately is None else lately


def _sum(values: Sequence[float]) -> float | None:
    return sum(values) if values else None
