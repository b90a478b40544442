"""Kills `turnfold generation create --part i/N` at named places and at random, and compares.

Real commands fold a history's parts, several at once. A killed one is started again, until the
generation is complete; then it must be what one quiet run over the same file makes, and the live
one unchanged.
"""

import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from streams.files.manifest import Generation, load
from tests.command import killed, start, turnfold
from tests.fault.kill_backfill import BEGIN, NAME, STEP, Result, _compare, _end, _History

PARTS = 3
TOO_LONG = 300.0
PLACES = ("gathering", "gathered", "part", "exported", "taken", "commit 1", "commit 3", "letters")
"""Where the first kills strike, one each: the records are being gathered; they are, and no part is
begun; a part's tables are written, its store is not; a part is folded, but not noted; all parts
are, and their rows are taken over; two moments at which the tables are; before the end is noted."""


class _Parts:
    """Commands that fold the parts of one generation."""

    def __init__(self, history: _History, seed: int) -> None:
        self.history, self.chance = history, random.Random(seed)
        self.struck: Counter[str] = Counter()
        self.problems: list[str] = []

    def start(self, number: int) -> "subprocess.Popen[bytes]":
        words = ("generation", "create", NAME, "--part", f"{number}/{PARTS}")
        return start(*words, "--history", self.history.root)

    def made(self) -> Generation | None:
        return load(self.history.folder)

    def strike(self, process: "subprocess.Popen[bytes]", number: int, place: str) -> None:
        """Kills a command at a place, or at random."""
        wait = self.chance.uniform(0.3, 3.0) if place == "random" else TOO_LONG
        deadline = time.monotonic() + wait
        while process.poll() is None and time.monotonic() < deadline:
            if self._is_at(place, number):
                break
            time.sleep(0.0005)
        if killed(process):
            self.struck[place] += 1

    def _is_at(self, place: str, number: int) -> bool:
        folder = self.history.folder
        part = folder / "_source" / f"part-{number}"
        name, _, count = place.partition(" ")
        if name == "random":
            return False
        if name == "commit":
            return len([*folder.glob("*/_delta_log/*.json")]) >= int(count)
        if name == "taken":
            made = self.made()
            return made is not None and len(made.folded) == PARTS
        at = {
            "gathering": folder / "_source",
            "gathered": folder / "_source" / "files.json",
            "part": part / "links" / "_delta_log",
            "exported": part / "exported",
            "letters": folder / "sessions" / "_delta_log",
        }
        return at[name].exists()

    def check_refused(self) -> None:
        """A generation that is not complete cannot go live, and says what is missing. To be called
        while no part runs."""
        made = self.made()
        if made is None or made.ended_at is not None:
            return
        done = turnfold("generation", "promote", NAME, "--history", self.history.root)
        said = ", ".join(made.missing_parts) or "all are folded"
        if done.code != 3 or said not in done.err:
            self.problems.append(f"promote, while {said}: {done}")

    def end(self, number: int) -> None:
        """Runs a part to its end."""
        process = self.start(number)
        _, error = process.communicate(timeout=TOO_LONG)
        if process.returncode:
            self.problems.append(f"part {number}: {process.returncode} {error.decode()}")


def kill_parts(source: Path, folder: Path, kills: int, seed: int) -> Result:
    """Kills at each place, then at random in other generations, until there were so many."""
    history = _History(source, folder)
    history.grow(BEGIN)
    parts = _Parts(history, seed)
    for place in PLACES[:2]:
        parts.strike(parts.start(0), 0, place)
    others = [parts.start(1)]
    parts.strike(parts.start(0), 0, "part")
    history.grow(STEP)  # is read by the promotion only
    parts.strike(parts.start(0), 0, "exported")
    _ended(others, parts.problems)
    parts.check_refused()
    parts.end(0)
    for place in PLACES[4:]:
        parts.strike(parts.start(2), 2, place)
        parts.check_refused()
    parts.end(parts.chance.randrange(PARTS))  # any of them completes it
    while sum(parts.struck.values()) < kills:
        _end(history, "generation", "drop", "--yes", NAME)
        _at_random(parts, kills)
    _end(history, "generation", "promote", NAME)
    history.grow(STEP)
    return Result(parts.struck, history.turns, parts.problems + _compare(history, folder / "quiet"))


def _at_random(parts: _Parts, kills: int) -> None:
    """All parts at once, each killed and started again, until the generation is complete."""
    while (made := parts.made()) is None or made.ended_at is None:
        left = [n for n in range(PARTS) if made is None or n not in made.folded] or [0]
        running = {number: parts.start(number) for number in left}
        if sum(parts.struck.values()) < kills:
            victim = parts.chance.choice(left)
            parts.strike(running.pop(victim), victim, "random")
        _ended(running.values(), parts.problems)
        parts.check_refused()


def _ended(running: Iterable["subprocess.Popen[bytes]"], problems: list[str]) -> None:
    for process in running:
        _, error = process.communicate(timeout=TOO_LONG)
        if process.returncode:
            problems.append(f"a part that was not killed: {process.returncode} {error.decode()}")
