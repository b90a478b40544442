"""Metric samples and readiness of each process of the Kafka tier.

They come from existing counters, so they only cost time at a scrape.
"""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from schemas.dead_letters import REASONS
from streams.observability import metrics as known
from streams.observability.metrics import Histogram, Metric
from streams.observability.readiness import Readiness
from streams.output import counted

if TYPE_CHECKING:
    from streams.kafka.sink.sink import Sink
    from streams.kafka.transport.lane import Lane
    from streams.kafka.transport.lanes import Lanes
    from streams.llm.background import Beside
    from streams.llm.driver import Driver
    from streams.llm.kafka_log import Stream

Sample = tuple[Metric, tuple[str, ...], float | Histogram]
"""A metric, the values of its labels, and its value now."""

ENDINGS = ("applied", "duplicate", "dead", "withheld")
SELDOM = ("mapped", "skipped", "left_out")
"""Endings that only occur with a mapping or in a generation."""
HOPS = {"hops": "folded", "hops_repeated": "repeated", "hops_dead": "dead",
        "hops_left_out": "left_out"}  # fmt: skip
NO_LETTERS = dict.fromkeys(REASONS, 0)
"""Initial counters, so that the first dead letter of a reason is an increase."""
RUNNING = frozenset({"ready", "committing"})

# --- every process --------------------------------------------------------------------------------


def of_process(now: Readiness) -> Iterator[Sample]:
    """Samples that every process has."""
    yield known.READY, (), float(now.ready)
    for act, age in now.ages.items():
        yield known.SUCCESS_AGE, (act,), age


# --- worker ---------------------------------------------------------------------------------------


def of_worker(lanes: "Lanes", model: "Beside | None" = None) -> Iterator[Sample]:
    """Samples of a worker's lanes, and of its model extractor."""
    yield from of_process(worker_readiness(lanes, model))
    if model is not None and model.is_used:
        yield from of_model(model.driver)
    states = Counter(lane.state for lane in lanes.lanes.values())
    for state, count in states.items():
        yield known.LANES, (state,), count
    yield known.STALLED, (), lanes.stalled
    for agent, seconds in lanes.seconds.items():
        yield known.TRANSACTION_SECONDS, (agent,), seconds
    for lane in lanes.running():
        yield from _committed(lane)
        yield from _lane(lane)
        for topic, lag in lanes.lag(lane).items():
            yield known.LAG, (lane.plan.agent, topic, str(lane.partition)), lag


def _committed(lane: "Lane") -> Iterator[Sample]:
    """Counts of the newest marker, without the open transaction."""
    labels = (lane.plan.agent, str(lane.partition))
    note = lane.standing.marker.note if lane.standing.marker else {}
    counts = note.get("counts", {})
    yield known.RECORDS_READ, labels, counts.get("read", 0)
    for ending in ENDINGS:
        yield known.RECORDS, (*labels, ending), counts.get(ending, 0)
    for ending in SELDOM:
        if ending in counts:
            yield known.RECORDS, (*labels, ending), counts[ending]
    for name, ending in HOPS.items():
        if name in counts:
            yield known.HOPS, (*labels, ending), counts[name]
    yield known.PLANS_EXTRACTED, labels, counts.get("extracted", 0)
    yield known.SESSIONS_COOLED, labels, counts.get("sessions_cooled", 0)
    for reason, count in {**NO_LETTERS, **note.get("reasons", {})}.items():
        yield known.DEAD_LETTERS, (*labels, reason), count
    for kind, count in note.get("warnings", {}).items():
        yield known.WARNINGS, (*labels, kind), count


def _lane(lane: "Lane") -> Iterator[Sample]:
    labels = (lane.plan.agent, str(lane.partition))
    counts = lane.counts
    yield known.TRANSACTIONS, labels, counts.transactions
    yield known.FOLD_SECONDS, labels, counts.busy_seconds
    yield known.WRITTEN_BYTES, labels, counts.written_bytes
    yield known.CHANGELOG_BYTES, labels, counts.changelog_bytes
    yield known.RESTORED_ROWS, labels, counts.restored_rows
    yield known.STALLS, labels, counts.stalls
    yield known.LANE_FAILURES, labels, counts.failures
    ahead = lane.reading.ahead
    yield known.QUOTA_SET_ASIDE, labels, lane.reading.counted
    yield known.QUOTA_BEHIND, labels, 0 if ahead is None else len(ahead.behind)
    rows, total = lane.restored
    whole_or_running = 1.0 if lane.state in RUNNING else 0.0
    yield known.RESTORE_PROGRESS, labels, rows / total if total else whole_or_running


