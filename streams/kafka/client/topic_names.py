"""Topic names of an app id and of a generation."""

from streams import topology

CHANGELOG = "-changelog"
MAPPING = "-mapping-"


def sources_of(
    agent: topology.Agent, generation: str | None, maps: bool = False
) -> tuple[str, ...]:
    """Topics that an agent reads, all with the same number of partitions. `maps`: a generation has
    a separate mapping."""
    sources = [topology.name_in(topic, generation) for topic in agent.sources]
    if maps and agent is topology.SESSION_AGENT:
        sources += [name for _, name in own_inputs(generation)]
    if generation is not None and agent is topology.MEMORY_AGENT:
        # posted signals are among the live memory's hops
        sources += [topology.USER_SIGNALS.name, topology.own_plans(generation)]
    return tuple(sources)


def own_topics(generation: str | None) -> list[tuple[topology.Topic, str]]:
    """Separate topics of a generation, with their names: all that its workers write."""
    if generation is None:
        return []
    written = [topic for topic in topology.TOPICS if topic.direction != "input"]
    named = [(topic, topology.name_in(topic, generation)) for topic in written]
    return [*named, (topology.WRITE_PLANS, topology.own_plans(generation))]


def own_inputs(generation: str | None) -> list[tuple[topology.Topic, str]]:
    """Input topics of a generation's separate mapping."""
    if generation is None:
        return []
    shared = (topology.TURNS, topology.RECURSIONS)
    return [(topic, f"{topic.name}.{generation}") for topic in shared]


def mapping_changelog(group: str, topic: str) -> str:
    """Topic in which a mapping stores its position in another topic."""
    return f"{group}{MAPPING}{topic}{CHANGELOG}"


def mapped_topic(group: str, changelog: str) -> str | None:
    """The mapped topic of a mapping changelog of this group, or None for any other name."""
    begin = f"{group}{MAPPING}"
    if not (changelog.startswith(begin) and changelog.endswith(CHANGELOG)):
        return None
    return changelog.removeprefix(begin).removesuffix(CHANGELOG) or None


def changelog_name(app_id: str, agent: topology.Agent) -> str:
    """Topic of an agent's rows, named like Faust's."""
    return f"{app_id}-{agent.table.name}{CHANGELOG}"
