"""The next version: today's code, whose rows have one format more (docs/upgrades.md).

Its migration adds a mark to the note of each preference, so that one that is left out or applied
twice shows.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.command import Done, environment
from tests.shared_data import ROOT

TODAY, NEXT = 1, 2
NOTE = 6
"""The place of a preference's note in its row."""
COMMAND = "import sys; from streams.cli import main; sys.argv[0] = 'turnfold'; main()"
REGISTERED = """
from tests.next_format import mark
MIGRATIONS = {1: mark}
OLDEST = 1
"""


def mark(table: str, rows: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """The migration."""
    changed: dict[str, bytes | None] = {}
    for name, row in rows.items():
        if table == "users" and name.startswith("p/"):
            fields = msgspec.msgpack.decode(row)
            fields[NOTE] = (fields[NOTE] or "") + "!"
            changed[name] = msgspec.msgpack.encode(fields)
    return changed


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes this process one of the next version."""
    from streams.doctor import history
    from streams.pipeline import row_formats

    for module in (row_formats, history):
        monkeypatch.setattr(module, "ROW_FORMAT", NEXT)
    monkeypatch.setattr(row_formats, "CURRENT", row_formats.Reached(NEXT))
    monkeypatch.setattr(row_formats, "MIGRATIONS", {TODAY: mark})
    monkeypatch.setattr(row_formats, "OLDEST", TODAY)


class NextVersion:
    """Its code, in a folder of its own. `migrates`: whether it has the migration, or refuses the
    rows of today."""

    def __init__(self, folder: Path, migrates: bool = True) -> None:
        for package in ("schemas", "sinks", "streams"):
            shutil.copytree(ROOT / package, folder / package)
        module = folder / "streams/pipeline/row_formats.py"
        today = f"ROW_FORMAT = {TODAY}\n"
        source = module.read_text("utf-8")
        assert today in source
        source = source.replace(today, f"ROW_FORMAT = {NEXT}\n")
        module.write_text(source + (REGISTERED if migrates else ""), "utf-8")
        self.place: dict[str, Any] = {
            "cwd": folder,
            "env": environment(PYTHONPATH=f"{folder}:{ROOT}"),
        }

    def run(self, *args: str | Path, program: str = COMMAND) -> Done:
        """Runs a command of it to its end."""
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, args)], stdin=subprocess.DEVNULL,
            capture_output=True, timeout=300, **self.place,
        )  # fmt: skip
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *command: str, **options: Any) -> "subprocess.Popen[bytes]":
        """Starts Python with these arguments, and leaves it running."""
        place = {**self.place, "env": {**self.place["env"], **options.pop("env", {})}}
        return subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.DEVNULL, **place, **options
        )
