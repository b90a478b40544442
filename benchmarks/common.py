"""What the measurements share: a process of its own for each, SGD as input, one table as output."""

import argparse
import gc
import multiprocessing
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from schemas.base import JsonObject
from tests.acceptance import sgd
from tests.shared_data import dialogues

LIBRARIES = ("pydantic", "msgspec", "pyarrow", "deltalake", "rocksdict", "duckdb")


class Spent(NamedTuple):
    """What a function answered in a process of its own, and what that process used.

    Wall and CPU seconds (all threads) of the call alone; peak resident memory of the process, MB.
    """

    answer: Any
    seconds: float
    cpu: float
    peak: float


def in_process(function: Callable[..., Any], *given: Any) -> Spent:
    """Calls a module's function in a new process: nothing of one measurement warms the next."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_spend, function, given).result()


def _spend(function: Callable[..., Any], given: tuple[Any, ...]) -> Spent:
    cpu, began = time.process_time(), time.perf_counter()
    answer = function(*given)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Spent(answer, seconds, time.process_time() - cpu, peak)


def pin(cores: int) -> None:
    """Keeps this process and its children on so many cores; the last ones are the least busy."""
    allowed = sorted(os.sched_getaffinity(0))
    if not 1 <= cores <= len(allowed):
        sys.exit(f"--cores {cores}: this machine lets us use 1 to {len(allowed)}")
    os.sched_setaffinity(0, allowed[-cores:])


def median(values: Iterable[float]) -> float:
    """The median; one disturbed repetition does not move it."""
    return statistics.median(values)


def spread(values: Sequence[float]) -> str:
    """How far the repetitions lie apart, of their median."""
    return f"±{(max(values) - min(values)) / 2 / median(values):.0%}"


@contextmanager
def no_collector() -> Iterator[None]:
    """Without Python's garbage collector, as the file runner works (docs/decisions.md)."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


# --- input ------------------------------------------------------------------------------------


def sgd_path() -> Path:
    """The real dialogues. Ends the program where there are none."""
    return dialogues() or sys.exit("no dialogues here: python -m benchmarks.fetch downloads them")


def sgd_records(turns: int) -> Iterator[JsonObject]:
    """So many records of SGD: its turns, again and again as new sessions of the same users."""
    path = sgd_path()
    repeat = next(n for n in count(1) if n * 38_000 >= turns)
    return islice(sgd.records(path, repeat=repeat), turns)


def sgd_texts() -> list[list[tuple[str, str, str]]]:
    """What was said: for each dialogue its (input, answer, topic)."""
    spoken: dict[str, list[tuple[str, str, str]]] = {}
    for turn in sgd.records(sgd_path()):
        said = (turn["user_input"], turn["agent_answer"], turn["topic"])
        spoken.setdefault(turn["session_id"], []).append(said)
    return list(spoken.values())


def write_ndjson(path: Path, records: Iterable[JsonObject]) -> int:
    """Writes records as they come, one a line; answers how many."""
    encode = msgspec.json.Encoder().encode
    written = 0
    with path.open("wb", buffering=1 << 20) as file:
        for record in records:
            file.write(encode(record) + b"\n")
            written += 1
    return written


# --- command line and output ------------------------------------------------------------------


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """A parser with what all scripts take."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--work", type=Path, help="folder for temporary files (default: system's)")
    return parser


@contextmanager
def work_folder(under: Path | None) -> Iterator[Path]:
    """A folder that is gone afterwards."""
    if under is not None:
        under.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="turnfold-", dir=under) as folder:
        yield Path(folder)


def folder_size(folder: Path) -> float:
    """MB of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def show(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """One Markdown table, below it the machine; ready to be put into docs/benchmarks.md."""
    cells = [list(head), ["---"] * len(head), *([str(cell) for cell in row] for row in rows)]
    print(f"\n{title}\n")
    for row in cells:
        print(f"| {' | '.join(row)} |")
    print(f"\n{machine()}", flush=True)


def note(text: str) -> None:
    """How far the script is: to stderr."""
    print(text, file=sys.stderr, flush=True)


def machine() -> str:
    """Processor, cores, load and versions."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    models = [line.split(":", 1)[1] for line in info.splitlines() if line.startswith("model name")]
    model = models[0].strip() if models else platform.processor()
    used = len(os.sched_getaffinity(0))
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return (
        f"{model}, {os.cpu_count()} cores ({used} used), load {os.getloadavg()[0]:.1f}; "
        f"{platform.system()}, Python {platform.python_version()}, {versions}"
    )
