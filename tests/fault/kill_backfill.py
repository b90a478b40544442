"""Kills `turnfold generation create`, `promote` and `rollback` while a history grows, and compares.

Each attempt folds more turns into the live generation, starts a command on the other one, and sends
it SIGKILL: at a random moment, while it gathers, or at the n-th commit of the generation's tables.
In the end both generations must be what one quiet run over the same file makes.
"""

import random
import subprocess
import sys
import time
from collections import Counter
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

from sinks.digest import digest
from sinks.generation import ROOT, find, generation_path, pointer
from streams.files import file_runner
from streams.files.manifest import load
from tests.command import checked, killed, rows, start, turnfold
from tests.fault.kill_run import lines

NAME = "again"
MEANT = ("random", "gathering", "commit 1", "random", "commit 3", "gathered", "commit 4")
IN_PARTS = ("gathered", "part 1", "merge", "share 1", "part 4", "share 3")
STEP = 4_000
BEGIN = 12_000
SEVERAL = """
import sys
from streams.generations import rebuild
from streams.files.manifest import Settings
rebuild.WORTH_PARTS, rebuild.PROCESSES = 1, 2
rebuild.backfill(sys.argv[1], "again", Settings())
"""
"""A backfill that is folded by two processes, however little there is."""
PART = "part-*/links/_delta_log/*.json"
TOO_LONG = 300.0


class Result(NamedTuple):
    """Where kills struck (command and stage), and what is wrong in the end."""

    struck: Counter[str]
    turns: int
    problems: list[str]


class _History:
    """A history that grows, and its other generation."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.root = folder / "killed"
        self.file = folder / "turns.ndjson"
        self.turns = 0
        self._lines = lines(source)

    def grow(self, count: int) -> None:
        """Folds more turns into the live generation, in this process."""
        with self.file.open("ab") as out:
            out.writelines(islice(self._lines, count))
        self.turns += count
        counts = checked(file_runner.run([str(self.file)], self.root))
        assert counts["applied"] == count, counts

    @property
    def other(self) -> str:
        """The generation that is not live."""
        return ROOT if pointer(self.root).current == NAME else NAME

    @property
    def folder(self) -> Path:
        """Of the other one, which may not exist yet."""
        return self.root if self.other == ROOT else self.root / "generations" / NAME

    def commits(self) -> int:
        """How many commits the other generation's tables have, together."""
        return len([*self.folder.glob("*/_delta_log/*.json")])

    def stage(self) -> str:
        """How far it is."""
        made = load(self.folder)
        return "not begun" if made is None else made.stage


def attempt(history: _History, words: tuple[str, ...], meant: str, chance: random.Random) -> bool:
    """Starts a command and kills it as meant; False where it ended first."""
    return struck_down(start(*words, "--history", history.root), history, meant, chance)


def struck_down(
    process: "subprocess.Popen[bytes]", history: _History, meant: str, chance: random.Random
) -> bool:
    """Kills a process as meant; False where it ended first."""
    before = history.commits()
    work = history.folder / "_source"
    deadline = time.monotonic() + (chance.uniform(0.2, 2.5) if meant == "random" else TOO_LONG)
    while process.poll() is None and time.monotonic() < deadline:
        if meant == "gathering" and work.exists():
            break
        if meant == "gathered" and (work / "files.json").exists():
            break
        if meant.startswith("part") and _there(work, PART) >= int(meant[-1]):
            break
        if meant.startswith("share") and _there(work, "sharing/*") >= int(meant[-1]):
            break
        if meant == "merge" and _there(work, "part-*/exported") == 2:
            break
        if meant.startswith("commit") and history.commits() >= before + int(meant[-1]):
            break
        time.sleep(0.0005)
    return killed(process)


def _there(work: Path, pattern: str) -> int:
    """How many there are; none where the pass ends, and its folder goes, while one looks."""
    try:
        return len([*work.glob(pattern)])
    except FileNotFoundError:
        return 0


def kill_parts(source: Path, folder: Path, seed: int) -> Result:
    """Kills a first pass that several processes fold, then ends it; there are no other kills."""
    history, chance = _History(source, folder), random.Random(seed)
    history.grow(BEGIN)
    struck: Counter[str] = Counter()
    for meant in IN_PARTS:
        if struck_down(_several(history.root), history, meant, chance):
            struck[meant.split()[0]] += 1
    last = _several(history.root)
    _, error = last.communicate()
    assert last.returncode == 0, error.decode()
    _end(history, "generation", "promote", NAME)
    history.grow(STEP)
    return Result(struck, history.turns, _compare(history, folder / "quiet"))


def _several(root: Path) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", SEVERAL, str(root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def kill_backfill(source: Path, folder: Path, kills: int, seed: int) -> Result:
    """Kills backfills, then switches; ends both and compares with a quiet run."""
    history, chance = _History(source, folder), random.Random(seed)
    struck: Counter[str] = Counter()
    history.grow(STEP)
    words: tuple[str, ...] = ("generation", "create", NAME)
    for meant in cycle(MEANT):
        if sum(struck.values()) >= kills // 2 and words[1] == "create":
            _end(history, *words)
            words = ("generation", "promote", NAME)
        if (meant, words[1], history.stage()) == ("gathering", "create", "folding"):
            _end(history, *words)  # a pass that folds gathers no more: the next one will
        history.grow(STEP)
        if attempt(history, words, meant, chance):
            struck[f"{words[1]}, {history.stage()}"] += 1
        if sum(struck.values()) >= kills:
            break
        if words[1] != "create":
            words = ("generation", "promote", history.other)
    _end(history, "generation", "promote", history.other)
    history.grow(STEP)
    _end(history, "generation", "rollback")
    return Result(struck, history.turns, _compare(history, folder / "quiet"))


def _end(history: _History, *words: str) -> None:
    done = turnfold(*words, "--history", history.root)
    assert done.code == 0, done.err


def _compare(history: _History, quiet: Path) -> list[str]:
    """What is wrong; empty where nothing is. The one that is not live lacks what came last."""
    wrong = []
    checked(file_runner.run([str(history.file)], quiet))
    _end(
        history, "generation", "promote", history.other
    )  # nothing comes since: both have everything now
    expected = digest(quiet)
    for name in (ROOT, NAME):
        found = digest(generation_path(history.root, name))
        differing = [
            one for one in expected["tables"] if found["tables"][one] != expected["tables"][one]
        ]
        if differing or found["log"] != expected["log"]:
            wrong.append(f"{name} differs from the quiet run's: {differing}")
        sql = "SELECT count(*), count(DISTINCT event_id), max(src_offset) FROM events"
        events = rows(generation_path(history.root, name), sql)
        if events != [(history.turns,) * 3]:
            wrong.append(f"{name}: events {events}, not {history.turns} of each")
        if left := [path for path in (find(history.root, name) / "_source",) if path.exists()]:
            wrong.append(f"{name}: left behind: {left}")
    return wrong