def worker_readiness(lanes: "Lanes", model: "Beside | None" = None) -> Readiness:
    """Ready when all assigned lanes run, until a lane stalls or the broker stops answering; before
    that with the progress of the restore, in offsets of the changelogs. The model does not affect
    readiness."""
    return _lanes_run(lanes, model).judged(lanes.ages())


def _lanes_run(lanes: "Lanes", model: "Beside | None") -> Readiness:
    if not lanes.assignment.stands:
        return Readiness(False, "the group has not said which partitions are ours")
    running = list(lanes.running())
    if lanes.stalled:
        return Readiness(False, f"{lanes.stalled} of {len(running)} lanes are stalled")
    late = [lane for lane in running if lane.state not in RUNNING]
    rows = sum(lane.restored[0] for lane in running)
    total = sum(lane.restored[1] for lane in running)
    if not late:
        model_state = f"; {model.about}" if model is not None and model.is_used else ""
        return Readiness(True, f"{len(running)} lanes run{model_state}", rows, total)
    about = ", ".join(sorted(f"{lane.name} {lane.state}" for lane in late))
    return Readiness(False, f"{len(late)} of {len(running)} lanes do not run: {about}", rows, total)


# --- sink -----------------------------------------------------------------------------------------


def of_sink(sink: "Sink") -> Iterator[Sample]:
    """Samples of one member of a sink's group."""
    yield from of_process(sink_readiness(sink))
    counts = sink.counts
    yield known.SINK_MESSAGES, (), counts.read
    yield known.SINK_REPEATS, (), counts.repeats
    yield known.SINK_MISFITS, (), counts.misfits
    yield known.SINK_ROWS, (), counts.rows
    yield known.SINK_COMMITS, (), counts.writes
    yield known.SINK_COMMIT_SECONDS, (), sink.seconds
    yield known.SINK_OLDEST, (), sink.oldest()
    for partition, lag in sink.unfetched().items():
        yield known.SINK_LAG, (partition.topic, str(partition.partition)), lag


def sink_readiness(sink: "Sink") -> Readiness:
    """Ready when it has partitions, and writes in time."""
    if sink.partitions is None:
        now = Readiness(False, "the group has not said which partitions are ours")
    else:
        now = Readiness(True, counted(sink.partitions, "partition"))
    return now.judged(sink.ages())


# --- extract --------------------------------------------------------------------------------------


def of_stream(stream: "Stream", driver: "Driver") -> Iterator[Sample]:
    """Samples of one member of a model extractor's group."""
    yield from of_process(stream_readiness(stream))
    yield from of_model(driver)


def of_model(driver: "Driver | None") -> Iterator[Sample]:
    """Samples of a model extractor: a separate process, or within a worker or server."""
    yield known.MODEL_TURNS, (), driver.turns if driver else 0
    yield known.MODEL_WAITING, (), driver.waiting if driver else 0
    if driver is None:
        return
    if (lag := getattr(driver.log, "lag", None)) is not None:  # a server's has no offsets to count
        yield known.MODEL_LAG, (), lag
    endpoint = driver.extractor
    counts = endpoint.counts
    failed = counts["failed"]
    yield known.MODEL_GROUPS, ("planned",), counts["groups"] - failed
    yield known.MODEL_GROUPS, ("failed",), failed
    yield known.MODEL_CALLS, (), counts["calls"]
    yield known.MODEL_RETRIES, (), endpoint.client.retries
    for kind in ("prompt", "completion"):
        yield known.MODEL_TOKENS, (kind,), counts[f"{kind}_tokens"]
    yield known.MODEL_COST, (), endpoint.cost
    for state in ("closed", "open", "half-open"):
        yield known.MODEL_BREAKER, (state,), float(endpoint.client.breaker.state == state)
    for budget, unit, used in endpoint.budget.used():
        yield known.MODEL_BUDGET, (budget, unit), used


def stream_readiness(stream: "Stream") -> Readiness:
    """Ready when it has partitions, and commits plans in time."""
    if not stream.partitions:
        now = Readiness(False, "the group has not given it partitions")
    else:
        now = Readiness(True, counted(stream.partitions, "partition"))
    return now.judged(stream.ages())
