"""What the topics of an app id and of a generation are called."""

from streams import topology


def sources_of(agent: topology.Agent, generation: str | None) -> tuple[str, ...]:
    """The topics that an agent reads; they have the same number of partitions."""
    sources = [topology.name_in(topic, generation) for topic in agent.sources]
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


def changelog_name(app_id: str, agent: topology.Agent) -> str:
    """The topic of an agent's rows: Faust's way to name it."""
    return f"{app_id}-{agent.table.name}-changelog"
