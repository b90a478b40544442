"""What `run` writes into a bucket, and keeps of it on this machine."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rocksdict import AccessType, Options, Rdict

from sinks.history import connect
from sinks.object_store import ObjectPath
from streams.files.access import writing
from streams.files.run_log import RunLog
from tests.acceptance.test_laws import MARKS
from tests.command import checked

Lines = list[bytes]


def grown(file: Path, lines: Sequence[bytes]) -> Path:
    """The file with more lines."""
    with file.open("ab") as out:
        out.writelines(line + b"\n" for line in lines)
    return file


def parts(lines: Lines, count: int) -> list[Lines]:
    size = len(lines) // count + 1
    return [lines[at : at + size] for at in range(0, len(lines), size)]


def counted(counts: dict[str, Any]) -> dict[str, Any]:
    """What two runs of the same records both report."""
    return {name: value for name, value in checked(counts).items() if name != "seconds"}


def values(root: Any) -> dict[str, Any]:
    with writing(root) as (store, _):
        return {name: store.value(name) for name in ("counts", "batch")}


def objects(root: ObjectPath) -> list[str]:
    """Those of the run log."""
    return sorted(key.rpartition("/")[2] for key in (root / "_run").sizes())


def doubled(root: ObjectPath) -> list[Any]:
    """Records that are there more than once."""
    sql = "SELECT src_topic, src_offset FROM events GROUP BY ALL HAVING count(*) > 1"
    with connect(root, views=["events"]) as db:
        return db.execute(sql).fetchall()


def has_only_its_base(root: ObjectPath) -> bool:
    """Whether the log has no older state that may hold what was erased."""
    base = f"{RunLog(root).newest().base:08}"
    return {name[:8] for name in objects(root) if not name.endswith(".json")} == {base}


def traces_on(machine: Path) -> list[str]:
    """The keys and values of this machine's stores in which something of Alice is."""
    traces = list[str]()
    for path in machine.glob("*/rows"):
        store = Rdict(str(path), Options(raw_mode=True), access_type=AccessType.read_only())
        try:
            assert {file.name for file in path.glob("*.sst")} == {
                Path(file["name"]).name for file in store.live_files()
            }, "a file that is no longer used may hold what was erased"
            cells = [cell for item in store.items() for cell in item if isinstance(cell, bytes)]
        finally:
            store.close()
        traces += [
            f"{path}: {mark}" for mark in MARKS if any(mark.encode() in cell for cell in cells)
        ]
    return traces


def traces_on_a_new_machine(root: ObjectPath, machine: Path) -> list[str]:
    """What a machine would have that starts with this history."""
    shutil.rmtree(machine, ignore_errors=True)
    with writing(root):
        pass
    return traces_on(machine)
