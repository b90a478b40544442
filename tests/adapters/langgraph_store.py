"""`TurnfoldStore` with the real `langgraph` and a real server.

It needs the group `adapters`: `.ci/run` asks for it by name, pytest alone does not."""

import asyncio
from collections.abc import Callable
from datetime import date
from typing import Any, TypedDict, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from tests.waiting import until
from turnfold_client import InvalidError, NotFoundError, NotKeptError, Turnfold, UnreachableError
from turnfold_client.langgraph import TurnfoldStore

Fresh = Callable[[], str]
R = TypeVar("R")


def reasons(memory: Turnfold, state_id: str) -> list[str]:
    try:
        return [one.reason for one in memory.iter_why(state_id)]
    except NotFoundError:
        return []


TEXT = st.text(st.characters(codec="utf-8"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.dictionaries(TEXT, VALUES, max_size=4))
def test_any_value_comes_back_equal(memory: Turnfold, fresh: Fresh, value: dict[str, Any]) -> None:
    user = fresh()
    TurnfoldStore(memory).put((user, "any"), "key", value)
    found = TurnfoldStore(memory).get((user, "any"), "key")
    assert found is not None and repr(found.value) == repr(value), "at once, types and all"


def fill(store: BaseStore, user: str) -> None:
    """Items that tell filters, prefixes and orders apart; one is put twice, one deleted."""
    store.put((user, "docs", "v1"), "a", {"kind": "report", "score": 3, "tags": ["x", "y"]})
    store.put((user, "docs", "v1"), "b", {"kind": "note", "score": 4.5, "deep": {"er": {"n": 1}}})
    store.put((user, "docs", "v2"), "a", {"kind": "report", "score": None})
    store.put((user, "likes"), "food", {"dish": "soup"})
    store.put((user, "likes"), "food", {"dish": "lentils"})
    store.put((user, "likes"), "gone", {"dish": "tripe"})
    store.delete((user, "likes"), "gone")
    store.delete((user, "likes"), "never there")


FILTERS: list[dict[str, Any] | None] = [
    None, {}, {"kind": "report"}, {"kind": {"$ne": "report"}}, {"kind": {"$eq": "note"}},
    {"deep": {"er": {"n": 1}}}, {"deep": {"er": 1}}, {"tags": ["x", "y"]}, {"tags": ["x"]},
    {"kind": "report", "score": {"$eq": 3}}, {"missing": None},
]  # fmt: skip


def ids(items: list[Any]) -> set[tuple[Any, ...]]:
    return {(one.namespace, one.key, repr(one.value)) for one in items}


def test_it_finds_what_the_reference_store_finds(memory: Turnfold, fresh: Fresh) -> None:
    """LangGraph's own store in memory is the reference."""
    user, theirs = fresh(), InMemoryStore()
    ours = TurnfoldStore(memory)
    fill(theirs, user)
    fill(ours, user)
    for prefix in ((user,), (user, "docs"), (user, "docs", "v1"), (user, "likes"), (user, "no")):
        for asked in FILTERS:
            expected = theirs.search(prefix, filter=asked, limit=50)
            assert ids(ours.search(prefix, filter=asked, limit=50)) == ids(expected), asked
    for match in (
        {"prefix": (user,)}, {"prefix": (user, "docs")}, {"prefix": (user, "*", "v1")},
        {"prefix": (user,), "suffix": ("v1",)}, {"prefix": (user,), "max_depth": 2},
        {"prefix": (user,), "suffix": ("docs", "*")},
        {"prefix": (user,), "limit": 1, "offset": 1},
    ):  # fmt: skip
        assert ours.list_namespaces(**match) == theirs.list_namespaces(**match), match
    for label, key in (("likes", "food"), ("likes", "gone"), ("x", "y")):
        mine, reference = ours.get((user, label), key), theirs.get((user, label), key)
        assert (mine and mine.value) == (reference and reference.value)


def test_filters_compare_numbers(memory: Turnfold, fresh: Fresh) -> None:
    user, store = fresh(), TurnfoldStore(memory)
    fill(store, user)
    for asked, keys in (
        ({"$gt": 3}, ["b"]), ({"$gte": 3}, ["a", "b"]), ({"$lt": 4.5}, ["a"]),
        ({"$lte": 4.5, "$gt": 3}, ["b"]),
    ):  # fmt: skip
        found = store.search((user, "docs"), filter={"score": asked})
        assert sorted(one.key for one in found) == keys
    with pytest.raises(NotKeptError, match=r"\$regex is no operator.*\$gte"):
        store.search((user,), filter={"score": {"$regex": "x"}})


def test_pages_are_of_the_latest_first(memory: Turnfold, fresh: Fresh) -> None:
    user, store = fresh(), TurnfoldStore(memory)
    for number in range(7):
        store.put((user, "n"), str(number), {"n": number})
    store.put((user, "n"), "2", {"n": 2.5})
    found = [
        one.value["n"] for at in range(0, 9, 3) for one in store.search((user,), limit=3, offset=at)
    ]
    assert found == [2.5, 6, 5, 4, 3, 1, 0]


def test_a_query_puts_what_it_finds_first(memory: Turnfold, fresh: Fresh) -> None:
    user, store = fresh(), TurnfoldStore(memory)
    store.put((user, "likes"), "music", {"sound": "jazz piano"})
    store.put((user, "likes"), "hidden", {"sound": "jazz organ"}, index=False)
    store.put((user, "likes"), "part", {"a": {"b": "jazz"}, "c": "violin"}, index=["c"])
    store.put((user, "likes"), "food", {"dish": "lentils"})
    found = until(lambda: store.search((user,), query="piano"), lambda found: found[0].score)
    assert found[0].key == "music" and (found[0].score or 0) > 0
    assert len(found) == 4 and [one.score for one in found[1:]] == [None] * 3
    jazz = [one.key for one in store.search((user,), query="jazz") if one.score]
    assert jazz == ["music"]


def test_an_item_has_a_past_and_a_reason(memory: Turnfold, fresh: Fresh) -> None:
    user, store = fresh(), TurnfoldStore(memory)
    fill(store, user)
    first = store.get((user, "docs", "v1"), "a")
    store.put((user, "docs", "v1"), "a", {"kind": "final"})
    second = store.get((user, "docs", "v1"), "a")
    assert first and second and second.created_at == first.created_at < second.updated_at
    store.put((user, "likes"), "gone", {"dish": "again"})
    again = store.get((user, "likes"), "gone")
    assert again is not None and again.value == {"dish": "again"}
    context = memory.context(user, sections="facts")
    assert "dish: lentils" in context.text and "soup" not in context.text
    lentils = next(one for one in context.items if "lentils" in one.text)
    told = until(lambda: reasons(memory, lentils.id), lambda told: len(told) >= 2)
    assert set(told) == {"LangGraph's store"}


def test_a_batch_reads_what_was_before_it(memory: Turnfold, fresh: Fresh) -> None:
    one, other, store = fresh(), fresh(), TurnfoldStore(memory)
    store.put((one, "n"), "k", {"n": 1})

    async def use() -> list[Any]:
        done = await store.abatch([
            PutOp((one, "n"), "k", {"n": 2}), PutOp((other, "n"), "k", {"n": 3}),
            PutOp((one, "n"), "k", {"n": 4}), GetOp((one, "n"), "k"), SearchOp((other,)),
            ListNamespacesOp((MatchCondition("prefix", (one,)),)),
        ])  # fmt: skip
        return [*done, await store.aget((one, "n"), "k"), await store.aget((other, "n"), "k")]

    found = asyncio.run(use())
    assert found[:3] == [None] * 3 and found[3].value == {"n": 1} and found[4] == []
    assert found[5] == [(one, "n")]
    assert found[6].value == {"n": 4} and found[7].value == {"n": 3}


def test_many_items_are_put_at_once(memory: Turnfold, fresh: Fresh) -> None:
    user, store = fresh(), TurnfoldStore(memory)
    store.batch([PutOp((user, "n"), str(n), {"n": n}) for n in range(250)])
    assert len(store.search((user,), limit=1000)) == 250


def test_users_and_other_facts_stay_apart(memory: Turnfold, fresh: Fresh) -> None:
    user, other, store = fresh(), fresh(), TurnfoldStore(memory)
    memory.add([{"role": "user", "content": "I live in Leeds."}], user_id=user, prefer="wait=20")
    store.put((user, "n"), "k", {"n": 1})
    assert len(store.search((user,))) == 1 and store.search((other,)) == []
    app = TurnfoldStore(memory, user_at=None, user_id=fresh())
    app.put(("n",), "k", {"n": 2})
    assert app.search(()) == app.search(("n",)) and len(app.search(())) == 1
    assert app.list_namespaces() == [("n",)]


class Counter(TypedDict):
    seen: int


def test_a_graph_uses_it(memory: Turnfold, fresh: Fresh) -> None:
    user = fresh()

    def visit(state: Counter, *, store: BaseStore) -> Counter:
        found = store.get((user, "visits"), "count")
        seen = (found.value["n"] if found else 0) + 1
        store.put((user, "visits"), "count", {"n": seen})
        return {"seen": seen}

    builder = StateGraph(Counter)
    builder.add_node("visit", visit)
    builder.add_edge(START, "visit")
    builder.add_edge("visit", END)
    for times in (1, 2):
        graph = builder.compile(store=TurnfoldStore(memory))
        assert graph.invoke({"seen": 0})["seen"] == times


def test_what_cannot_be_kept_is_an_error_that_says_what_to_do(
    memory: Turnfold, fresh: Fresh
) -> None:
    user, store = fresh(), TurnfoldStore(memory)
    for odd in (date(2026, 3, 1), (1, 2), float("nan"), b"x"):
        with pytest.raises(NotKeptError, match="value of k"):
            store.put((user, "n"), "k", {"odd": odd})
    image = "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" * 3
    with pytest.raises(InvalidError, match="image bytes are not kept"):
        store.put((user, "n"), "k", {"i": image})
    with pytest.raises(NotKeptError, match="meta_request"):
        store.put((user, "n"), "k", {"source": "meta_request"})
    with pytest.raises(NotImplementedError):
        store.put((user, "n"), "k", {}, ttl=5)
    with pytest.raises(NotKeptError, match="TTL"):
        store.batch([PutOp((user, "n"), "k", {}, ttl=5)])
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp((user, "a.b"), "k", {})])
    for call in (lambda: store.search(()), lambda: store.list_namespaces()):
        with pytest.raises(NotKeptError, match="names no user"):
            call()
    with pytest.raises(ValueError, match="user_at"):
        TurnfoldStore(memory, user_at=0, user_id="x")
    assert store.search((user,)) == []
    with pytest.raises(UnreachableError):
        TurnfoldStore(Turnfold("http://127.0.0.1:9", retries=0)).get((user,), "k")
