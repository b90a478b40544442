"""What the topics of an app id and of a generation are called."""

from streams import topology

CHANGELOG = "-changelog"
MAPPING = "-mapping-"


def sources_of(
    agent: topology.Agent, generation: str | None, maps: bool = False
) -> tuple[str, ...]:
    """The topics that an agent reads; they have the same number of partitions. `maps`: a generation
    has a mapping of its own."""
    sources = [topology.name_in(topic, generation) for topic in agent.sources]
    if maps and agent is topology.SESSION_AGENT:
        sources += [name for _, name in own_inputs(generation)]
    if generation is not None and agent is topology.MEMORY_AGENT:
        # what was posted stands among the live memory's hops
        sources += [topology.USER_SIGNALS.name, topology.own_plans(generation)]
    return tuple(sources)


def own_topics(generation: str | None) -> list[tuple[topology.Topic, str]]:
    """The topics that a generation has of its own, and what they are called: all that its workers
    write."""
    if generation is None:
        return []
    written = [topic for topic in topology.TOPICS if topic.direction != "input"]
    named = [(topic, topology.name_in(topic, generation)) for topic in written]
    return [*named, (topology.WRITE_PLANS, topology.own_plans(generation))]


def own_inputs(generation: str | None) -> list[tuple[topology.Topic, str]]:
    """The input topics of records that a generation's own mapping makes."""
    if generation is None:
        return []
    shared = (topology.TURNS, topology.RECURSIONS)
    return [(topic, f"{topic.name}.{generation}") for topic in shared]


def mapping_changelog(group: str, topic: str) -> str:
    """The topic in which a mapping notes how far it has read another one."""
    return f"{group}{MAPPING}{topic}{CHANGELOG}"


def mapped_topic(group: str, changelog: str) -> str | None:
    """The topic that a changelog of this group's mapping is about; None for any other name."""
    begin = f"{group}{MAPPING}"
    if not (changelog.startswith(begin) and changelog.endswith(CHANGELOG)):
        return None
    return changelog.removeprefix(begin).removesuffix(CHANGELOG) or None


def changelog_name(app_id: str, agent: topology.Agent) -> str:
    """The topic of an agent's rows: Faust's way to name it."""
    return f"{app_id}-{agent.table.name}{CHANGELOG}"
