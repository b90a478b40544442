"""The topology as a drawing: what flows where, taken from the declarations (`streams.topology`).

Columns follow from the arrows: whatever is read stands left of who reads it. Positions are in
units of the drawing; a wide one runs from left to right, a narrow one from top to bottom.
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


class Node(NamedTuple):
    """A topic, a table, or who reads one and writes another; `about`: what a topic carries. A table
    may be called as a topic is, so its `key` is another. `measured`: there is a number of it."""

    key: str
    name: str
    kind: Kind
    about: str = ""
    measured: bool = False


class Graph(NamedTuple):
    """Arrows lead from the first to the second of a pair, by their keys."""

    nodes: tuple[Node, ...]
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
    read = {topic.name for agent in AGENTS for topic in agent.sources}
    nodes = [Node(one.name, one.name, one.direction, one.about, one.name in read) for one in TOPICS]
    arrows = [(topic.name, agent.name) for agent in AGENTS for topic in agent.sources]
    arrows += [(agent.name, topic.name) for agent in AGENTS for topic in agent.outputs]
    arrows += [(topic.name, SINK) for topic in (HISTORY, DEAD_LETTERS)]
    nodes += [Node(name, name, "agent", "", True) for name in (*(one.name for one in AGENTS), SINK)]
    return Graph(tuple(nodes), tuple(arrows))


def _of_tables() -> Graph:
    inputs = [one for one in TOPICS if one.direction == "input"]
    named = [*dict.fromkeys(name for agent in AGENTS for name in agent.history), "dead_letters"]
    nodes = [Node(one.name, one.name, "input", one.about) for one in inputs]
    nodes += [Node(LOG, LOG, "internal", "", True), Node(FOLD, FOLD, "agent", "", True)]
    nodes += [Node(f"table {name}", name, "table") for name in named]
    arrows = [(one.name, LOG) for one in inputs] + [(LOG, FOLD)]
    arrows += [(FOLD, f"table {name}") for name in named]
    return Graph(tuple(nodes), tuple(arrows))


def columns(given: Graph) -> list[list[Node]]:
    """The nodes, each right of all that lead to it; what nobody reads in one column, or left of who
    reads the like."""
    into: defaultdict[str, list[str]] = defaultdict(list)
    for source, target in given.arrows:
        into[target].append(source)

    @cache
    def rank(key: str) -> int:
        return max((rank(one) + 1 for one in into[key]), default=0)

    ends = [one for one in given.nodes if one.kind in ("output", "table")]
    last = max(rank(one.key) for one in ends)
    found: defaultdict[int, list[Node]] = defaultdict(list)
    for one in given.nodes:
        found[last if one in ends else rank(one.key)].append(one)
    return [found[at] for at in sorted(found)]


@cache
def wide(tier: Tier) -> Drawing:
    """From left to right."""
    shown = columns(graph(tier))
    height = max(map(_height, shown))
    step = (WIDE - BOX) // max(1, len(shown) - 1)
    places: dict[str, Box] = {}
    for number, column in enumerate(shown):
        y = (height - _height(column)) // 2
        for one in column:
            tall = _row(one) - GAP
            places[one.key] = Box(*one, number * step, y, BOX, tall)
            y += _row(one)
    return Drawing(
        WIDE, height, tuple(places.values()), _paths(graph(tier).arrows, places, _across)
    )


@cache
def narrow(tier: Tier) -> Drawing:
    """From top to bottom, two boxes beside each other."""
    width = (NARROW - GAP) // 2
    places: dict[str, Box] = {}
    tops: set[str] = set()  # what stands first: arrows to the rest of a column would cross it
    y = 0
    for column in columns(graph(tier)):
        rows = [column[at : at + 2] for at in range(0, len(column), 2)]
        tops |= {one.key for one in rows[0]}
        for row in rows:
            tall = max(map(_row, row)) - GAP
            alone = len(row) == 1 and len(column) == 1
            for at, one in enumerate(row):
                x = (NARROW - width) // 2 if alone else at * (width + GAP)
                places[one.key] = Box(*one, x, y, width, tall)
            y += tall + GAP
        y += 2 * GAP
    height = y - 3 * GAP
    shown = [one for one in graph(tier).arrows if one[1] in tops]
    return Drawing(NARROW, height, tuple(places.values()), _paths(shown, places, _down))


def _row(one: Node) -> int:
    """Taller where a number of its own stands below its name."""
    return TALL_ROW if one.measured else ROW


def _height(column: Sequence[Node]) -> int:
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
