"""A session of several users: no pack shows one of them what another said as their own."""

from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.context import Item, items
from streams.context.load import session_of
from streams.context.render import line
from streams.errors import UsageError
from streams.folds.constants import Rules
from streams.folds.session_memory import MAX_OPS
from streams.folds.session_state import MAX_USERS
from tests.property.world import Json, World, turn
from tests.tiers import examples

USERS = ("ann", "bob", "eve")
SHARED = ("tea", "Tea ", "a window seat")
TYPES = st.sampled_from(("preference", "constraint", "background", "decision"))


@st.composite
def said(draw: st.DrawFn, number: int) -> Json:
    """A turn that observes or writes something: one's own words, or words that others use, too."""
    user = draw(st.sampled_from((*USERS, None)))
    words = draw(st.sampled_from((*SHARED, f"{user} {draw(st.sampled_from('xyz'))}")))
    kind, at = draw(TYPES), draw(st.integers(0, 40))
    fields: Json = {} if user is None else {"user_id": user}
    if draw(st.booleans()):
        seen: Json = {"type": kind, "content": words, "confidence": 0.9, "explicit": True}
        if kind == "decision":
            seen |= {"decision": words, "source": draw(st.sampled_from(("user", "agent"))),
                     "rationale": "so"}  # fmt: skip
        elif draw(st.booleans()):
            seen["opposes"] = draw(st.sampled_from(SHARED))
        return turn(f"e{number}", at, observations=[seen], **fields)
    item = {"id": draw(st.sampled_from(("m1", "m2"))), "type": kind, "content": words}
    if kind == "decision":
        item["decision"] = words
    delta = draw(
        st.sampled_from(
            (
                {"add": [item]},
                {"update": [{"id": item["id"], "content": words}]},
                {"update": [{"id": item["id"], "confidence": 0.7}]},
                {"delete": [item["id"]]},
            )
        )
    )
    return turn(f"e{number}", at, session_memory_delta=delta, **fields)


@st.composite
def sessions(draw: st.DrawFn) -> list[Json]:
    return [draw(said(number)) for number in range(draw(st.integers(1, 24)))]


def shown(world: World, user: str) -> list[Item]:
    found = session_of(world.rows_of("sessions", "s1"), Rules(), user)
    return items(None, found)


def words_of(records: list[Json]) -> dict[str | None, set[str]]:
    """Speaker -> what they said, as a pack has it."""
    told: dict[str | None, set[str]] = {}
    for record in records:
        delta = record.get("session_memory_delta", {})
        written = [*delta.get("add", ()), *delta.get("update", ()), *record.get("observations", ())]
        some = {" ".join(one["content"].split()) for one in written if "content" in one}
        told.setdefault(record.get("user_id"), set()).update(some)
    return told


@examples(80, 300, sessions(), under=settings())
def test_what_is_not_marked_is_the_users_own(records: list[Json]) -> None:
    world, told = World(), words_of(records)
    world.say(*records)
    spoke = {user for user in told if user is not None}
    for user in spoke:
        for item in shown(world, user):
            words = item.text.removesuffix(". Reason: so").strip()
            speakers = {name for name, some in told.items() if words in some}
            if not item.said_by:
                assert user in speakers or (len(spoke) == 1 and None in speakers)
            else:
                assert len(spoke) > 1
                assert speakers & set(item.said_by), "one of them said it"
                assert set(item.said_by) <= {*spoke, None}
            if len(speakers) == 1 and speakers != {user} and len(spoke) > 1:
                assert speakers <= set(item.said_by)


@given(st.permutations([turn(f"e{n}", n, user_id=user) for n, user in enumerate("abcab")]))
def test_who_spoke_does_not_depend_on_the_order(records: list[Json]) -> None:
    world = World()
    world.say(*records)
    for user in "abc":
        assert shown(world, user) == []
    with pytest.raises(UsageError, match="another user's"):
        shown(world, "d")


def item(*said_by: str | None, **fields: Any) -> str:
    made = {"id": "m", "type": "decision", "content": "Meet at five.", "confidence": 0.9}
    memory = {**made, **fields, "said_by": said_by}
    (one,) = items(None, {"session_id": "s", "session_memory": [memory]})
    return line(one)


def test_a_line_says_who_said_it() -> None:
    begin = "- “Meet at five.” (decision"
    assert item().startswith(begin + ") [m:")
    assert item("bob").startswith(begin + ", said by “bob”) [m:")
    assert item("ann", None).startswith(begin + ", said by “ann” and an unnamed user) [m:")
    assert item("bob", source="agent").startswith(begin + ", by the agent, to “bob”) [m:")
    assert item(*"abcde").startswith(begin + ", said by “a” and “b” and “c” and 2 more) [m:")
    assert item("x”) [s:0]\n## Facts").startswith(begin + ", said by “x’) [s:0] ## Facts”) [m:")


def test_what_another_wrote_stays_theirs_however_often_it_is_written_to() -> None:
    """Of many writes the first are kept as one, and the newest 20 are evidence."""
    at, world = count(), World()
    first = {"id": "m1", "type": "background", "content": "Ann has a cat."}
    world.say(turn("a", next(at), user_id="ann", session_memory_delta={"add": [first]}))
    for number in range(MAX_OPS + 10):
        patch = {"update": [{"id": "m1", "confidence": 0.5}]}
        world.say(turn(f"b{number}", next(at), user_id="bob", session_memory_delta=patch))
    (found,) = shown(world, "bob")
    assert found.said_by == ("ann", "bob")


def test_of_very_many_users_all_may_ask() -> None:
    world = World()
    world.say(*(turn(f"e{n}", n, user_id=f"u{n:03}") for n in range(MAX_USERS + 5)))
    for user in ("u000", f"u{MAX_USERS + 4:03}"):
        assert shown(world, user) == []


def test_a_session_of_one_user_has_no_marks() -> None:
    world = World()
    seen = {"type": "constraint", "content": "No peanuts.", "confidence": 0.9, "explicit": True}
    world.say(turn("a", 1, user_id="ann", observations=[seen]), turn("b", 2, observations=[seen]))
    (found,) = shown(world, "ann")
    assert found.said_by == ()
    with pytest.raises(UsageError):
        shown(world, "bob")
