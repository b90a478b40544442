"""Measures the ten published figures, and writes benchmarks/published.json (≤ 30 minutes).

    python -m benchmarks.fetch && python -m benchmarks.publish
    scripts/docs        # puts them into README.md and docs/benchmarks.md

Data is public or generated. Each figure stands beside a peer or a bare loop of the same run.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common import machine, median, note

FILE = Path(__file__).with_name("published.json")
SGD, GENERATED = "SGD", "generated"
Values = dict[str, float]
Row = dict[str, str]


class Figure(NamedTuple):
    """`read` takes what the command printed and returns the values by name."""

    name: str
    data: str
    command: tuple[str, ...]
    read: Callable[[str], Values]


def tables(text: str) -> list[list[Row]]:
    """The Markdown tables of a text: rows as column name -> cell; the first column is `""`."""
    found: list[list[Row]] = []
    head: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line[:1] == "|" else []
        if not cells:
            head = []
        elif not head:
            head = cells
            found.append([])
        elif set(cells) != {"---"}:
            found[-1].append(dict(zip(head, cells, strict=True)))
    return found


def number(cell: str) -> float:
    """The number at the beginning of a cell. Raises ValueError where there is none."""
    match = re.match(r"[\d,.]+", cell)
    if match is None:
        raise ValueError(f"{cell!r} begins with no number")
    return float(match[0].replace(",", ""))


def numbers(pattern: str, text: str) -> list[float]:
    """The groups of the first match, as numbers. Raises ValueError without a match."""
    match = re.search(pattern, text)
    if match is None:
        raise ValueError(f"no {pattern!r} in what was printed")
    return [number(group) for group in match.groups()]


def row(text: str, name: str, column: str, table: int = 0) -> float:
    """A cell of the row that begins with `name`."""
    rows = tables(text)[table]
    return next(number(one[column]) for one in rows if next(iter(one.values())) == name)


def _kills(text: str) -> Values:
    runs = re.findall(r": ([\d,]+) records \([\d,]+ turns\), (\d+) kills", text)
    if not runs or text.count("nothing lost, nothing doubled") != len(runs):
        raise ValueError("something was lost or doubled")
    records, kills = (sum(map(number, column)) for column in zip(*runs, strict=True))
    return {"records": records, "kills": kills, "lost or doubled": 0}


def _peers(text: str) -> Values:
    runs = json.loads(text)["runs"]
    if any(one["wrong"] for them in runs.values() for one in them):
        raise ValueError("a peer's outputs are wrong")
    return {
        f"{peer} {unit}": median(one[field] for one in them)
        for peer, them in runs.items()
        for field, unit in (("rate", "turns/s"), ("cpu", "CPU µs"))
    }


def _latency(text: str) -> Values:
    found = re.findall(r"^(\S+) +[\d,]+/s +p50 +([\d.]+) +p99 +([\d.]+) ms", text, re.M)
    return {
        f"{peer} {name}": float(value)
        for peer, *both in found
        for name, value in zip(("p50 ms", "p99 ms"), both, strict=True)
    }


def _run(text: str) -> Values:
    names = ("run", "bare loop")
    return {f"{name} turns/s": row(text, name, "turns/s") for name in names}


def _topology(text: str) -> Values:
    rate, cpu, broker = numbers(
        r"workers: 1: ([\d,]+) turns/s, CPU µs a turn: workers ([\d.]+), broker ([\d.]+)", text
    )
    return {"turns/s": rate, "worker CPU µs": cpu, "broker CPU µs": broker}


def _sink(text: str) -> Values:
    return {f"{name} rows/s": row(text, name, "rows/s") for name in ("sink", "bare loop")}


def _context(text: str) -> Values:
    return {
        f"{name} {column}": row(text, name, column)
        for name in ("bare uvicorn", "no question", "a question")
        for column in ("p50 ms", "p99 ms")
    }


def _quality(text: str) -> Values:
    """Of the middle size, ten users."""
    rows = tables(text)[1]
    return {f"{one['']} hit@10 %": number(one["hit@10"]) for one in rows}


def _speed(text: str) -> Values:
    rows = tables(text)[0]
    return {f"{one['']} p95 ms": number(one["p95 ms"]) for one in rows}


def _rules(text: str) -> Values:
    (sgd,) = (one for one in tables(text)[0] if one["turns"] == "SGD")
    return {
        "rules CPU µs": number(sgd["extract, CPU µs a turn"]),
        "bare loop CPU µs": number(sgd["bare loop: one dict a turn"]),
    }


PEERS = ("--peers", "ours", "kafka-streams-exactly-once", "quix-exactly-once")
BESIDE = ("--peers", "ours", "kafka-streams-exactly-once-10ms")
FIGURES = (
    Figure("peers", GENERATED, ("benchmarks.peers", "--turns", "400000", "--repeat", "1", "--json",
                                *PEERS), _peers),
    Figure("latency", GENERATED, ("benchmarks.peers.latency", "--rates", "1000", *BESIDE),
           _latency),
    Figure("topology", SGD, ("benchmarks.topology", "--turns", "200000", "--repeat", "1"),
           _topology),
    Figure("sink", SGD, ("benchmarks.sink", "--repeat", "1"), _sink),
    Figure("run", SGD, ("benchmarks.run_sgd", "--turns", "300000", "--repeat", "1"), _run),
    Figure("rules", SGD, ("benchmarks.extractor", "--repeat", "3"), _rules),
    Figure("search quality", SGD, ("benchmarks.search", "quality", "--questions", "500"), _quality),
    Figure("search speed", SGD, ("benchmarks.search", "speed", "--questions", "80"), _speed),
    Figure("context", SGD, ("benchmarks.context_load", "--rates", "200"), _context),
    Figure("kills", "SGD, tau-bench, Reflexion",
           ("tests.fault.kill_topology", "--kills", "30", "--turns", "200000",
            "--nodes-killed", "3"), _kills),
)  # fmt: skip


def measure(figure: Figure) -> dict[str, Any]:
    """Runs a figure's command. Ends the program if it fails or prints something else."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", *figure.command], stdout=subprocess.PIPE, text=True, check=False,
        env={**os.environ, "TURNFOLD_MEANING": "off"},  # search by words: no model is downloaded
    )  # fmt: skip
    command = f"python -m {' '.join(figure.command)}"
    if done.returncode:
        sys.exit(f"{command}: exit code {done.returncode}")
    try:
        values = {name: float(f"{value:.4g}") for name, value in figure.read(done.stdout).items()}
    except (ValueError, LookupError, StopIteration) as error:
        sys.exit(f"{command}: {error}; it printed\n{done.stdout}")
    seconds = round(time.monotonic() - began)
    note(f"{figure.name}: {values}, {seconds} s")
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
    return {
        "command": command, "data": figure.data, "commit": commit,
        "date": f"{datetime.now(UTC):%Y-%m-%d}", "machine": re.sub(r", load [\d.]+", "", machine()),
        "seconds": seconds, "values": values,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    names = [figure.name for figure in FIGURES]
    parser.add_argument("--only", action="append", choices=names, help="can be repeated")
    given = parser.parse_args()
    figures = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    for figure in FIGURES:
        if figure.name in (given.only or names):
            figures[figure.name] = measure(figure)
            FILE.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
