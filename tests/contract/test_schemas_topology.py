"""The topology names every record, row and document once, and leads to real functions."""

import json
from pathlib import Path
from pkgutil import resolve_name

import pytest

from schemas.events import RECORD_TYPES, Record
from schemas.rows import TABLES
from schemas.upcast import upcast
from streams.asyncapi import asyncapi
from streams.topology import AGENTS, DEAD_LETTERS, HISTORY, TOPICS, Agent, topic_of
from streams.topology_render import as_json, fold_name, mermaid

GOLDEN = Path(__file__).parent / "golden" / "v1"


def _record(kind: str, **changes: str) -> Record:
    sent = json.loads((GOLDEN / f"{kind}.json").read_text("utf-8"))
    return RECORD_TYPES[kind].model_validate(upcast(sent | changes))


@pytest.mark.parametrize(
    ("kind", "changes", "topic"),
    [
        ("turn", {}, "turns"),
        ("signal", {"scope": "session", "session_id": "s-1"}, "turns"),
        ("signal", {"scope": "user"}, "user-signals"),
        ("recursion", {}, "recursions"),
        ("tool_result", {}, "recursions"),
        ("write_plan", {}, "write-plans"),
    ],
)
def test_a_record_goes_to_its_topic(kind: str, changes: dict[str, str], topic: str) -> None:
    assert topic_of(_record(kind, **changes)).name == topic


def test_the_output_topics_are_those_of_the_contract() -> None:
    compacted = {"session-contexts", "sessions", "tasks", "profiles", "states", "preferences",
                 "moods"}  # fmt: skip
    assert {topic.name for topic in TOPICS if topic.compacted} == compacted
    appended = {"revisions", "affects", "links", "threads", "history", "dead-letters"}
    outputs = {topic.name for topic in TOPICS if topic.direction == "output"}
    assert outputs == compacted | appended


def test_names_are_unique() -> None:
    names = [topic.name for topic in TOPICS]
    assert len(names) == len(set(names))


def test_the_sink_finds_every_table_in_its_two_topics() -> None:
    assert sorted(HISTORY.rows + DEAD_LETTERS.rows) == sorted(TABLES)


def test_every_topic_and_table_has_an_agent() -> None:
    used = {topic.name for agent in AGENTS for topic in (*agent.sources, *agent.outputs)}
    assert used == {topic.name for topic in TOPICS}
    assert {table for agent in AGENTS for table in agent.history} == set(HISTORY.rows)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_is_co_partitioned_with_its_table(agent: Agent) -> None:
    assert {source.key for source in agent.sources} == {agent.table.key}


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agents_fold_is_there(agent: Agent) -> None:
    assert resolve_name(fold_name(agent)) is agent.fold


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_sends_the_documents_of_its_table(agent: Agent) -> None:
    sent = {model for topic in agent.outputs if topic.compacted for model in topic.payloads}
    assert sent == set(agent.table.documents)


def test_asyncapi_has_every_topic_and_record() -> None:
    document = asyncapi()
    assert list(document["channels"]) == [topic.name for topic in TOPICS]
    received = {
        name
        for topic in TOPICS
        if f"receive-{topic.name}" in document["operations"]
        for name in document["channels"][topic.name]["messages"]
    }
    assert received == {model.__name__ for model in RECORD_TYPES.values()}


def test_the_diagram_and_the_json_show_every_topic_and_agent() -> None:
    diagram, data = mermaid(), as_json()
    assert diagram.startswith("flowchart LR\n")
    assert "turns --> agent-session" in diagram
    assert "agent-memory --> history" in diagram
    assert [topic["name"] for topic in data["topics"]] == [topic.name for topic in TOPICS]
    assert json.loads(json.dumps(data)) == data
