"""`name` of a user's message: who speaks. Another's words make no memory of the user."""

import pytest

from streams.importers.base import ImportDefaults, Skipped
from streams.importers.openai_chat import parse
from streams.importers.turns import other_speakers

AT = 1_740_000_000

OTHERS = [
    ("anna", ["anna", "bob"], {"bob"}), ("anna", ["Anna Smith", "Bob"], {"Bob"}),
    ("anna", ["bob"], {"bob"}), ("anna@example.org", ["Anna", "bob_2"], {"bob_2"}),
    ("u-17", ["Anna"], set()), ("u-17", ["Anna", "Bob"], {"Anna", "Bob"}),
    ("u-17", ["u-17", "Bob"], {"Bob"}), ("anna", [None, "", "  "], set()),
    ("安娜", ["安娜", "小明"], {"小明"}), (None, ["anna", "bob"], set()),
]  # fmt: skip


@pytest.mark.parametrize(("user_id", "names", "others"), OTHERS)
def test_a_name_without_a_word_of_the_users_id_is_anothers(
    user_id: str | None, names: list[str | None], others: set[str]
) -> None:
    messages = [{"role": "user", "name": name, "content": "x"} for name in names]
    messages.append({"role": "assistant", "name": "robot", "content": "x"})
    assert other_speakers(messages, user_id) == others


def test_an_imported_turn_of_another_has_no_user_and_is_counted() -> None:
    messages = [
        {"role": "user", "name": "anna", "content": "I live in Oslo."},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "name": "bob", "content": "I live in Pisa."},
        {"role": "user", "content": "I love tea."},
    ]
    skipped = Skipped()
    item = {"session_id": "s", "user_id": "anna", "created": AT, "messages": messages}
    turns = [one for one in parse([item], skipped, ImportDefaults()) if one["type"] == "turn"]
    assert [one.get("user_id") for one in turns] == ["anna", None, "anna"]
    assert [one["user_input"] for one in turns] == [
        "I live in Oslo.", "I live in Pisa.", "I love tea.",
    ]  # fmt: skip
    assert skipped["message of another speaker, kept without a user"] == 1
