"""LoCoMo's development half as a labelled set for `turnfold admin evaluate` (docs/evaluation.md).

Each turn of a conversation is an event, its picture's description with it. `--speakers` says how
an event tells who speaks: `prefix` ("Caroline: …", one user a conversation), `users` (each speaker
is a user of their own, the conversation's name before theirs) or `none` (one user a conversation,
and no word of who speaks). Each conversation is a tenant; with `--together` all are one's.
"""

import gzip
import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks import common
from schemas.base import JsonObject
from tests.shared_data import shared

DEVELOPMENT = ("26", "41", "43", "47")
KEPT_BACK = "49"
CATEGORIES = {1: "several turns", 2: "time", 3: "open", 4: "one turn", 5: "unanswerable"}
PLACE = re.compile(r"D:?(\d+):0*(\d+)")
"""Of a turn, in the spellings that the evidence has."""


def main() -> None:
    """Writes the set to stdout."""
    parser = common.arguments(__doc__)
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--conversations", nargs="+", default=DEVELOPMENT)
    parser.add_argument("--speakers", choices=["prefix", "users", "none"], default="prefix")
    parser.add_argument("--together", action="store_true")
    given = parser.parse_args()
    lines = [
        line
        for name in given.conversations
        for line in convert(name, read(name), given.speakers, given.together)
    ]
    common.write_ndjson(given.out, lines)


def read(name: str) -> JsonObject:
    """A conversation of the data set; ends where it is not there."""
    try:
        file = shared("data", "locomo_dev", f"{name}.json.gz")
    except pytest.skip.Exception as missing:
        sys.exit(f"{missing} (benchmarks/README.md says what is needed)")
    found: JsonObject = json.loads(gzip.decompress(file.read_bytes()))
    return found


def convert(name: str, talk: JsonObject, speakers: str, together: bool) -> Iterator[JsonObject]:
    """Its events, questions and observations."""
    tenant = "default" if together else f"locomo-{name}"
    known: set[str] = set()
    for number, turns in sessions(talk):
        began = moment(talk[f"session_{number}_date_time"])
        for place, turn in enumerate(turns):
            known.add(turn["dia_id"])
            yield {
                "type": "turn",
                "tenant": tenant,
                "event_id": f"{name}-{turn['dia_id']}",
                "session_id": f"{name}-{number}",
                "user_id": user(name, turn["speaker"], speakers),
                "occurred_at": (began + timedelta(minutes=place)).isoformat(),
                "user_input": f"{turn['speaker']}: {turn['text']}"
                if speakers == "prefix"
                else turn["text"],
                **({"image_summaries": [turn["blip_caption"]]} if "blip_caption" in turn else {}),
            }
    for asked in talk["qa"]:
        answer = asked.get("answer") if asked["category"] != 5 else None
        yield {
            "label": "question",
            "tenant": tenant,
            "question": asked["question"],
            "category": CATEGORIES[asked["category"]],
            "evidence": [f"{name}-{one}" for one in evidence(asked["evidence"], known)],
            **({} if answer is None else {"answer": str(answer)}),
            **({} if speakers == "users" else {"user_id": name}),
        }
    for number, _ in sessions(talk):
        for speaker, noted in (talk.get(f"session_{number}_observation") or {}).items():
            for text, places in noted:
                places = places if isinstance(places, list) else [places]
                yield {
                    "label": "observation",
                    "tenant": tenant,
                    "user_id": user(name, speaker, speakers),
                    "text": text,
                    "evidence": [f"{name}-{one}" for one in evidence(places, known)],
                }


def sessions(talk: JsonObject) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """The sessions in which something was said, in order."""
    numbers = sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key))
    for number in numbers:
        if talk[f"session_{number}"]:
            yield number, talk[f"session_{number}"]


def user(name: str, speaker: str, speakers: str) -> str:
    """The user id of a turn."""
    return f"{name}-{speaker}" if speakers == "users" else name


def evidence(places: list[str], known: set[str]) -> list[str]:
    """The turns that are named and there, as they are spelt there."""
    found = [f"D{one[1]}:{one[2]}" for place in places for one in PLACE.finditer(place)]
    return [one for one in dict.fromkeys(found) if one in known]


def moment(text: str) -> datetime:
    """`1:56 pm on 8 May, 2023`."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


if __name__ == "__main__":
    main()
