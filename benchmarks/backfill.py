"""A history folded again, a switch, and a diff: seconds, CPU, memory and what the disk holds.

python -m benchmarks.backfill --turns 1000000 --states 1000000
python -m benchmarks.backfill --turns 1000000 --parts 2
"""

import resource
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import arguments, note, sgd_records, show, work_folder, write_ndjson
from schemas.base import JsonObject
from sinks.digest import digest
from sinks.generation import ROOT, named
from streams.files import local
from streams.files.manifest import load
from streams.generations.switching import listed
from tests.command import PROGRAM, environment

STATES_OF_A_PLAN = 10
USERS = 50_000
WAYS = (
    ("with-all",),
    ("one-changed", "--set", "max_intents=9"),  # a tenth of SGD's sessions have more
    ("with-none", "--extractor", "none"),
    ("with-rules", "--extractor", "rules"),
)
"""Generations, each with how it differs."""


class Took(NamedTuple):
    """A command's wall and CPU seconds (its processes together), and its largest process in MB."""

    seconds: float
    cpu: float
    peak: float


def command(*words: str | Path) -> Took:
    """Runs a command to its end."""
    return commands(words)


def commands(*each: Sequence[str | Path]) -> Took:
    """Runs commands at once, to the end of the last."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    running = [
        subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.DEVNULL, env=environment())
        for words in each
    ]
    for process in running:
        if process.wait():
            raise subprocess.CalledProcessError(process.returncode, process.args)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(time.perf_counter() - began, cpu, after.ru_maxrss / 1024)


def plans(states: int, *, every: int = 0) -> Iterator[JsonObject]:
    """Write plans that make so many states; the text of each `every`th differs."""
    for number in range(states // STATES_OF_A_PLAN):
        updates = [
            {
                "op": "upsert",
                "state_id": f"s{number}-{n}",
                "kind": "fact",
                "body_text": f"user {number} likes thing {n}"
                + (" very much" if every and (number * STATES_OF_A_PLAN + n) % every == 0 else ""),
                "evidence_event_ids": [f"e{number}"],
            }
            for n in range(STATES_OF_A_PLAN)
        ]
        yield {
            "type": "write_plan",
            "plan_id": f"p{number}",
            "user_id": f"u{number % USERS}",
            "event_id": f"e{number}",
            "occurred_at": "2026-01-01T00:00:00Z",
            "extractor": {"name": "hand", "version": "1"},
            "state_updates": updates,
            "preference_updates": [],
        }


def backfills(work: Path, turns: int) -> None:
    """The same history folded again in each way, from a first pass."""
    file, history = work / "turns.ndjson", work / "history"
    write_ndjson(file, sgd_records(turns))
    took = command("run", file, "--history", history)
    lines: list[tuple[str, ...]] = [("run", *_cells(took), "", "", "")]
    for name, *words in WAYS:
        note(f"backfill {name}")
        took = command("backfill", "--history", history, "--generation", name, *words)
        lines.append((" ".join(("backfill", *words)), *_cells(took), *_disk(history, name)))
    assert digest(named(history, "with-all"))["memory"] == digest(history)["memory"]
    took = command("promote", "with-rules", "--history", history)
    lines.append(("promote", *_cells(took), "", "", ""))
    head = ("command", "seconds", "CPU s", "largest process MB", "own MB", "shared MB", "disk")
    show(f"{turns:,} turns of SGD", head, lines)


def _disk(history: Path, name: str) -> list[str]:
    """What a generation has alone and shares, and how often both are what the live one is."""
    sizes = {one["name"]: (one["own_bytes"], one["shared_bytes"]) for one in listed(history)}
    own, shared = sizes[name]
    return [f"{own / 1e6:,.0f}", f"{shared / 1e6:,.0f}", f"{1 + own / sum(sizes[ROOT]):.2f}×"]


def in_parts(work: Path, turns: int, parts: int) -> None:
    """The same history folded again by one command, and by one for each part, all at once; the
    latter then share what is equal, as the former does at once. `linear`: the CPU of one command
    against that of all: 1.00 where parts take no more."""
    file, history = work / "turns.ndjson", work / "history"
    write_ndjson(file, sgd_records(turns))
    command("run", file, "--history", history)
    words = ("backfill", "--history", history, "--generation")
    note("one command")
    one = command(*words, "whole")
    note(f"{parts} parts")
    split = commands(*((*words, "parted", "--part", f"{n}/{parts}") for n in range(parts)))
    made = load(named(history, "parted"))
    assert made is not None and made.split == parts
    sizes = [end - begin for begin, end in zip((0, *made.parts), made.parts, strict=False)]
    as_parts = _disk(history, "parted")
    assert digest(named(history, "parted")) == digest(named(history, "whole"))
    note("sharing")
    shared = command(*words, "parted")
    assert digest(named(history, "parted")) == digest(named(history, "whole"))
    both = Took(split.seconds + shared.seconds, split.cpu + shared.cpu, shared.peak)
    lines = [
        ("backfill", *_cells(one), "", *_disk(history, "whole")),
        (f"backfill --part i/{parts}, at once", *_cells(split), f"{one.cpu / split.cpu:.2f}",
         *as_parts),
        ("then backfill, which shares", *_cells(shared), "", *_disk(history, "parted")),
        ("both together", *_cells(both), f"{one.cpu / both.cpu:.2f}", "", "", ""),
    ]  # fmt: skip
    head = ("command", "seconds", "CPU s", "largest process MB", "linear", "own MB", "shared MB",
            "disk")  # fmt: skip
    show(f"{turns:,} turns of SGD; parts of {min(sizes):,} to {max(sizes):,} records", head, lines)


def alone(history: Path, turns: int) -> None:
    """What one command does for all, by parts that are folded one after the other: the first reads
    too, the last completes too; the two between them only fold."""
    words = ("backfill", "--history", history, "--generation", "by-turns", "--part")
    note("parts one after the other")
    first, second, third, last = (command(*words, f"{number}/4") for number in range(4))
    folds = (second.cpu + third.cpu) / 2
    whole = first.cpu + second.cpu + third.cpu + last.cpu
    for_all = first.cpu + last.cpu - 2 * folds
    rows = [
        ("the first, which reads all", f"{first.cpu:.1f}", f"{first.cpu - folds:.1f}"),
        ("one that only folds", f"{folds:.1f}", ""),
        ("the last, which completes", f"{last.cpu:.1f}", f"{last.cpu - folds:.1f}"),
        ("all four", f"{whole:.1f}", f"{for_all:.1f} ({for_all / whole:.0%})"),
    ]
    show(f"{turns:,} turns of SGD in four parts", ("part", "CPU s", "of it for all parts"), rows)


def diffs(work: Path, states: int) -> None:
    """Two histories with so many states, equal and with one in a hundred changed."""
    for name, every in (("a", 0), ("b", 0), ("c", 100)):
        note(f"states {name}")
        write_ndjson(work / f"{name}.ndjson", plans(states, every=every))
        local.run([str(work / f"{name}.ndjson")], work / name)
    lines = [
        (what, *_cells(command("diff", work / "a", work / other)))
        for what, other in (("equal", "b"), ("1 % changed", "c"))
    ]
    head = ("diff", "seconds", "CPU s", "largest process MB")
    show(f"{states:,} states on each side", head, lines)


def _cells(took: Took) -> tuple[str, str, str]:
    return f"{took.seconds:.1f}", f"{took.cpu:.1f}", f"{took.peak:.0f}"


def main() -> None:
    """Both tables, or that of parts."""
    parser = arguments(__doc__)
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--states", type=int, default=1_000_000)
    parser.add_argument("--parts", type=int, help="Only this: one command against so many parts.")
    given = parser.parse_args()
    if given.parts:
        with work_folder(given.work) as work:
            in_parts(work, given.turns, given.parts)
            alone(work / "history", given.turns)
        return
    with work_folder(given.work) as work:
        backfills(work, given.turns)
    with work_folder(given.work) as work:
        diffs(work, given.states)


if __name__ == "__main__":
    main()
