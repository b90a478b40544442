"""Two records that say the same are one: the same fingerprint, and the same doc is stored."""

import json
from typing import Any
from uuid import uuid5

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.upcast import number
from streams.folds.effects import Input
from streams.folds.ids import NAMESPACE, make_id
from streams.pipeline import fast_decode
from streams.pipeline.decode import Dead, decode
from tests.property.world import Json, plan, recursion, result, signal, turn

PLACE = ("equal", 0, 1)
FELT = {"vad": {"v": 0.5, "a": 0, "d": 0}}
CLAIM = {"content": "c"}


def read(record: Json | str) -> Input:
    line = record if isinstance(record, str) else json.dumps(record)
    said = decode(line.encode(), PLACE)
    assert isinstance(said, Input), said
    return said


def kept(record: Json | str) -> tuple[bytes, str, str | None, str | None]:
    said = read(record)
    return said.fingerprint, said.doc, said.metadata, said.extra


def slowly(record: Json | str) -> tuple[bytes, str, str | None, str | None]:
    """The same without the quick way in."""
    quick, fast_decode.read = fast_decode.read, lambda _: None  # type: ignore[assignment]
    try:
        return kept(record)
    finally:
        fast_decode.read = quick


SAME: list[tuple[Json, Json]] = [
    (turn("e", 0), turn("e", 0, metadata={})),
    (turn("e", 0), turn("e", 0, metadata=None)),
    (turn("e", 0), turn("e", 0, metadata={"note": None, "difficulty": None})),
    (turn("e", 0, metadata={"n": 1}), turn("e", 0, metadata={"n": 1.0, "difficulty": None})),
    (turn("e", 0), turn("e", 0, summary={})),
    (turn("e", 0), turn("e", 0, summary={"content": None, "key_findings": []})),
    (turn("e", 0), turn("e", 0, summary={"narrative": None, "content": ""})),
    (turn("e", 0), turn("e", 0, observations=[], image_summaries=[], intent=[])),
    (turn("e", 0), turn("e", 0, artifacts_metadata={"sandbox_id": None})),
    (turn("e", 0), turn("e", 0, session_memory_delta={"add": [], "delete": []})),
    (turn("e", 0), turn("e", 0, angent_answer=None, session_goal=None)),
    (turn("e", 0, subject=CLAIM), turn("e", 0, session_subject={**CLAIM, "source": None})),
    (
        turn("e", 0, affect={"vad": {"v": 0.0, "a": 1, "d": 0}, "confidence": 0}),
        turn("e", 0, affect={"vad": {"v": -0.0, "a": 1.0, "d": 0}, "confidence": -0.0}),
    ),
    (signal("g", 0), signal("g", 0, metadata={}, intent=[])),
    (signal("g", 0, metadata={"correct_rate": 0}), signal("g", 0, metadata={"correct_rate": -0.0})),
    (recursion("r", 1, 0), recursion("r", 1, 0, short_term_memory_append=[])),
    (recursion("r", 1, 0), recursion("r", 1.0, 0, max_iteration=None)),  # type: ignore[arg-type]
    (recursion("r", 1, 0, output={"n": 2}), recursion("r", 1, 0, output={"n": 2.0})),
    (result("r", 0, 0, result={"n": [100]}), result("r", 0, 0, result={"n": [1e2]})),
    (plan("p", 0), plan("p", 0, extraction={}, context_updates={}, event_annotations={})),
    (plan("p", 0), plan("p", 0, context_updates={"threads": [], "links": None})),
    (turn("e", 0, colour={"n": 3}), turn("e", 0, colour={"n": 3.0})),
]
DIFFERENT: list[tuple[Json, Json]] = [
    (turn("e", 0, metadata={"n": 1}), turn("e", 0, metadata={"n": True})),
    (turn("e", 0, metadata={"n": 1}), turn("e", 0, metadata={"n": "1"})),
    (turn("e", 0, metadata={"n": 1, "a": None}), turn("e", 0, metadata={"n": 1})),
    (turn("e", 0, metadata={"n": 1, "a": {}}), turn("e", 0, metadata={"n": 1})),
    (turn("e", 0, metadata={"a": []}), turn("e", 0, metadata={"a": {}})),
    (turn("e", 0, colour=None), turn("e", 0)),
    (turn("e", 0, colour={"a": None}), turn("e", 0, colour={})),
    (recursion("r", 1, 0, constraints=[]), recursion("r", 1, 0)),
    (recursion("r", 1, 0, plan=[]), recursion("r", 1, 0)),
    (recursion("r", 1, 0, output={"plan": []}), recursion("r", 1, 0)),
    (result("r", 0, 0, result={}), result("r", 0, 0, result=None)),
    (result("r", 0, 0, result=[]), result("r", 0, 0, result={})),
    (
        plan("p", 0, {"kind": "fact", "body_text": "b", "payload": {}}),
        plan("p", 0, {"kind": "fact", "body_text": "b"}),
    ),
    (turn("e", 0, metadata={"n": 0.1 + 0.2}), turn("e", 0, metadata={"n": 0.3})),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_says_the_same_is_one(one: Json, other: Json) -> None:
    assert kept(one) == kept(other) == slowly(one) == slowly(other)
    ours, theirs = read(one).record, read(other).record
    if not read(one).plain and not read(other).plain:
        assert ours == theirs, "and the folds see one"


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_says_another_thing_is_another(one: Json, other: Json) -> None:
    assert read(one).fingerprint != read(other).fingerprint


@pytest.mark.parametrize(("one", "_"), SAME)
def test_a_stored_record_says_what_the_sent_one_said(one: Json, _: Json) -> None:
    """A rebuild reads the doc."""
    said = read(one)
    assert read(said.doc).doc == said.doc


numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(10**6), 10**6).map(float),
    st.sampled_from([-0.0, 0.0, 2.0**53, 2.0**63, 2.0**64, 1e19, 1e20, -(2.0**63), 0.1 + 0.2]),
)


