"""The ledger's turns in natural words: what is new is said once, in the turn that tells it."""

from typing import Any

import pytest

from tests.acceptance import ledger, ledger_text
from tests.conftest import LEDGER
from tests.shared_data import shared

Turn = tuple[int, str, str, str]  # session, kind, what the user says, the answer


def spoken() -> list[Turn]:
    raw = ledger.ledger(shared(*LEDGER))
    return [
        (session, kind, *ledger_text.texts(session, number, kind, raw["ledger"], feeling))
        for session in range(1, ledger.SESSIONS + 1)
        for feeling in [raw["mood_by_session"][str(session)]]
        for number, kind in enumerate(raw["turns_per_session"], 1)
    ]


def entries() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ledger.ledger(shared(*LEDGER))["ledger"]
    return found


def test_every_entry_is_told_in_its_session_with_what_it_replaces() -> None:
    tells = {session: said for session, kind, said, _ in spoken() if kind == "tell"}
    assert len(tells) == ledger.SESSIONS
    for entry in entries():
        assert entry["value"] in tells[entry["session"]]
        assert (entry["replaces"] or "") in tells[entry["session"]]
        assert "{" not in tells[entry["session"]]


def test_only_tell_and_confirm_turns_have_the_user_name_a_value() -> None:
    for session, kind, said, _ in spoken():
        named = [entry["session"] for entry in entries() if _names(said, entry)]
        if kind == "confirm":
            assert all(told <= session for told in named), said
        elif kind != "tell":
            assert not named, said


def test_a_recall_shows_what_was_told_before_and_nothing_of_its_own_session() -> None:
    answers = [(session, answer) for session, kind, _, answer in spoken() if kind == "recall"]
    for session, answer in answers:
        held = {one["key"]: one for one in entries() if one["session"] < session}
        assert answer.count("「") == len(held)
        assert all(entry["value"] in answer for entry in held.values())
    assert max(answer.count("「") for _, answer in answers) > 10


def test_each_feeling_has_words_of_its_own() -> None:
    moods = ledger.ledger(shared(*LEDGER))["mood_by_session"]
    words: dict[str | None, set[str]] = {}
    for session, kind, said, _ in spoken():
        if kind == "feeling":
            words.setdefault(moods[str(session)], set()).add(said)
    assert set(words) == {*ledger.FEELINGS, None}
    assert len(set().union(*words.values())) == sum(map(len, words.values())), "none is shared"
    assert all(len(said) > 1 for feeling, said in words.items() if feeling)


def test_the_same_turn_has_the_same_words_and_corrections_vary() -> None:
    assert spoken() == spoken()
    corrected = [one for one in entries() if one["op"] == "correct"]
    tells = {session: said for session, kind, said, _ in spoken() if kind == "tell"}
    frames = {
        tells[one["session"]].replace(one["replaces"], "…").replace(one["value"], "…")
        for one in corrected
    }
    assert len(frames) == len(corrected)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="'sing' of session 1, turn 2"):
        ledger_text.texts(1, 2, "sing", [], None)


def _names(said: str, entry: dict[str, Any]) -> bool:
    """A value of one character (a time of day) stands in many words: it does not count."""
    return len(entry["value"]) > 1 and entry["value"] in said
