"""The published figures (benchmarks/published.json) as tables and plots of the docs."""

import json
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from _files import ROOT

FILE = ROOT / "benchmarks" / "published.json"
Table = Callable[[tuple[str, ...], Sequence[tuple[str, ...]]], str]
NAMES = {
    "ours": "Turnfold",
    "kafka-streams-exactly-once": "Kafka Streams, exactly_once_v2",
    "kafka-streams-exactly-once-10ms": "Kafka Streams, exactly_once_v2, commit.interval.ms=10",
    "quix-exactly-once": "Quix Streams, exactly once",
}
COLOURS = {"light": ("#1f1d1a", "#0b6e5f", "#c9c3b8"), "dark": ("#e9e5dd", "#62c7b3", "#4a463f")}
"""Theme -> text, Turnfold's bar, the other bars."""
WIDTH, LABEL, ROW = 640, 230, 30
"""Pixels: of a plot, of its labels, from one bar to the next."""


def figures() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return content


def short(value: float) -> str:
    """Three digits, or whole numbers with separators."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def headlines(table: Table) -> str:
    """The three figures of the README."""
    all_ = figures()
    kills, peers, packs = (all_[name]["values"] for name in ("kills", "peers", "context"))
    rate, streams, quix = (
        f"{peers[f'{peer} turns/s']:,.0f}"
        for peer in ("ours", "kafka-streams-exactly-once", "quix-exactly-once")
    )
    rows = [
        ("**0**", f"records lost or doubled in {kills['kills']:.0f} kills of workers, sinks and "
         "brokers"),
        (f"**{rate}**", f"turns per second, exactly once; the same job in Kafka Streams: "
         f"{streams}, in Quix Streams: {quix}"),
        (f"**{short(packs['no question p50 ms'])} ms**", "median time to compose a context, in a "
         "memory of a million facts"),
    ]  # fmt: skip
    return table(("", "measured"), rows)


def peers(table: Table) -> str:
    values, commits = figures()["peers"]["values"], figures()["latency"]["values"]
    names = [name.removesuffix(" turns/s") for name in values if name.endswith(" turns/s")]
    rows = [
        (NAMES[name], f"{values[f'{name} turns/s']:,.0f}", short(values[f"{name} CPU µs"]),
         f"{values['ours turns/s'] / values[f'{name} turns/s']:.2f}")
        for name in names
    ]  # fmt: skip
    late = [name.removesuffix(" p50 ms") for name in commits if name.endswith(" p50 ms")]
    times = [
        (NAMES[name], short(commits[f"{name} p50 ms"]), short(commits[f"{name} p99 ms"]))
        for name in late
    ]
    head = ("", "turns/s", "CPU µs per turn", "Turnfold is faster by")
    return f"{table(head, rows)}\n{table(('at 1,000 turns/s', 'p50 ms', 'p99 ms'), times)}"


def others(table: Table) -> str:
    """A row per figure: what was measured, and what it stands beside."""
    all_ = {name: figure["values"] for name, figure in figures().items()}
    run, sink, search = all_["run"], all_["sink"], all_["search speed"]
    quality, packs, rules = all_["search quality"], all_["context"], all_["rules"]
    whole, kills = all_["topology"], all_["kills"]
    rows = [
        ("records lost, and doubled, of the whole Kafka tier", "0 and 0",
         f"of {kills['records']:,.0f} records, in {kills['kills']:.0f} kills"),
        ("one worker, both agents, all outputs", f"{whole['turns/s']:,.0f} turns/s",
         f"CPU per turn: worker {short(whole['worker CPU µs'])} µs, broker "
         f"{short(whole['broker CPU µs'])} µs"),
        ("`turnfold run`, one core", f"{run['run turns/s']:,.0f} turns/s",
         f"{run['run turns/s'] / run['bare loop turns/s']:.2f} of a loop that decodes the lines "
         "and writes them as Parquet"),
        ("sink", f"{sink['sink rows/s']:,.0f} rows/s",
         f"{sink['sink rows/s'] / sink['bare loop rows/s']:.2f} of a consumer that counts"),
        ("rules, per turn of task dialogue", f"{short(rules['rules CPU µs'])} µs CPU",
         f"one dict per turn: {short(rules['bare loop CPU µs'])} µs"),
        ("right session among ten hits, 511 sessions per user",
         f"{quality['ours hit@10 %']} %",
         ", ".join(f"{name.removesuffix(' hit@10 %')} {value} %" for name, value in quality.items()
                   if name != "ours hit@10 %")),
        ("search of one user's turns, 1,000,000 events",
         f"p95 {short(search['ours, one of 1,000 users p95 ms'])} ms",
         f"of all users {short(search[ALL_USERS])} ms; bare FTS5 {short(search[BARE])} ms"),
        ("context pack over 1,000,000 states, at 200/s",
         f"p50 {short(packs['no question p50 ms'])}, p99 {short(packs['no question p99 ms'])} ms",
         f"with a query {short(packs['a question p50 ms'])} and "
         f"{short(packs['a question p99 ms'])} ms; a constant reply "
         f"{short(packs['bare uvicorn p50 ms'])} and {short(packs['bare uvicorn p99 ms'])} ms"),
    ]  # fmt: skip
    return table(("", "Turnfold", "beside it"), rows)


ALL_USERS = "ours, everybody's p95 ms"
BARE = "bare FTS5, any word, by BM25 p95 ms"


def origin(table: Table) -> str:
    """Where each figure comes from."""
    all_ = figures()
    rows = [
        (name, f"`{one['command']}`", one["data"], f"{one['commit']}, {one['date']}")
        for name, one in all_.items()
    ]
    machines = dict.fromkeys(one["machine"] for one in all_.values())
    return (
        table(("figure", "command", "data", "commit, date"), rows)
        + "\n"
        + "".join(f"Machine: {machine}.\n" for machine in machines)
    )


def plots() -> dict[str, str]:
    """Path -> SVG, for both themes."""
    all_ = figures()
    shown = {
        "throughput": ("Turns per second, exactly once", [
            (NAMES[name.removesuffix(" turns/s")], value)
            for name, value in all_["peers"]["values"].items() if name.endswith(" turns/s")
        ]),
        "latency": ("p99 latency in ms at 1,000 turns per second", [
            (NAMES[name.removesuffix(" p99 ms")].partition(", commit")[0], value)
            for name, value in all_["latency"]["values"].items() if name.endswith(" p99 ms")
        ]),
        "search": ("Right session among ten hits, in %", [
            (name.removesuffix(" hit@10 %").replace("ours", "Turnfold"), value)
            for name, value in all_["search quality"]["values"].items()
        ]),
    }  # fmt: skip
    return {
        f"docs/pictures/{name}-{theme}.svg": bars(*content, theme)
        for name, content in shown.items()
        for theme in COLOURS
    }


def bars(title: str, values: Sequence[tuple[str, float]], theme: str) -> str:
    """A plot of horizontal bars; the first one is Turnfold's."""
    ink, own, other = COLOURS[theme]
    height = ROW * (len(values) + 1) + 8
    most = max(value for _, value in values)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" font-family="system-ui, sans-serif" font-size="13" '
        f'fill="{ink}">',
        f"<title>{escape(title)}</title>",
        f'<text y="18" font-weight="600">{escape(title)}</text>',
    ]
    for place, (label, value) in enumerate(values):
        y = ROW * (place + 1)
        width = round((WIDTH - LABEL - 70) * value / most)
        colour = own if place == 0 else other
        lines += [
            f'<text y="{y + 18}">{escape(label)}</text>',
            f'<rect x="{LABEL}" y="{y + 4}" width="{width}" height="20" rx="2" fill="{colour}"/>',
            f'<text x="{LABEL + width + 8}" y="{y + 18}">{short(value)}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"
