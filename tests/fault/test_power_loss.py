"""A machine that loses its power: of the files written since the last flush, any part is left.

The test takes the files as of each flush, and as of the moment before the next one. In between, a
disk keeps of each file the old content, the new one or a part of it, and either name of a new or
deleted file. RocksDB syncs its own files, except the end of its log.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sinks import delta, pointer
from sinks.digest import digest
from sinks.history import connect
from sinks.sink_history import Piece, SharedHistory
from sinks.tables import SCHEMAS, to_arrow
from streams.apps.compact_and_forget import compact, forget
from streams.files import file_runner
from streams.files.fold_sources import Runner
from tests.command import ndjson, turn

OWNER = {"sink": "s", "cluster": "c"}

Files = dict[str, bytes]
SMALL = ("turnfold.json", "turnfold.lock", "_sink.json", "_locks/threads")
"""Files that are durable on their own, or empty."""
STEPS, END = {"threads": 1, "links": 2}, 10
COUNTS = [pytest.param(16, marks=pytest.mark.component), pytest.param(160, marks=pytest.mark.soak)]


def files(folder: Path) -> Files:
    """Path -> content of each file."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class Disk:
    """Flushes of a folder: `states` has the files as of each flush, and before the next one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.states: list[tuple[Files, Files]] = []
        self._flushed: Files = {}

    def flush(self, folder: Path) -> None:
        if folder == self.folder:
            now = files(folder)
            self.states.append((self._flushed, now))
            self._flushed = now


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk(tmp_path / "h")
    for module in (delta, pointer):
        monkeypatch.setattr(module, "flush", disk.flush)
    return disk


def cut(flushed: Files, written: Files, chance: random.Random) -> Files:
    """What a disk may have after the power was lost."""
    left = {}
    for name in sorted(flushed.keys() | written.keys()):
        old, new = flushed.get(name), written.get(name)
        if name.endswith(SMALL) or old == new or ("_store/" in name and ".log" not in name):
            content = new
        elif "_store/" in name and new is not None:
            length = len(new)
            known = min(len(old or b""), length)
            content = new[: chance.choice((known, chance.randint(known, length), length))]
        elif "_store/" in name:
            content = None
        else:
            ends = (0, len(new) // 2, new.rfind(b"\n")) if new else ()
            content = chance.choice((old, new, *(new[:end] for end in ends if new)))
        if content is not None:
            left[name] = content
    return left


def restored(folder: Path, content: Files) -> Path:
    """A folder with these files."""
    for name, text in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    return folder


def cuts(disk: Disk, count: int) -> Iterator[Files]:
    """Contents of the disk at moments of all kinds."""
    chance = random.Random(11)
    for number in range(count):
        yield cut(*disk.states[number % len(disk.states)], chance)


@pytest.mark.parametrize("count", COUNTS)
def test_guarantee_3_a_run_continues_after_a_loss_of_power(
    count: int, disk: Disk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Runner, "batch_records", 3)
    turns = [turn(f"e{at}", session_id=f"s{at % 2}", user_input=f"text {at}") for at in range(9)]
    source = ndjson(tmp_path / "turns.ndjson", turns)
    file_runner.run([str(source)], disk.folder)
    undisturbed = digest(disk.folder)
    for number, content in enumerate(cuts(disk, count)):
        folder = restored(tmp_path / f"cut{number}", content)
        file_runner.run([str(source)], folder)
        assert digest(folder) == undisturbed, number


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("rewrite", [compact, lambda folder: forget(folder, "default", "u1")])
def test_guarantee_3_rewritten_tables_continue_after_a_loss_of_power(
    count: int, rewrite: Callable[[Path], object], disk: Disk, tmp_path: Path
) -> None:
    turns = [turn(f"e{at}", session_id=f"s{at % 2}", user_id=f"u{at % 2}") for at in range(9)]
    source = ndjson(tmp_path / "turns.ndjson", turns)
    file_runner.run([str(source)], disk.folder)
    disk.states.clear()
    rewrite(disk.folder)
    undisturbed = digest(disk.folder)
    for number, content in enumerate(cuts(disk, count)):
        folder = restored(tmp_path / f"cut{number}", content)
        file_runner.run([str(source)], folder)
        rewrite(folder)
        assert digest(folder) == undisturbed, number


def piece(table: str, offsets: Sequence[int]) -> Piece:
    """Rows of a table from the partition "a"."""

    def value(column: str, kind: str, offset: int) -> Any:
        return offset if column == "src_offset" else {"string": column, "bool": True}.get(kind, 1)

    columns = [(field.name, str(field.type)) for field in SCHEMAS[table]]
    rows = [tuple(value(*column, offset) for column in columns) for offset in offsets]
    return Piece("a", list(offsets), to_arrow(table, rows))


def write(sink: SharedHistory, start: int, end: int) -> None:
    """Writes the offsets from `start` on: every one to `threads`, every other one to `links`."""
    pieces = {
        name: [piece(name, [at for at in range(start, end) if at % step == 0])]
        for name, step in STEPS.items()
    }
    sink.write(pieces, {"a": end - 1}, {"a": start - 1} if start else {})


@pytest.mark.parametrize("count", COUNTS)
def test_guarantee_3_a_sink_continues_after_a_loss_of_power(
    count: int, disk: Disk, tmp_path: Path
) -> None:
    with SharedHistory(disk.folder, OWNER) as sink:
        for start in range(0, END, 2):
            write(sink, start, start + 2)
    for number, content in enumerate(cuts(disk, count)):
        folder = restored(tmp_path / f"cut{number}", content)
        with SharedHistory(folder, OWNER) as sink:
            write(sink, sink.positions(["a"]).get("a", -1) + 1, END)
        with connect(folder, views=[*STEPS]) as db:
            for name, step in STEPS.items():
                rows = db.execute(f"SELECT src_offset FROM {name} ORDER BY ALL").fetchall()
                assert rows == [(at,) for at in range(0, END, step)], (number, name)


@pytest.mark.component
def test_a_file_that_is_lost_later_is_not_written_again(tmp_path: Path) -> None:
    """It is damage, which `doctor` reports: Kafka may no longer have its records."""
    with SharedHistory(tmp_path / "h", OWNER) as one, SharedHistory(tmp_path / "h", OWNER) as two:
        write(one, 0, 3)
        write(two, 3, 4)  # no row of links: the note of the other sink's stays
    file = next((tmp_path / "h" / "links").glob("date*/*.parquet"))
    file.unlink()
    with SharedHistory(tmp_path / "h", OWNER) as sink:
        assert sink.positions(["a"]) == {"a": 3}
        assert file.name in str(sink.table("links").file_uris())  # type: ignore[union-attr]
