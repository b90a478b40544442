"""ACLs that each process needs: `turnfold kafka acls`.

Tests run each process under a principal with exactly these ACLs. Read and Write imply Describe. A
process that has to create a missing topic also needs Create on it.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from streams.kafka.client.topic_names import changelog_name, own_topics, sources_of
from streams.kafka.sink.options import SOURCES as SUNK
from streams.kafka.tools.produce import INPUTS
from streams.kafka.tools.replay import READ as REPLAYED
from streams.topology import AGENTS, DEAD_LETTERS, TOPICS, TURNS, WRITE_PLANS, Topic

Resource = Literal["topic", "group", "transactional id"]
ANY = "*"
"""Suffix of a name prefix (Kafka's pattern type PREFIXED)."""


class Acl(NamedTuple):
    """Operations of a process on resources of these names, without the topic prefix."""

    resource: Resource
    names: tuple[str, ...]
    operations: tuple[str, ...]


def _named(topics: Iterable[Topic]) -> tuple[str, ...]:
    return tuple(topic.name for topic in topics)


def _changelogs(group: str) -> tuple[str, ...]:
    return tuple(changelog_name(group, agent) for agent in AGENTS)


def worker(app_id: str = "turnfold", generation: str | None = None) -> tuple[Acl, ...]:
    """`worker`; also of a generation."""
    group = f"{app_id}.{generation}" if generation else app_id
    sources = tuple(
        dict.fromkeys(name for agent in AGENTS for name in sources_of(agent, generation))
    )
    own_names = [name for _, name in own_topics(generation)]
    written = own_names or [topic.name for agent in AGENTS for topic in agent.outputs]
    return (
        Acl("topic", sources, ("Read",)),
        Acl("topic", tuple(dict.fromkeys(written)), ("Write",)),
        Acl("topic", _changelogs(group), ("Read", "Write")),
        Acl(
            "topic",
            (*_named(TOPICS), *_changelogs(group), *own_names),
            ("Describe", "DescribeConfigs"),
        ),
        Acl("group", (group,), ("Read",)),
        Acl("transactional id", (f"{group}-{ANY}",), ("Write",)),
    )


def serve(app_id: str = "turnfold") -> tuple[Acl, ...]:
    """`serve --bootstrap`: reads the workers' tables, sends posted records, reads pending records
    of a session or user, and exports the lag of workers and sinks."""
    sources = {topic.name: topic for agent in AGENTS for topic in agent.sources}.values()
    return (
        Acl("topic", (*_changelogs(app_id), *_named(sources)), ("Read",)),
        Acl("topic", _named(INPUTS), ("Write",)),
        Acl("topic", _named(SUNK), ("Describe",)),
        Acl("group", (app_id, "sink"), ("Describe",)),
    )


def extract(group: str = "GROUP") -> tuple[Acl, ...]:
    return (
        Acl("topic", _named((TURNS,)), ("Read", "DescribeConfigs")),
        Acl("topic", _named((WRITE_PLANS,)), ("Write", "DescribeConfigs")),
        Acl("group", (group,), ("Read",)),
        Acl("transactional id", (f"{group}-{ANY}",), ("Write",)),
    )


def reset(app_id: str = "turnfold") -> tuple[Acl, ...]:
    return (
        Acl("topic", _changelogs(app_id), ("Describe", "Delete")),
        Acl("group", (app_id,), ("Describe", "Delete")),
    )


SINK = (
    Acl("topic", _named(SUNK), ("Read", "DescribeConfigs")),
    Acl("group", ("sink",), ("Read",)),
)
PRODUCE = (Acl("topic", _named(INPUTS), ("Write", "DescribeConfigs")),)
REPLAY = (
    Acl("topic", _named(REPLAYED), ("Write", "DescribeConfigs")),
    Acl("topic", _named((DEAD_LETTERS,)), ("Read", "Write", "DescribeConfigs")),
)
SETTLE = (Acl("topic", _named((DEAD_LETTERS,)), ("Write", "DescribeConfigs")),)
LAG = (
    Acl("topic", _named(TOPICS), ("Describe",)),
    Acl("group", (ANY,), ("Describe",)),
)


def topics(app_id: str = "turnfold") -> tuple[Acl, ...]:
    return (Acl("topic", (*_named(TOPICS), *_changelogs(app_id)), ("Describe", "DescribeConfigs")),)


def doctor(app_id: str = "turnfold") -> tuple[Acl, ...]:
    return (
        *topics(app_id),
        Acl("topic", _changelogs(app_id), ("Read",)),
        Acl("group", (app_id,), ("Describe",)),
    )


ALL = (
    Acl("topic", (ANY,), ("All",)),
    Acl("group", (ANY,), ("All",)),
    Acl("transactional id", (ANY,), ("All",)),
)

PROCESSES: dict[str, Callable[[str], tuple[Acl, ...]]] = {
    "worker": worker, "serve": serve, "doctor": doctor, "topics": topics, "reset": reset,
    "sink": lambda _: SINK, "extract": lambda _: extract(),
    "produce": lambda _: PRODUCE, "lag": lambda _: LAG, "dlq replay": lambda _: REPLAY,
    "dlq settle": lambda _: SETTLE, "repartition": lambda _: ALL, "generation drop": lambda _: ALL,
}  # fmt: skip
"""Command -> the ACLs that it needs, by app id."""


class Grant(NamedTuple):
    """Operations on one resource, or on all with a name prefix."""

    resource: Resource
    name: str
    pattern: Literal["literal", "prefixed"]
    operations: tuple[str, ...]

    def command(self, bootstrap: str, principal: str) -> str:
        """`kafka-acls.sh` for it."""
        operations = " ".join(f"--operation {operation}" for operation in self.operations)
        return (
            f"kafka-acls.sh --bootstrap-server {bootstrap} --add --allow-principal "
            f"{shlex.quote(principal)} {operations} --{self.resource.replace(' ', '-')} "
            f"{shlex.quote(self.name)} --resource-pattern-type {self.pattern}"
        )


def grants(acls: Iterable[Acl], prefix: str) -> Iterator[Grant]:
    """One for each resource, with the topic prefix."""
    for acl in acls:
        for name in acl.names:
            full = prefix + name.removesuffix(ANY)
            is_prefix = name.endswith(ANY) and full != ""  # Kafka's own `*` is literal
            pattern: Literal["literal", "prefixed"] = "prefixed" if is_prefix else "literal"
            yield Grant(acl.resource, full or ANY, pattern, acl.operations)
