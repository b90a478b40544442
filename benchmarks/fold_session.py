"""The session's fold alone: decoded turns in, effects out, rows in memory.

Goal: 12 µs a turn; in a session of 10,000 turns the last cost what the first did, ±20 %.
"""

import time
from typing import NamedTuple

import msgspec

from benchmarks import common
from benchmarks.common import median, spread
from schemas.base import SECOND, JsonObject, format_time
from streams.folds import session
from streams.folds.rows import Effects, Input
from streams.folds.rules import Rules
from streams.pipeline.decode import decode
from streams.pipeline.entity import Entity

LONG = 10_000
PARTS = 10
RULES = Rules()
CHUNK = 128
FIELDS = ("event_id", "session_id", "user_id", "occurred_at", "user_input", "agent_answer",
          "status", "intent", "topic", "metadata")  # fmt: skip


class Cost(NamedTuple):
    """What a turn costs: the fold, encoding the rows it changed (µs), and their bytes."""

    fold: float
    encode: float
    bytes: float


def main() -> None:
    """Many short sessions, then one long one."""
    parser = common.arguments(__doc__)
    parser.add_argument("--turns", type=int, default=38_568, help="of SGD (default: all)")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    common.pin(given.cores)
    _show_short(given.turns, given.repeat)
    _show_long(given.repeat)


def _show_short(turns: int, repeat: int) -> None:
    pairs = common.in_process(short_sessions, turns, repeat).answer
    folds, bares = zip(*pairs, strict=True)
    rows = [
        ("session.fold", f"{median(folds):.2f}", spread(folds)),
        ("bare loop: one dict a turn", f"{median(bares):.2f}", spread(bares)),
        ("ratio of speeds", f"{median([bare / fold for fold, bare in pairs]):.3f}", ""),
    ]
    title = f"session fold: {turns:,} turns of SGD, median of {repeat}"
    common.show(title, ("", "µs a turn", "spread"), rows)


def _show_long(repeat: int) -> None:
    runs: list[list[Cost]] = common.in_process(long_session, repeat).answer
    parts = [Cost(*map(median, zip(*same, strict=True))) for same in zip(*runs, strict=True)]
    ends = [
        median([run[-1][which] / run[0][which] for run in runs])
        for which in range(len(Cost._fields))
    ]
    size = LONG // PARTS
    rows = [
        (f"{n * size + 1:,} to {(n + 1) * size:,}", *(f"{one:.1f}" for one in part))
        for n, part in enumerate(parts)
    ]
    head = ("turns", "fold, µs a turn", "encoding its rows, µs", "bytes of rows")
    title = f"one session of {LONG:,} turns, median of {repeat}"
    common.show(title, head, [*rows, ("last / first", *(f"{one:.2f}" for one in ends))])


def short_sessions(turns: int, repeat: int) -> list[tuple[float, float]]:
    """µs a turn of the fold and of the bare loop, so many times."""
    lines = [msgspec.json.encode(record) for record in common.sgd_records(turns)]
    with common.no_collector():
        return [_short(lines) for _ in range(repeat)]


def _short(lines: list[bytes]) -> tuple[float, float]:
    """Some turns are decoded, then folded, as the file runner does: what is folded is at hand."""
    entities: dict[str, Entity] = {}
    folding = bare = 0.0
    for at in range(0, len(lines), CHUNK):
        inputs = _decoded(lines[at : at + CHUNK])
        for given in inputs:
            key = given.record.session_id  # type: ignore[attr-defined]
            if key not in entities:
                entities[key] = Entity("sessions", "default", key, {})
        began = time.perf_counter()
        for given in inputs:
            _fold(entities[given.record.session_id], given)  # type: ignore[attr-defined]
        folded = time.perf_counter()
        made = [{name: getattr(given.record, name) for name in FIELDS} for given in inputs]
        bare += time.perf_counter() - folded
        folding += folded - began
        assert len(made) == len(inputs)
    return 1e6 * folding / len(lines), 1e6 * bare / len(lines)


def _fold(entity: Entity, given: Input) -> None:
    out = Effects(entity.key, (entity.tenant, "sessions", entity.key), given.record, RULES)
    outcome = session.fold(entity, given, out)
    entity.keep()
    assert outcome == "applied"


def long_session(repeat: int) -> list[list[Cost]]:
    """The cost of a turn in each part of one long session, so many times."""
    turns = map(_in_one, range(LONG), common.sgd_records(LONG))
    lines = [msgspec.json.encode(turn) for turn in turns]
    with common.no_collector():
        return [_parts(lines) for _ in range(repeat)]


def _in_one(number: int, turn: JsonObject) -> JsonObject:
    at = format_time(number * 20 * SECOND)
    return turn | {"session_id": "long", "event_id": f"long-{number}", "occurred_at": at}


def _parts(lines: list[bytes]) -> list[Cost]:
    entity, size = Entity("sessions", "default", "long", {}), LONG // PARTS
    return [_part(entity, lines[n * size : (n + 1) * size]) for n in range(PARTS)]


def _part(entity: Entity, lines: list[bytes]) -> Cost:
    folding = encoding = 0.0
    size = 0
    for at in range(0, len(lines), CHUNK):
        for given in _decoded(lines[at : at + CHUNK]):
            began = time.perf_counter()
            _fold(entity, given)
            folded = time.perf_counter()
            size += sum(len(encoded or b"") for _, encoded in entity.changes())
            encoding += time.perf_counter() - folded
            folding += folded - began
    turns = len(lines)
    return Cost(1e6 * folding / turns, 1e6 * encoding / turns, size / turns)


def _decoded(lines: list[bytes]) -> list[Input]:
    found = [decode(line, ("bench", 0, number)) for number, line in enumerate(lines, 1)]
    return [given for given in found if isinstance(given, Input)]


if __name__ == "__main__":
    main()
