"""Each kind of memory is declared once, and what it names is there."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_origin

import pytest
from _duckdb import DuckDBPyConnection

from schemas.events import WritePlan
from schemas.memory import DOCUMENTS, State, UserDocument
from schemas.memory_kinds import MEMORY_KINDS, REVISED, SESSION_MEMORY, MemoryKind
from schemas.record_kinds import RECORD_TABLES
from schemas.rows import TABLES
from schemas.session import SessionMemoryItem
from sinks.diff import RELATIONS
from sinks.erasure import conditions
from sinks.erasure_scope import judge_letters, scope, scope_made
from sinks.history import connect
from sinks.history_root import open_root
from sinks.views import ABOUT, VIEWS
from streams.folds import affect, end_facts, learner, links_threads, memory, states
from streams.folds.effects import Effects, Rows
from streams.folds.revised_kinds import REVISED_KINDS
from streams.pipeline.entity import ROW_KINDS
from streams.record_kinds import KINDS
from streams.topology import MEMORY_AGENT, REVISED_TOPICS, TOPICS
from tests.unit.memory_told import Memory, plan, prefers, says

DOCUMENT_FIELDS = {
    **{kind.name: DOCUMENTS[kind.name].model_fields for kind in REVISED},
    "state": State.model_fields,
    SESSION_MEMORY.name: SessionMemoryItem.model_fields,
}

every_kind = pytest.mark.parametrize("kind", MEMORY_KINDS, ids=lambda kind: kind.name)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDBPyConnection]:
    """A history without rows."""
    folder: Path = tmp_path_factory.mktemp("empty")
    with connect(open_root(folder / "history")) as found:
        yield found


def test_names_are_unique() -> None:
    topics = [kind.topic.name for kind in MEMORY_KINDS if kind.topic]
    lists = [kind.listed.name for kind in MEMORY_KINDS if kind.listed]
    views = [kind.view for kind in MEMORY_KINDS if kind.view]
    for names in ([kind.name for kind in MEMORY_KINDS], topics, lists, views):
        assert len(names) == len(set(names))


@every_kind
def test_what_a_kind_compares_and_is_counted_by_is_in_its_view(
    kind: MemoryKind, db: DuckDBPyConnection
) -> None:
    relation = RELATIONS.get(kind.name, kind.view)
    columns = {name for name, *_ in db.execute(f"DESCRIBE FROM {relation}").fetchall()}
    assert {*kind.key, *kind.compared, *kind.same_if} <= columns
    assert not kind.counted_by or kind.counted_by in columns
    db.execute(f"SELECT CAST({kind.evidence} AS VARCHAR[]) FROM {relation}")


@every_kind
def test_the_view_of_a_kind_is_defined_and_described(kind: MemoryKind) -> None:
    if kind.view:
        assert ABOUT[kind.view] == kind.about != ""
        assert (kind.view in VIEWS) != bool(kind.table)


@every_kind
def test_fields_that_are_searched_shown_and_listed_are_in_the_document(kind: MemoryKind) -> None:
    named: set[str] = set()
    if kind.searched:
        named |= {*kind.searched.text, *kind.searched.hidden}
    if kind.prompted:
        named |= {*kind.prompted.fields, kind.prompted.text}
    if kind.listed:
        named |= {*kind.listed.order}
    assert named <= set(DOCUMENT_FIELDS.get(kind.name, ()))


@pytest.mark.parametrize("kind", REVISED, ids=lambda kind: kind.name)
def test_the_newest_revision_of_a_kind_has_what_its_readers_ask_for(kind: MemoryKind) -> None:
    fields = DOCUMENTS[kind.name].model_fields
    assert next(iter(fields)) == kind.id == kind.key[-1], "the view's SQL takes it for the id"
    assert "updated_at" in fields, "a prompt shows the newest first"
    assert not kind.ended or "status" in fields
    assert not kind.table
    if kind.listed:
        listed = UserDocument.model_fields[kind.listed.name].annotation
        assert (get_origin(listed), get_args(listed)) == (list, (DOCUMENTS[kind.name],))


def test_revised_kinds_have_rows_of_their_own_and_a_topic() -> None:
    assert [item.kind for item in REVISED_KINDS] == list(REVISED)
    others = {bytes, memory.User, states.State, links_threads.Member, affect.MoodRow,
              learner.Learner, learner.Topic, end_facts.Ends, end_facts.Marks}  # fmt: skip
    types = {kind.letter: kind.type for kind in ROW_KINDS["users"]}
    assert set(types.values()) == others | {item.rows.type for item in REVISED_KINDS}, (
        "two have one letter"
    )
    for item in REVISED_KINDS:
        topic = REVISED_TOPICS[item.kind.name]
        assert topic in TOPICS and topic in MEMORY_AGENT.outputs
        assert topic.payloads == (DOCUMENTS[item.kind.name],)
        assert topic.key == f"{{tenant}}/{{user_id}}/{{{item.kind.id}}}"


def test_each_table_says_whose_its_rows_are(db: DuckDBPyConnection) -> None:
    """A table that does not is left whole by `forget`."""
    scope(db, "default", "somebody")
    scope_made(db, "default", "somebody")
    judge_letters(db, "FROM dead_letters", "default")
    for table in TABLES:
        db.execute(f"SELECT count(*) FROM {table} t WHERE {conditions(table)}")


def test_each_type_of_record_has_a_table_that_keeps_it() -> None:
    assert {kind.type for kind in KINDS} == set(RECORD_TABLES)
    for table in RECORD_TABLES.values():
        assert {"doc", "occurred_at"} <= TABLES[table].model_fields.keys()


def test_a_plan_is_folded_by_each_revised_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind of memory is declared; the user's fold knows none by name."""
    told: list[object] = []

    def apply(rows: Rows, plan: WritePlan, update: object, out: Effects) -> None:
        told.append(update)

    def end(rows: Rows, plan: WritePlan, over: end_facts.End, out: Effects) -> None:
        told.append(list(over.families))

    another = REVISED_KINDS[0]._replace(updates="state_updates", apply=apply, end=end)
    monkeypatch.setattr(
        memory, "REVISED_KINDS", (*REVISED_KINDS, another, another._replace(end=None))
    )
    user = Memory()
    user.made(plan("p1", preference_updates=[prefers("confirm")]))
    over = {"families": ["like"], "words": ["tea"]}
    user.made(plan("p2", 2, state_updates=[says(state_id="home")], ends=[over]))
    assert [getattr(one, "state_id", one) for one in told] == ["home", "home", ["like"]]
    assert user.preferences() == {("like", "tea"): "revoked"}
