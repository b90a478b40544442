"""The topology as a drawing, from the declarations (`streams.topology`).

Columns follow from the arrows: a source is left of its readers. Positions are in units of the
drawing; the wide one runs from left to right, the narrow one from top to bottom.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple

from streams.serving.backends.stats import FOLD, Tier
from streams.topology import AGENTS, DEAD_LETTERS, HISTORY, TOPICS

Kind = Literal["input", "internal", "output", "agent", "table"]
SINK = "sink"
LOG = "log"
WIDE, BOX, ROW, TALL_ROW = 1100, 158, 34, 66
"""Width of the wide drawing; of a box; height of a row, with its gap, and of one with numbers."""
NARROW = 340
GAP = 8


class GraphNode(NamedTuple):
    """A topic, a table, or a component between them; `about`: contents of a topic. A table and a
    topic may have the same name, so `key` is unique. `measured`: it has a number."""

    key: str
    name: str
    kind: Kind
    about: str = ""
    measured: bool = False


class Graph(NamedTuple):
    """Arrows lead from the first to the second of a pair, by their keys."""

    nodes: tuple[GraphNode, ...]
    arrows: tuple[tuple[str, str], ...]


class Box(NamedTuple):
    """A node in its place."""

    key: str
    name: str
    kind: Kind
    about: str
    measured: bool
    x: int
    y: int
    width: int
    height: int


class Drawing(NamedTuple):
    """`paths`: each arrow as an SVG path."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    paths: tuple[str, ...]


@cache
def graph(tier: Tier) -> Graph:
    """What runs in a tier. Over files one fold does the work of all agents, and writes tables."""
    return _of_topics() if tier == "kafka" else _of_tables()


def _of_topics() -> Graph:
    source_names = {topic.name for agent in AGENTS for topic in agent.sources}
    nodes = [
        GraphNode(topic.name, topic.name, topic.direction, topic.about, topic.name in source_names)
        for topic in TOPICS
    ]
    arrows = [(topic.name, agent.name) for agent in AGENTS for topic in agent.sources]
    arrows += [(agent.name, topic.name) for agent in AGENTS for topic in agent.outputs]
    arrows += [(topic.name, SINK) for topic in (HISTORY, DEAD_LETTERS)]
    nodes += [
        GraphNode(name, name, "agent", "", True)
        for name in (*(agent.name for agent in AGENTS), SINK)
    ]
    return Graph(tuple(nodes), tuple(arrows))


def _of_tables() -> Graph:
    inputs = [topic for topic in TOPICS if topic.direction == "input"]
    named = [*dict.fromkeys(name for agent in AGENTS for name in agent.history), "dead_letters"]
    nodes = [GraphNode(topic.name, topic.name, "input", topic.about) for topic in inputs]
    nodes += [GraphNode(LOG, LOG, "internal", "", True), GraphNode(FOLD, FOLD, "agent", "", True)]
    nodes += [GraphNode(f"table {name}", name, "table") for name in named]
    arrows = [(topic.name, LOG) for topic in inputs] + [(LOG, FOLD)]
    arrows += [(FOLD, f"table {name}") for name in named]
    return Graph(tuple(nodes), tuple(arrows))


def columns(drawn_graph: Graph) -> list[list[GraphNode]]:
    """The nodes, each right of its sources; nodes without readers are in the last column."""
    into: defaultdict[str, list[str]] = defaultdict(list)
    for source, target in drawn_graph.arrows:
        into[target].append(source)

    @cache
    def rank(key: str) -> int:
        return max((rank(source) + 1 for source in into[key]), default=0)

    ends = [node for node in drawn_graph.nodes if node.kind in ("output", "table")]
    last = max(rank(node.key) for node in ends)
    ranks: defaultdict[int, list[GraphNode]] = defaultdict(list)
    for node in drawn_graph.nodes:
        ranks[last if node in ends else rank(node.key)].append(node)
    return [ranks[at] for at in sorted(ranks)]


@cache
def wide(tier: Tier) -> Drawing:
    node_columns = columns(graph(tier))
    height = max(map(_height, node_columns))
    step = (WIDE - BOX) // max(1, len(node_columns) - 1)
    places: dict[str, Box] = {}
    for number, column in enumerate(node_columns):
        y = (height - _height(column)) // 2
        for node in column:
            tall = _row(node) - GAP
            places[node.key] = Box(*node, number * step, y, BOX, tall)
            y += _row(node)
    return Drawing(
        WIDE, height, tuple(places.values()), _paths(graph(tier).arrows, places, _across)
    )


@cache
def narrow(tier: Tier) -> Drawing:
    """From top to bottom, two boxes in a row."""
    width = (NARROW - GAP) // 2
    places: dict[str, Box] = {}
    tops: set[str] = set()  # the first one: arrows to the rest of a column would cross it
    y = 0
    for column in columns(graph(tier)):
        rows = [column[at : at + 2] for at in range(0, len(column), 2)]
        tops |= {node.key for node in rows[0]}
        for row in rows:
            tall = max(map(_row, row)) - GAP
            alone = len(row) == 1 and len(column) == 1
            for at, node in enumerate(row):
                x = (NARROW - width) // 2 if alone else at * (width + GAP)
                places[node.key] = Box(*node, x, y, width, tall)
            y += tall + GAP
        y += 2 * GAP
    height = y - 3 * GAP
    arrows = [arrow for arrow in graph(tier).arrows if arrow[1] in tops]
    return Drawing(NARROW, height, tuple(places.values()), _paths(arrows, places, _down))


def _row(node: GraphNode) -> int:
    """Taller for a node with a number below its name."""
    return TALL_ROW if node.measured else ROW


def _height(column: Sequence[GraphNode]) -> int:
    return sum(map(_row, column))


def _paths(
    arrows: Iterable[tuple[str, str]], places: Mapping[str, Box], draw: Callable[[Box, Box], str]
) -> tuple[str, ...]:
    return tuple(draw(places[source], places[target]) for source, target in arrows)


def _across(source: Box, target: Box) -> str:
    x, y = source.x + source.width, source.y + source.height // 2
    to_x, to_y = target.x, target.y + target.height // 2
    half = max(16, (to_x - x) // 2)
    return f"M{x} {y}C{x + half} {y} {to_x - half} {to_y} {to_x} {to_y}"


def _down(source: Box, target: Box) -> str:
    x, y = source.x + source.width // 2, source.y + source.height
    to_x, to_y = target.x + target.width // 2, target.y
    half = max(8, (to_y - y) // 2)
    return f"M{x} {y}C{x} {y + half} {to_x} {to_y - half} {to_x} {to_y}"