@st.composite
def spelt(draw: st.DrawFn, value: float) -> str:
    """A number as JSON may write it."""
    ways = [json.dumps(value)]
    if value == int(value):
        whole = int(value)
        if abs(whole) < 2**53:
            ways += [f"{whole}.0", f"{whole}.000", f"{whole}e0"]
            ways += [f"{whole}0E-1"] if whole else ["-0.0", "0E5", "-0e0", "-0"]
            ways.append(str(whole))
        if whole % 100 == 0 and 0 < abs(whole) < 2**53:
            ways.append(f"{whole // 100}e+2")
    return draw(st.sampled_from(ways))


@settings(max_examples=400)
@given(st.data())
def test_numbers_are_compared_by_value(data: st.DataObject) -> None:
    value = data.draw(st.one_of(st.integers(-(2**53) + 1, 2**53 - 1), numbers.filter(_is_float)))
    one, other = data.draw(spelt(value)), data.draw(spelt(value))
    whole = json.dumps(turn("e", 0, metadata={"n": {"m": ["?"]}, "k": "?"}))
    made = [whole.replace('"?"', text) for text in (one, other)]
    assert kept(made[0]) == kept(made[1]) == slowly(made[0]) == slowly(made[1])


def _is_float(value: float) -> bool:
    return isinstance(value, float)


free: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | st.text(max_size=3),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=3), one, max_size=3),
    max_leaves=8,
)


@settings(max_examples=400)
@given(st.dictionaries(st.text(max_size=4), free, max_size=4), st.none() | numbers)
def test_both_ways_in_give_one_doc(metadata: Json, rate: float | None) -> None:
    record = turn("e", 0, metadata={**metadata, "correct_rate": rate})
    line = json.dumps(record).encode("utf-8", "surrogatepass")
    quick = decode(line, PLACE)
    read_plain, fast_decode.read = fast_decode.read, lambda _: None  # type: ignore[assignment]
    try:
        slow = decode(line, PLACE)
    finally:
        fast_decode.read = read_plain
    assert type(quick) is type(slow)
    if isinstance(quick, Input) and isinstance(slow, Input):
        assert (quick.fingerprint, quick.doc, quick.metadata) == (
            slow.fingerprint, slow.doc, slow.metadata,
        )  # fmt: skip
        assert read(quick.doc).doc == quick.doc


@pytest.mark.parametrize(
    ("digits", "value"),
    [
        ("2.0", 2), ("1e2", 100), ("-0.0", 0), ("-0e9", 0), ("1E+2", 100), ("120e-1", 12),
        ("9007199254740993.0", 9007199254740993), ("9223372036854775808.0", 2**63),
        ("1e19", 10**19), ("1e20", 1e20), ("-9.3e18", -9.3e18), ("0.5", 0.5), ("1e-400", 0),
        ("18446744073709551615.0", 2**64 - 1),
    ],
)  # fmt: skip
def test_a_number_is_what_it_is_worth(digits: str, value: float) -> None:
    found = number(digits)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("digits", ["1e400", "-1e400", "1e309"])
def test_a_number_beyond_floats_is_refused(digits: str) -> None:
    said = decode(json.dumps(turn("e", 0, metadata={"n": 7})).replace("7", digits).encode(), PLACE)
    assert isinstance(said, Dead) and said.reason == "bad_json" and "out of range" in said.detail


names = st.text(st.characters(exclude_categories=["Cs"]))


@given(names, st.lists(names | st.integers()))
def test_an_id_is_the_uuid5_of_its_parts(kind: str, parts: list[str | int]) -> None:
    name = "\x1f".join([kind, *map(str, parts)])
    assert make_id(kind, *parts) == str(uuid5(NAMESPACE, name))
