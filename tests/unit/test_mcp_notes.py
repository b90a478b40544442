"""Notes about the user, as models write them to MCP's `remember`, in the user's own voice."""

import pytest

from streams.serving.mcp.notes import own_voice

NOTES = [
    ("User lives in Bergen.", "I live in Bergen."),
    ("The user is vegan.", "I am vegan."),
    ("the user's name is Maya", "My name is Maya"),
    ("User’s daughter is six.", "My daughter is six."),
    ("User no longer lives in Oslo.", "I no longer live in Oslo."),
    ("User studies law and works at Acme.", "I study law and work at Acme."),
    ("User likes jazz but doesn't like opera.", "I like jazz but don't like opera."),
    ("User was born in Ghent.", "I was born in Ghent."),
    ("User moved to Oslo last week.", "I moved to Oslo last week."),
    ("User watches football.", "I watch football."),
    ("User is called Ida. They live in Rome with their wife.",
     "I am called Ida. I live in Rome with my wife."),
    ("Remember that the user hates mushrooms", "I hate mushrooms"),
    ("- Name: Maya", "My name is Maya."),
    ("* Location: Bergen", "I live in Bergen."),
    ("1. Job: an architect", "I work as an architect."),
    ("- Allergies: peanuts, shellfish and soy",
     "I am allergic to peanuts. I am allergic to shellfish. I am allergic to soy."),
    ("- Favourite colour: blue", "My favourite colour is blue."),
    ("Name: Maya\n- Lives in: Bergen", "My name is Maya.\nI live in Bergen."),
    ("- Allergic to penicillin\n- Has two sons", "I am allergic to penicillin\nI have two sons"),
    ("Lives in Bergen. Doesn't eat fish.", "I live in Bergen. I don't eat fish."),
    ("用户住在卑尔根。", "我住在卑尔根。"),
    ("姓名：李明", "我叫李明。"),
    ("ユーザーは大阪に住んでいます。", "私は大阪に住んでいます。"),
    ("名前：由紀", "名前は由紀です。"),
]  # fmt: skip
OTHERS = [
    "I live in Leeds.", "", "  \n", "Userspace drivers are slow.", "User: I live in Pisa.",
    "Users like it.", "Look: a table.", "A user lives in Rome.", "My user group meets on Monday.",
    "我住在上海。", "用户名是什么？", "ユーザー名は何ですか。", "They live in Rome.",
    "- Their dog is old.", "Single room booked", "Is she allergic to nuts?", "Called the plumber",
    "https://example.org/user is a page",
]  # fmt: skip


@pytest.mark.parametrize(("note", "said"), NOTES)
def test_a_note_is_what_the_user_would_say(note: str, said: str) -> None:
    assert own_voice(note) == said
    assert own_voice(said) == said


@pytest.mark.parametrize("text", OTHERS)
def test_all_else_stays_as_it_is(text: str) -> None:
    assert own_voice(text) == text
