"""Sinks of one history that are killed, and whose machine loses its power, at random moments: while
they write, while they repair, and before `compact`."""

import random
import shutil
from contextlib import suppress
from itertools import product
from pathlib import Path

import pytest

from sinks import delta, maintenance, power_loss
from sinks.history import connect
from sinks.locations import replace
from sinks.sink_history import SharedHistory, alone
from tests.fault.test_power_loss import (
    COUNTS,
    END,
    OWNER,
    STEPS,
    Files,
    cut,
    files,
    restored,
    write,
)

ROUNDS = 5


class Killed(BaseException):
    """The process ends here."""


class Machine:
    """A folder, what of it is on the disk for sure, and after how many writes to the disk the
    process is killed."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder = folder
        self.writes_left = -1
        self._chance = chance
        self.flushed: Files = {}

    def installed(self, monkeypatch: pytest.MonkeyPatch) -> "Machine":
        monkeypatch.setattr(delta, "flush", self._flush)
        monkeypatch.setattr(power_loss, "replace", self._replace)
        return self

    def _written(self) -> None:
        if self.writes_left == 0:
            raise Killed
        self.writes_left -= 1

    def _flush(self, _: Path) -> None:
        self._written()
        self.flushed = files(self.folder)

    def _replace(self, file: Path, text: str) -> None:
        self._written()
        replace(file, text)
        self.flushed[str(file.relative_to(self.folder))] = file.read_bytes()
        for path in [self.folder / name for name in self.flushed]:
            if path.parent == file.parent and not path.exists():  # its folder is synced, too
                del self.flushed[str(path.relative_to(self.folder))]

    def lose_power(self) -> None:
        self.flushed = cut(self.flushed, files(self.folder), self._chance)
        shutil.rmtree(self.folder)
        restored(self.folder, self.flushed)


def of_a_sink(sink: SharedHistory, most: int) -> None:
    """A sink continues at its position with at most so many offsets."""
    start = sink.positions(["a"]).get("a", -1) + 1
    if start < END:
        write(sink, start, min(END, start + most))


@pytest.mark.parametrize("count", COUNTS)
def test_guarantee_3_sinks_continue_after_kills_and_losses_of_power(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(2 * count):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        machine = Machine(folder, chance).installed(monkeypatch)
        sinks: dict[str, SharedHistory] = {}

        def end(*names: str, sinks: dict[str, SharedHistory] = sinks) -> None:
            for name in names:
                sinks.pop(name)._release()  # as the end of its process does

        for _ in range(ROUNDS):
            name = chance.choice("xy")
            machine.writes_left = chance.choice((-1, 0, 1, 2, 3))
            try:
                if chance.random() < 0.15 and folder.exists():
                    end(*sinks)
                    with alone(folder):
                        maintenance.compact(folder, 0)
                if name not in sinks:
                    sinks[name] = SharedHistory(folder, OWNER)
                of_a_sink(sinks[name], chance.randint(1, 3))
            except Killed:
                if chance.random() < 0.3:
                    if name in sinks:
                        end(name)
                    continue
                end(*sinks)
                machine.lose_power()
                if chance.random() < 0.3:
                    (folder / power_loss.FLUSHED).unlink(missing_ok=True)
        end(*sinks)
        machine.writes_left = -1
        completed(folder)


def completed(folder: Path) -> None:
    """A sink writes the rest; then each table has its rows once."""
    with SharedHistory(folder, OWNER) as sink:
        of_a_sink(sink, END)
    with connect(folder, views=[*STEPS]) as db:
        for table, step in STEPS.items():
            rows = db.execute(f"SELECT src_offset FROM {table} ORDER BY ALL").fetchall()
            assert rows == [(at,) for at in range(0, END, step)], (folder.name, table)


def killed(machine: Machine, writes: int) -> None:
    """A sink writes two offsets, and is killed after so many writes to the disk."""
    machine.writes_left = writes
    sink = SharedHistory(machine.folder, OWNER)
    with suppress(Killed):
        of_a_sink(sink, 2)
    sink._release()
    machine.writes_left = -1


@pytest.mark.component
def test_a_sink_does_not_rely_on_what_killed_ones_have_not_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for writes in product(range(3), range(3), range(2)):
        for seed in range(3):
            name = "-".join(map(str, (*writes, seed)))
            machine = Machine(tmp_path / name, random.Random(seed)).installed(monkeypatch)
            killed(machine, -1)
            for left in writes:
                killed(machine, left)
            machine.lose_power()
            completed(machine.folder)


@pytest.mark.component
@pytest.mark.parametrize("writes", range(3))
def test_a_sink_does_not_rely_on_what_a_slow_one_writes_after_a_rebalance(
    writes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path / "h", random.Random(0)).installed(monkeypatch)
    killed(machine, -1)
    sink = SharedHistory(machine.folder, OWNER)
    start = sink.positions(["a"])["a"] + 1
    flushed = files(machine.folder)
    killed(machine, 1)  # after its commit to links, which nobody has flushed
    (lost,) = (name for name in files(machine.folder).keys() - flushed if "links/date" in name)
    machine.writes_left = writes
    with suppress(Killed):
        write(sink, start, start + 2)
    sink._release()
    machine.writes_left = -1
    if lost not in machine.flushed:
        (machine.folder / lost).unlink()
    completed(machine.folder)


@pytest.mark.component
def test_compact_repairs_before_it_rewrites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(tmp_path / "h", random.Random(0)).installed(monkeypatch)
    killed(machine, -1)
    killed(machine, 1)  # after the flush of its positions
    newest = max((machine.folder / "links" / "_delta_log").glob("*.json"))
    newest.write_bytes(b"")  # readers take it for a commit without files
    with alone(machine.folder):
        maintenance.compact(machine.folder, 0)
    completed(machine.folder)
