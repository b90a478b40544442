"""The agents of streams/topology.py as plans of the transport."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from streams import topology
from streams.folds.rules import Rules
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.memory_agent import MemoryAgent
from streams.kafka.agents.session_agent import SessionAgent
from streams.kafka.client.names import changelog_name, own_topics, sources_of
from streams.kafka.client.topics import TopicSpec, spec, spec_of
from streams.kafka.transport.processing import AgentSpec, Processor
from streams.kafka.transport.rows import RowStore

ROW_BYTES = 100_000_000
"""A row larger than its topic allows would block its lane for ever: caps count items, not bytes."""


def plans(
    app_id: str,
    partitions: int,
    retention: int | None,
    rules: Rules,
    extractor: str | None = None,
    generation: str | None = None,
    origin: type[Origin] = Origin,
) -> list[AgentSpec]:
    """Both agents. `partitions`: of every topic. `retention`: microseconds after its latest turn
    when a session goes, None for never. `rules`: what is folded under; a lane whose marker says
    other constants does not begin. `extractor` finds memory in turns; None: as each partition's
    marker says. `generation`: all topics but the inputs are its own. `origin`: what messages say of
    where they are from."""
    sessions = partial(
        SessionAgent,
        partitions=partitions,
        retention=retention,
        rules=rules,
        extractor=extractor,
        origin=origin,
    )
    own = {name: topic.name for topic, name in own_topics(generation)}
    users = partial(MemoryAgent, partitions=partitions, rules=rules, topics=own, origin=origin)
    return [
        _plan(app_id, topology.SESSION_AGENT, generation, sessions, partitions),
        _plan(app_id, topology.MEMORY_AGENT, generation, users, partitions),
    ]


def _plan(
    app_id: str,
    agent: topology.Agent,
    generation: str | None,
    processor: Callable[[int, RowStore], Processor],
    partitions: int,
) -> AgentSpec:
    documents = ", ".join(model.__name__ for model in agent.table.documents)
    return AgentSpec(
        agent.name,
        sources_of(agent, generation),
        changelog_name(app_id, agent),
        processor,
        agent.table.name,
        f"rows by {agent.table.key} that are read as {documents}",
        partitions,
    )


def changelogs(app_id: str, partitions: int) -> list[TopicSpec]:
    """The topics of the agents' rows."""
    return [
        spec(changelog_name(app_id, agent), partitions, compacted=True, max_bytes=ROW_BYTES)
        for agent in topology.AGENTS
    ]


def own_specs(generation: str | None, partitions: int) -> list[TopicSpec]:
    """The topics of a generation."""
    return [
        replace(spec_of(topic, partitions), name=name) for topic, name in own_topics(generation)
    ]
