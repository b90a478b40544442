"""Runs the questions of `histories.ndjson` against a memory, and counts the answers by category.

python -m conformance.run conformance.sqlite_memory:SqliteMemory [--wrong]
"""

import argparse
import importlib
import json
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from conformance.memory import Memory, NotExpressibleError
from conformance.oracle import NOW, Record

FILE = Path(__file__).with_name("histories.ndjson")
RESULTS = ("right", "wrong", "not expressible")


class Result(NamedTuple):
    """The outcome of a question."""

    history: Record
    question: Record
    result: str
    answer: str | None


def histories(file: Path = FILE) -> list[Record]:
    return [json.loads(line) for line in file.read_text().splitlines()]


class Clock:
    """The times at which a memory learned records, beside their `learned_at`."""

    def __init__(self) -> None:
        self._learned: list[str] = []
        self._times: list[str] = []

    def note(self, learned_at: str, time: str) -> None:
        self._learned.append(learned_at)
        self._times.append(max([time, *self._times[-1:]]))

    def of_memory(self, known_at: str) -> str:
        """The memory's time when it knew what was learned by `known_at`."""
        number = bisect_right(self._learned, known_at)
        return self._times[number - 1] if number else "0001-01-01T00:00:00Z"

    def learned(self, time: str) -> str:
        """`learned_at` of what the memory learned at a time of its clock."""
        return self._learned[min(bisect_left(self._times, time), len(self._times) - 1)]


def run(memory: Memory, chosen: Iterable[Record]) -> list[Result]:
    """Adds all records in the order of `learned_at`, then asks all questions."""
    chosen, clock = list(chosen), Clock()
    unknown: dict[tuple[str, str], str] = {}
    memory.reset()
    records = [(history, record) for history in chosen for record in history["records"]]
    for history, record in sorted(records, key=lambda pair: str(pair[1]["learned_at"])):
        learned_at, place = record["learned_at"], (history["history"], fact_of(history, record))
        if place in unknown:
            continue
        try:
            clock.note(learned_at, memory.add(history["history"], record))
        except NotExpressibleError:
            unknown[place] = learned_at
    return [
        _result(memory, clock, history, question, unknown)
        for history in chosen
        for question in history["questions"]
    ]


def fact_of(history: Record, record: Record) -> str:
    """The fact that a record is about."""
    if record["op"] != "retract":
        return str(record["fact"])
    targets = (other for other in history["records"] if other["id"] == record["record"])
    return fact_of(history, next(targets))


def _result(
    memory: Memory,
    clock: Clock,
    history: Record,
    question: Record,
    unknown: dict[tuple[str, str], str],
) -> Result:
    name, fact = history["history"], question["fact"]
    as_of, known_at = question.get("as_of", NOW), question.get("known_at", NOW)
    try:
        if unknown.get((name, fact), "9999") <= known_at:
            raise NotExpressibleError
        learned_by = clock.of_memory(known_at)
        if question["ask"] == "value":
            answer = memory.ask(name, fact, as_of, learned_by)
        else:
            origin = memory.why(name, fact, as_of, learned_by)
            is_source = question["ask"] == "source"
            if origin is None:
                answer = None
            else:
                answer = origin.record if is_source else clock.learned(origin.learned_at)
    except NotExpressibleError:
        return Result(history, question, "not expressible", None)
    result = "right" if answer == question["answer"] else "wrong"
    return Result(history, question, result, answer)


def table(results: Iterable[Result]) -> str:
    """Questions by category and result, as a Markdown table."""
    counts = Counter((result.history["category"], result.result) for result in results)
    categories = list(dict.fromkeys(category for category, _ in counts))
    rows = [[name, *(counts[name, result] for result in RESULTS)] for name in categories]
    totals = ["all", *(sum(row[place] for row in rows) for place in (1, 2, 3))]
    lines = [["category", *RESULTS], ["---"] * 4, *rows, totals]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def load(name: str) -> Any:
    """The class that `module:Class` names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("memory", help="class of an adapter, as module:Class")
    parser.add_argument("--wrong", action="store_true", help="print wrong answers")
    options = parser.parse_args()
    results = run(load(options.memory)(), histories())
    if options.wrong:
        for result in results:
            if result.result == "wrong":
                print(result.history["history"], json.dumps(result.question), result.answer)
    print(table(results))


if __name__ == "__main__":
    main()
