"""The agents of streams/topology.py as plans of the transport."""

from collections.abc import Callable
from functools import partial

from streams import topology
from streams.extractors.naming import Extract
from streams.kafka.memory_agent import MemoryAgent
from streams.kafka.processing import Plan, Processor
from streams.kafka.rows import RowStore
from streams.kafka.session_agent import SessionAgent
from streams.kafka.topics import TopicSpec, spec

ROW_BYTES = 100_000_000
"""A row larger than its topic allows would block its lane for ever: caps count items, not bytes."""


def plans(
    app_id: str, partitions: int, retention: int | None, extract: Extract | None = None
) -> list[Plan]:
    """Both agents. `partitions`: of every topic. `retention`: microseconds after its latest turn
    when a session goes, None for never. `extract` finds memory in turns."""
    sessions = partial(SessionAgent, partitions=partitions, retention=retention, extract=extract)
    return [
        _plan(app_id, topology.SESSION_AGENT, sessions),
        _plan(app_id, topology.MEMORY_AGENT, partial(MemoryAgent, partitions=partitions)),
    ]


def _plan(
    app_id: str, agent: topology.Agent, processor: Callable[[int, RowStore], Processor]
) -> Plan:
    sources = tuple(topic.name for topic in agent.sources)
    documents = ", ".join(model.__name__ for model in agent.table.documents)
    return Plan(
        agent.name,
        sources,
        changelog_name(app_id, agent),
        processor,
        agent.table.name,
        f"rows by {agent.table.key} that are read as {documents}",
    )


def changelog_name(app_id: str, agent: topology.Agent) -> str:
    """The topic of an agent's rows: Faust's way to name it."""
    return f"{app_id}-{agent.table.name}-changelog"


def changelogs(app_id: str, partitions: int) -> list[TopicSpec]:
    """The topics of the agents' rows."""
    return [
        spec(changelog_name(app_id, agent), partitions, compacted=True, max_bytes=ROW_BYTES)
        for agent in topology.AGENTS
    ]
