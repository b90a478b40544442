"""Agents of streams/topology.py as plans of the transport."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from streams import topology
from streams.folds.constants import Rules
from streams.kafka.agents.memory_agent import MemoryAgent
from streams.kafka.agents.session_agent import SessionAgent
from streams.kafka.client.encryption import letter_of
from streams.kafka.client.topic_names import changelog_name, own_inputs, own_topics, sources_of
from streams.kafka.client.topic_specs import TopicSpec, spec, spec_of
from streams.kafka.transport.interfaces import AgentSpec, Processor
from streams.kafka.transport.rows import RowStore

ROW_BYTES = 100_000_000
"""Maximum row size. A larger row would block its lane forever: caps limit items, not bytes."""


def plans(
    app_id: str,
    partitions: int,
    retention: int | None,
    rules: Rules,
    extractor: str | None = None,
    generation: str | None = None,
    maps: bool = False,
) -> list[AgentSpec]:
    """Plans of both agents. `partitions`: of every topic. `retention`: microseconds after its
    latest turn until a session is stored cold, None for never. `rules`: constants of the folds; a
    lane does not start if its marker has others. `extractor` finds memory in turns (None: the one
    in each partition's marker). `generation`: all topics but the inputs are separate. `maps`:
    there is a mapping; a generation then skips records of the live mapping."""
    sessions = partial(
        SessionAgent,
        partitions=partitions,
        retention=retention,
        rules=rules,
        extractor=extractor,
        topics={name: topic.name for topic, name in own_inputs(generation)} if maps else None,
    )
    names = {name: topic.name for topic, name in own_topics(generation)}
    users = partial(
        MemoryAgent,
        partitions=partitions,
        rules=rules,
        topics=names,
        maps=maps and generation is not None,
        extractor=extractor,
    )
    return [
        _plan(app_id, topology.SESSION_AGENT, generation, sessions, partitions, maps),
        _plan(app_id, topology.MEMORY_AGENT, generation, users, partitions, maps),
    ]


def _plan(
    app_id: str,
    agent: topology.Agent,
    generation: str | None,
    processor: Callable[[int, RowStore], Processor],
    partitions: int,
    maps: bool,
) -> AgentSpec:
    documents = ", ".join(model.__name__ for model in agent.table.documents)
    return AgentSpec(
        agent.name,
        sources_of(agent, generation, maps),
        changelog_name(app_id, agent),
        processor,
        agent.table.name,
        f"rows by {agent.table.key} that are read as {documents}",
        partitions,
        sets_aside=agent is topology.SESSION_AGENT,
        letter=letter_of(agent.table.key),
    )


def changelogs(app_id: str, partitions: int) -> list[TopicSpec]:
    """Topics of the agents' rows."""
    return [
        spec(changelog_name(app_id, agent), partitions, compacted=True, max_bytes=ROW_BYTES)
        for agent in topology.AGENTS
    ]


def own_specs(generation: str | None, partitions: int, maps: bool = False) -> list[TopicSpec]:
    """Topics of a generation; `maps`: it has a separate mapping."""
    topics = own_topics(generation) + (own_inputs(generation) if maps else [])
    return [replace(spec_of(topic, partitions), name=name) for topic, name in topics]
