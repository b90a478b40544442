"""What is told of tables and a log that do not belong together."""

from collections.abc import Mapping

import pytest

from sinks.delta import UNWRITTEN
from streams.files.belonging import told
from streams.files.run_log import Note


@pytest.mark.parametrize(
    ("needed", "has", "word"),
    [
        ({}, {"events": 4}, "the table events is newer than the log in _run"),
        ({"events": 2}, {"events": 4, "tasks": 5}, "written up to batch 5, which ends with 3"),
        ({"events": 3}, {"events": 2}, "the table events is older than the log in _run"),
        ({"events": 2}, {}, "rows up to batch 2 are missing"),
        ({"events": 2, "tasks": 3}, {"events": 3, "tasks": 2}, "the table tasks is older"),
        ({}, {"events": UNWRITTEN}, "the table events is of another history"),
        (dict.fromkeys("abcde", 1), {}, "the tables a, b, c and 2 more are older"),
    ],
)
def test_what_does_not_belong_together_is_named(
    needed: Mapping[str, int], has: Mapping[str, int], word: str
) -> None:
    said = told(3, needed, has)
    assert said is not None and word in said


@pytest.mark.parametrize(
    ("needed", "has"),
    [({}, {}), ({}, {"events": 3}), ({"events": 2}, {"events": 2}), ({"events": 2}, {"events": 3})],
)
def test_what_belongs_together_is_not(needed: Mapping[str, int], has: Mapping[str, int]) -> None:
    """Among it what notes of before say, who name no table."""
    assert told(3, needed, has) is None


def test_a_note_names_the_last_batch_of_each_table() -> None:
    first = Note(number=1, id="a", history="a", base=1)
    second = first.next(rows=5, tables=["events", "tasks"])
    third = second.next(rows=5, tables=["events"])
    last = third.next()
    assert (second.tables, third.tables, last.tables) == (True, True, False)
    assert last.gave == {"events": 3, "tasks": 2} and first.gave == {}
