"""`run` over many sessions: does it stay as fast and as small as it began?

Goal: at most 700 MB at 10 M turns of 1 M sessions; the last tenth as fast as the first, ±20 %.
A user has ten sessions. Spread over one tenth of the run (the default), each tenth is as the others
but for what lies in the store already; over all ten, the first has new users alone, and the last
those whose profiles have grown by nine sessions: then the work grows, too.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import common, loops
from schemas.base import SECOND, JsonObject, format_time
from streams.runtime import local
from tests.acceptance.sgd import START

TENTHS = 10
SESSIONS_A_USER = 10
PAGE = 4096


class Mark(NamedTuple):
    """How far the run was: records read, wall and CPU seconds, resident memory in MB."""

    read: int
    wall: float
    cpu: float
    resident: float


def main() -> None:
    """Writes the input, folds it in a process of its own, and shows each tenth."""
    parser = common.arguments(__doc__)
    parser.add_argument("--turns", type=int, default=10_000_000)
    parser.add_argument("--sessions", type=int, default=1_000_000)
    parser.add_argument("--window", type=int, default=20_000, help="sessions open at once")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--spread", type=int, default=1, help="tenths a user comes back in")
    given = parser.parse_args()
    common.pin(given.cores)
    length = max(2, given.turns // given.sessions)
    with common.work_folder(given.work) as folder:
        file = folder / "turns.ndjson"
        made = interleaved(given.sessions, length, given.window, given.spread)
        turns = common.write_ndjson(file, made)
        common.note(f"{turns:,} turns, {file.stat().st_size / 1e6:,.0f} MB")
        fold = common.in_process(watched, str(file), str(folder / "history"), turns)
        size = common.folder_size(folder / "history")
        bare = common.in_process(loops.bare, str(file), str(folder / "events.parquet"))
    assert bare.answer == turns
    spans = list(zip(fold.answer, fold.answer[1:], strict=False))
    title = (
        f"run: {turns:,} turns of {given.sessions:,} sessions, {given.window:,} open at once, "
        f"{given.cores} core(s), a user's sessions within {given.spread} tenth(s)"
    )
    head = ("tenth", "turns/s", "turns/CPU s", "resident MB")
    common.show(title, head, [(n, *_speeds(*span)) for n, span in enumerate(spans, 1)])
    first, last = (_rates(*spans[end]) for end in (0, -1))
    rows = [
        ("whole run, turns/s", f"{turns / fold.seconds:,.0f}"),
        ("bare loop, turns/s", f"{turns / bare.seconds:,.0f}"),
        ("ratio", f"{bare.seconds / fold.seconds:.2f}"),
        ("last tenth / first, wall", f"{last[0] / first[0]:.2f}"),
        ("last tenth / first, CPU", f"{last[1] / first[1]:.2f}"),
        ("peak resident MB", f"{fold.peak:.0f}"),
        ("written MB", f"{size:,.0f}"),
    ]
    common.show(title, ("", ""), rows)


def watched(file: str, history: str, turns: int) -> list[Mark]:
    """Folds the file; a mark at the start, at each tenth and at the end."""
    marks = [_mark(0)]

    def progress(path: str, at: int, size: int, read: int) -> None:
        if read >= len(marks) * turns / TENTHS and len(marks) < TENTHS:
            marks.append(_mark(read))

    counts = local.run([file], history, progress=progress)
    assert counts["applied"] == turns, counts
    return [*marks, _mark(turns)]


def _mark(read: int) -> Mark:
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6
    return Mark(read, time.perf_counter(), time.process_time(), resident)


def _rates(begin: Mark, end: Mark) -> tuple[float, float]:
    read = end.read - begin.read
    return read / (end.wall - begin.wall), read / (end.cpu - begin.cpu)


def _speeds(begin: Mark, end: Mark) -> tuple[Any, ...]:
    wall, cpu = _rates(begin, end)
    return f"{wall:,.0f}", f"{cpu:,.0f}", f"{end.resident:.0f}"


def interleaved(sessions: int, length: int, window: int, spread: int = 1) -> Iterator[JsonObject]:
    """Turns of many sessions in the order of time, so many of them open at once.

    One session begins each second; its turns lie equally far apart. What is said is SGD's. Users
    take turns at beginning sessions, within so many tenths of all.
    """
    within = max(1, sessions * spread // TENTHS)
    users = max(1, within // SESSIONS_A_USER)
    said = common.sgd_texts()
    apart = max(1, window // (length - 1))
    for second in range(sessions + apart * (length - 1)):
        at = format_time(START + second * SECOND)
        for number in range(length):
            index = second - number * apart
            if 0 <= index < sessions:
                user = index // within * users + index % users
                yield _turn(index, number, at, said[index % len(said)], user)


def _turn(
    index: int, number: int, at: str, said: list[tuple[str, str, str]], user: int
) -> JsonObject:
    user_input, agent_answer, topic = said[number % len(said)]
    return {
        "type": "turn",
        "event_id": f"s{index}-{number}",
        "session_id": f"s{index}",
        "user_id": f"u{user}",
        "occurred_at": at,
        "user_input": user_input,
        "agent_answer": agent_answer,
        "topic": topic,
    }


if __name__ == "__main__":
    main()
