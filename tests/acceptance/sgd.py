"""Schema-Guided Dialogues as turns, and a session's context counted from the raw data.

The file: one dialogue a line, {dialogue_id, services, turns: [{speaker, utterance, frames}]}, USER
and SYSTEM in turn. SGD has no times: dialogue i of repetition n starts GAP after the one before,
and each turn is STEP after the last, so that every run makes the same events.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from schemas.base import SECOND, JsonObject, format_time, parse_time

START = parse_time("2026-01-01T00:00:00Z")
GAP = 60 * SECOND
STEP = 20 * SECOND
USERS = 1000
RECENT = 10


def dialogues(path: Path) -> Iterator[dict[str, Any]]:
    """The raw dialogues."""
    with gzip.open(path) as lines:
        yield from map(msgspec.json.decode, lines)


def records(path: Path, *, repeat: int = 1, users: int = USERS) -> Iterator[JsonObject]:
    """One turn record for each USER utterance and the SYSTEM utterance after it.

    Repetitions are new sessions (`-r1`, `-r2`, …) of the same users. A record is made anew for each
    repetition but shares its text, slots and intent with the others: change it only at the top.
    """
    templates = [_turns(dialogue) for dialogue in dialogues(path)]
    for repetition in range(repeat):
        suffix = f"-r{repetition}" if repetition else ""
        for index, turns in enumerate(templates):
            session_id = f"{turns[0]['session_id']}{suffix}"
            start = START + (repetition * len(templates) + index) * GAP
            for number, turn in enumerate(turns):
                yield turn | {
                    "session_id": session_id,
                    "event_id": f"{session_id}-{number}",
                    "occurred_at": format_time(start + number * STEP),
                    "user_id": f"user-{index % users}",
                }


def write(path: Path, out: Path, *, repeat: int = 1, users: int = USERS) -> int:
    """Writes the records as NDJSON; answers how many."""
    encode = msgspec.json.Encoder().encode
    count = 0
    with out.open("wb", buffering=1 << 20) as file:
        for record in records(path, repeat=repeat, users=users):
            file.write(encode(record) + b"\n")
            count += 1
    return count


def expected_context(dialogue: dict[str, Any]) -> JsonObject:
    """The SessionContext's fields after the whole dialogue, counted by themselves."""
    spoken = [turn for turn in dialogue["turns"] if turn["speaker"] == "USER"]
    states = [(frame["service"], frame["state"]) for turn in spoken for frame in turn["frames"][:1]]
    named = [state["active_intent"] for _, state in states if state["active_intent"] != "NONE"]
    return {
        "current_topic": states[-1][0] if states else None,
        "recent_intents": named[-RECENT:],
        "last_user_message": spoken[-1]["utterance"],
    }


def _turns(dialogue: dict[str, Any]) -> list[JsonObject]:
    """A dialogue's turns without their ids and times."""
    spoken = dialogue["turns"]
    pairs = zip(spoken[::2], spoken[1::2], strict=True)
    return [_turn(dialogue["dialogue_id"], user, system) for user, system in pairs]


def _turn(session_id: str, user: dict[str, Any], system: dict[str, Any]) -> JsonObject:
    frames = user["frames"]
    intents = [frame["state"]["active_intent"] for frame in frames]
    turn = {
        "type": "turn",
        "session_id": session_id,
        "user_input": user["utterance"],
        "agent_answer": system["utterance"],
        "topic": frames[0]["service"],
        "metadata": {"slot_values": frames[0]["state"]["slot_values"]},
    }
    intent = next((intent for intent in intents if intent != "NONE"), None)
    return turn | ({"intent": intent} if intent else {})
