"""`run` over many sessions: does it stay as fast and as small as it began?

Goal: at most 700 MB at 10 M turns of 1 M sessions; the last tenth as fast as the first, ±20 %.
Meanwhile a bare loop reads a few turns every other second on the same core, so that a machine that
grows slower in twenty minutes is not taken for a run that does, nor the other way round.
A user has ten sessions. Spread over one tenth of the run (the default), each tenth is as the others
but for what lies in the store already; over all ten, the first has new users alone, and the last
those whose profiles have grown by nine sessions: then the work grows, too.
"""

import math
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice, pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple

from benchmarks import common, loops
from schemas.base import SECOND, JsonObject, format_time
from streams.files import local
from tests.acceptance.sgd import START

TENTHS = 10
SESSIONS_A_USER = 10
PAGE = 4096
EVERY = 2.0  # seconds between two measurements of the bare loop
FEW = 4_000  # turns that it reads: 20 ms


class Beside(NamedTuple):
    """When the bare loop read some turns, and how many it would have read in a CPU second."""

    wall: float
    speed: float


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
        with bare_beside(file, folder) as beside:
            fold = common.in_process(watched, str(file), str(folder / "history"), turns)
        size = common.folder_size(folder / "history")
        bare = common.in_process(loops.bare, str(file), str(folder / "events.parquet"))
    assert bare.answer == turns
    spans = [_span(*ends, beside) for ends in pairwise(fold.answer)]
    title = (
        f"run: {turns:,} turns of {given.sessions:,} sessions, {given.window:,} open at once, "
        f"{given.cores} core(s), a user's sessions within {given.spread} tenth(s)"
    )
    head = ("tenth", "turns/s", "turns/CPU s", "bare loop, turns/CPU s", "ratio", "resident MB")
    common.show(title, head, [(n, *_shown(span)) for n, span in enumerate(spans, 1)])
    first, last = spans[0], spans[-1]
    rows = [
        ("whole run, turns/s", f"{turns / fold.seconds:,.0f}"),
        ("bare loop, turns/s", f"{turns / bare.seconds:,.0f}"),
        ("ratio", f"{bare.seconds / fold.seconds:.2f}"),
        ("last tenth / first, turns/s", f"{last.wall / first.wall:.2f}"),
        ("last tenth / first, turns/CPU s", f"{last.cpu / first.cpu:.2f}"),
        ("last tenth / first, bare loop", f"{last.bare / first.bare:.2f}"),
        ("last tenth / first, ratio", f"{last.ratio / first.ratio:.2f}"),
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


@contextmanager
def bare_beside(file: Path, folder: Path) -> Iterator[list[Beside]]:
    """The bare loop in a process of its own, now and then, on the same cores; the list is filled
    at the end."""
    few = folder / "few.ndjson"
    with file.open("rb") as lines:
        few.write_bytes(b"".join(islice(lines, FEW)))
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    loop = spawn.Process(
        target=_now_and_then, args=(str(few), str(folder / "few.parquet"), theirs), daemon=True
    )
    loop.start()
    measured: list[Beside] = []
    try:
        yield measured
        ours.send("end")
        measured.extend(ours.recv())
    finally:
        loop.kill()
        loop.join()


def _now_and_then(file: str, out: str, asked: Connection) -> None:
    measured: list[Beside] = []
    while not asked.poll(EVERY):
        loops.bare(file, out)  # finds its code and data in the cache the second time
        began = time.process_time()
        turns = loops.bare(file, out)
        measured.append(Beside(time.perf_counter(), turns / (time.process_time() - began)))
    asked.send(measured)


class Span(NamedTuple):
    """From one mark to the next: turns a second and a CPU second, those of the bare loop
    meanwhile (the median), MB at the end."""

    wall: float
    cpu: float
    bare: float
    resident: float

    @property
    def ratio(self) -> float:
        return self.cpu / self.bare


def _span(begin: Mark, end: Mark, beside: list[Beside]) -> Span:
    read = end.read - begin.read
    meanwhile = [one.speed for one in beside if begin.wall <= one.wall < end.wall]
    bare = common.median(meanwhile) if meanwhile else math.nan  # a short run
    wall, cpu = end.wall - begin.wall, end.cpu - begin.cpu
    return Span(read / wall, read / cpu, bare, end.resident)


def _shown(span: Span) -> tuple[str, ...]:
    speeds = (f"{speed:,.0f}" for speed in (span.wall, span.cpu, span.bare))
    return (*speeds, f"{span.ratio:.4f}", f"{span.resident:.0f}")


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
