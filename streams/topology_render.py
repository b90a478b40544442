"""Renders the topology as a diagram and as JSON (`turnfold kafka topology`)."""

from schemas.base import JsonObject
from streams.topology import AGENTS, TOPICS, Agent, Topic


def mermaid() -> str:
    """A flowchart, left to right: topics are rounded, agents boxes, tables cylinders."""
    lines = ["flowchart LR"]
    lines += [f"  {topic.name}([{topic.name}])" for topic in TOPICS]
    for agent in AGENTS:
        name, table = f"agent-{agent.name}", agent.table.name
        lines += [
            f"  {name}[{agent.name} agent]",
            f"  {table}[({table})]",
            f"  {name} <--> {table}",
        ]
        lines += [f"  {source.name} --> {name}" for source in agent.sources]
        lines += [f"  {name} --> {output.name}" for output in agent.outputs]
    return "\n".join(lines) + "\n"


def as_json() -> JsonObject:
    """`{"topics": […], "agents": […]}`, with names of models."""
    return {
        "topics": [_topic(topic) for topic in TOPICS],
        "agents": [_agent(agent) for agent in AGENTS],
    }


def _topic(topic: Topic) -> JsonObject:
    return {
        "name": topic.name,
        "direction": topic.direction,
        "key": topic.key,
        "about": topic.about,
        "payloads": [model.__name__ for model in topic.payloads],
        "rows": list(topic.rows),
        "compacted": topic.compacted,
        "retention_days": topic.retention_days,
    }


def fold_name(agent: Agent) -> str:
    """Location of an agent's fold: "module:function"."""
    return f"{agent.fold.__module__}:{agent.fold.__name__}"


def _agent(agent: Agent) -> JsonObject:
    return {
        "name": agent.name,
        "sources": [topic.name for topic in agent.sources],
        "fold": fold_name(agent),
        "table": {
            "name": agent.table.name,
            "key": agent.table.key,
            "documents": [model.__name__ for model in agent.table.documents],
        },
        "outputs": [topic.name for topic in agent.outputs],
        "history": list(agent.history),
    }
