"""Utterances written by hand in three languages, and the chat turn in which a user says one.

A line of `utterances/*/{en,zh,ja}.ndjson` has its `id` and `text`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from schemas.events import Turn

FOLDER = Path(__file__).parent / "utterances"


class Utterance(NamedTuple):
    """A line of a file; `language` is the file's name."""

    language: str
    id: str
    text: str


def utterances() -> Iterator[Utterance]:
    """All lines of all files, in the order of their names."""
    for path in sorted(FOLDER.glob("*/*.ndjson")):
        for line in path.read_bytes().splitlines():
            raw = msgspec.json.decode(line)
            yield Utterance(path.stem, raw["id"], raw["text"])


def turn(text: str, event_id: str = "e1") -> Turn:
    """The chat turn in which a user says it."""
    return Turn(
        event_id=event_id,
        session_id="s1",
        user_id="u1",
        occurred_at="2026-03-01T09:00:00Z",  # type: ignore[arg-type]
        user_input=text,
        agent_answer="OK.",
    )
