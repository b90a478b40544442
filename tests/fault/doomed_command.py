"""A command of the command line, killed (SIGKILL) at the n-th change that its Python code makes to
files below a folder: when one is opened for writing, renamed, linked, removed."""

import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests import forked

CHANGES = frozenset(
    {"os.rename", "os.remove", "os.link", "os.rmdir", "os.truncate", "os.mkdir", "shutil.rmtree",
     "shutil.copyfile"}
)  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def called(words: list[str], folder: Path, die_at: int | None = None) -> tuple[int, list[str]]:
    """Calls a command in a folder, whose `tmp` is its folder of temporary files: the exit code, and
    the changes that it made. What it printed is in `out` and `err` there."""
    forked._server_environment()
    notes = folder / "changes"
    process = forked._context.Process(target=_call, args=(words, folder, notes, die_at))
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode, notes.read_text("utf-8").splitlines()


def _call(words: list[str], folder: Path, notes: Path, die_at: int | None) -> None:
    from streams.cli import app

    os.chdir(folder)
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    os.environ["TMPDIR"] = str(temporary)
    tempfile.tempdir = None
    for number, name in ((0, os.devnull), (1, "out"), (2, "err")):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(folder / name, flags), number)
    forked._open_standard_streams()
    changes = notes.open("w", encoding="utf-8")
    count = 0

    def look(event: str, args: tuple[Any, ...]) -> None:
        nonlocal count
        is_change = event in CHANGES or (event == "open" and (args[2] or 0) & WRITING)
        if not is_change or not isinstance(args[0], str | Path):
            return
        path = Path(folder, args[0])
        if not path.is_relative_to(folder):
            return
        count += 1
        print(event, path.relative_to(folder), file=changes, flush=True)
        if count == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)
    app(words)
