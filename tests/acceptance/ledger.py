"""Ninety days of facts about one user, told and corrected: 19 sessions of five turns.

The file names what is added or corrected on which date; in the second turn of a session the user
tells it, in the fourth the user shows a feeling. Each entry becomes a write plan whose evidence is
the turn it was told in. `truth` says what held on each date.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec

from schemas.base import MINUTE, SECOND, JsonObject, format_time, parse_time

USER = "hiro"
SESSIONS = 19
DAYS_APART = 5
FIRST_TURN = "T10:00:00Z"
STEP = 5 * MINUTE
FEELINGS: dict[str, tuple[str, float, float, float]] = {
    # what the user says, and the valence, arousal and dominance we assign to the word
    "joy": ("今日はとてもうれしい。", 0.8, 0.5, 0.4),
    "achievement": ("やりきった。達成感がある。", 0.7, 0.4, 0.6),
    "anxiety": ("なんだか不安だ。", -0.5, 0.6, -0.5),
    "dejection": ("落ち込んでいる。", -0.6, -0.4, -0.5),
}


def ledger(path: Path) -> dict[str, Any]:
    """The raw file."""
    made: dict[str, Any] = msgspec.json.decode(path.read_bytes())
    return made


def records(path: Path) -> Iterator[JsonObject]:
    """95 turns and a write plan after each turn that tells something, in order of time."""
    raw = ledger(path)
    for session in range(1, SESSIONS + 1):
        told = [entry for entry in raw["ledger"] if entry["session"] == session]
        feeling = raw["mood_by_session"][str(session)]
        for number, kind in enumerate(raw["turns_per_session"], 1):
            day = _first_day(raw) + timedelta(days=(session - 1) * DAYS_APART)
            turn = _turn(session, number, day, _text(kind, told, feeling))
            if kind == "feeling" and feeling:
                turn["affect"] = affect(feeling)
            yield turn
            if kind == "tell":
                yield from (_plan(entry, turn, order) for order, entry in enumerate(told, 1))


def truth(path: Path) -> dict[date, dict[str, str]]:
    """What holds on each date from the first session to the last: key -> value."""
    raw = ledger(path)
    entries = raw["ledger"]
    days = (SESSIONS - 1) * DAYS_APART
    dates = [_first_day(raw) + timedelta(days=day) for day in range(days + 1)]
    return {
        day: {
            entry["key"]: entry["value"]
            for entry in entries
            if date.fromisoformat(entry["date"]) <= day
        }
        for day in dates
    }


def affect(feeling: str) -> JsonObject:
    """The moment of feeling a word stands for."""
    text, v, a, d = FEELINGS[feeling]
    vad = {"v": v, "a": a, "d": d}
    return {"text": text, "labels": [feeling], "vad": vad, "confidence": 0.8}


def state_id(key: str) -> str:
    """The state that holds a key of the ledger."""
    return f"ledger-{key}"


def event_id(session: int, number: int) -> str:
    """The event of a session's turn, both from 1."""
    return f"ledger-{session:02}-{number}"


def _first_day(raw: dict[str, Any]) -> date:
    return date.fromisoformat(raw["ledger"][0]["date"])


def _turn(session: int, number: int, day: date, text: tuple[str, str]) -> JsonObject:
    start = parse_time(f"{day}{FIRST_TURN}")
    return {
        "type": "turn", "event_id": event_id(session, number), "session_id": f"ledger-{session:02}",
        "user_id": USER, "occurred_at": format_time(start + (number - 1) * STEP),
        "user_input": text[0], "agent_answer": text[1],
    }  # fmt: skip


def _text(kind: str, told: list[dict[str, Any]], feeling: str | None) -> tuple[str, str]:
    """What the user says in a turn of this kind, and the answer."""
    said = "".join(map(_tell, told)) or "今日は変わったことはありません。"
    values = "、".join(entry["value"] for entry in told) or "変わりなし"
    felt = FEELINGS[feeling][0] if feeling else "いつもどおりです。"
    return {
        "recall": ("前に話したこと、覚えていますか。", "はい、覚えています。"),
        "tell": (said, "わかりました。"),
        "confirm": ("さっきの話、確認してもらえますか。", f"{values}、ですね。"),
        "feeling": (felt, "話してくれてありがとうございます。"),
        "mixed": ("それでは、また今度。", "はい、またお話ししましょう。"),
    }[kind]


def _tell(entry: dict[str, Any]) -> str:
    if entry["op"] == "correct":
        return f"訂正です。{entry['replaces']}ではなく{entry['value']}です。"
    return f"覚えておいてください、{entry['value']}です。"


def _plan(entry: dict[str, Any], turn: JsonObject, order: int) -> JsonObject:
    key = entry["key"]
    update = {
        "op": "upsert", "kind": "fact", "state_id": state_id(key), "body_text": entry["value"],
        "payload": {"key": key}, "confidence": 0.9, "valid_from": f"{entry['date']}T00:00:00Z",
        "evidence_event_ids": [turn["event_id"]],
        "reason": "the user corrected it" if entry["op"] == "correct" else "the user told it",
    }  # fmt: skip
    return {
        "type": "write_plan", "plan_id": f"ledger-{entry['session']:02}-{key}", "user_id": USER,
        "session_id": turn["session_id"], "event_id": turn["event_id"],
        "occurred_at": format_time(parse_time(turn["occurred_at"]) + order * SECOND),
        "extractor": {"name": "ledger", "version": "1"}, "state_updates": [update],
    }  # fmt: skip
