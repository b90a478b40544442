"""An older version of the code, taken out of git, with today's libraries.

A clone without this commit (`git clone --depth 1`) has no older version: tests that need one are
left out there, and say so. Those that only need what it wrote have it in `tests/contract/golden`.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.command import Done, environment
from tests.shared_data import ROOT

FORMAT_4 = "e34fd260f3"
"""The last commit whose rows have format 4, and whose preferences do not say when they were said.
"""
COMMAND = "import sys; from streams.cli import main; sys.argv[0] = 'turnfold'; main()"


class Older:
    """The code of a commit, in a folder of its own."""

    def __init__(self, commit: str, folder: Path) -> None:
        packed = subprocess.run(
            ["git", "-C", ROOT, "archive", commit, "schemas", "sinks", "streams"],
            capture_output=True,
        )
        if packed.returncode:
            pytest.skip(f"this clone lacks commit {commit}: git fetch --unshallow")
        folder.mkdir()
        subprocess.run(["tar", "x", "-C", folder], input=packed.stdout, check=True)
        self._how: dict[str, Any] = {
            "args": [sys.executable, "-c", COMMAND],
            "cwd": folder,
            "env": environment(PYTHONPATH=str(folder)),
        }

    def run(self, *args: str | Path) -> Done:
        """Runs a command of it to its end."""
        how = {**self._how, "args": [*self._how["args"], *map(str, args)]}
        done = subprocess.run(**how, stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def start(self, *args: str | Path, **options: Any) -> "subprocess.Popen[bytes]":
        """Starts a command of it and leaves it running."""
        how = {**self._how, "args": [*self._how["args"], *map(str, args)], **options}
        return subprocess.Popen(**how, stdin=subprocess.DEVNULL)
