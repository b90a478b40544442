"""The real command line as a process, and small ways to look at what it left behind."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import msgspec
import pyarrow.parquet as pq
import pytest

from sinks.history import connect
from sinks.locations import Location
from tests.forked import Fork, forkable

PROGRAM = str(Path(sys.executable).with_name("turnfold"))
OBEYING = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] * (os.geteuid() == 0)
"""Before a command: it obeys permissions, also if root runs the tests (setpriv is part of
util-linux)."""
OUTCOMES = ("applied", "duplicate", "dead", "withheld")
COUNTS = ("read", *OUTCOMES, "sessions", "tasks", "users", "states", "revisions", "seconds")


class Done(NamedTuple):
    """What an ended command said."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """Its one JSON document."""
        return json.loads(self.out)


def environment(**more: str) -> dict[str, str]:
    """Ours, without what would change how a command behaves."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("TURNFOLD", "OPENAI_"))
    }
    by_meaning = {"TURNFOLD_MEANING_MODEL", "TURNFOLD_EMBED_BASE_URL"} & more.keys()
    off = {} if by_meaning else {"TURNFOLD_MEANING": "off"}  # no test fetches a model
    return kept | {"TERM": "dumb", "COLUMNS": "200"} | off | more


BY_DEFAULT = "(the default extractor)"
"""Among a command's words: the test is about what extracts where it names no extractor."""
FOLDING = (["run"], ["serve"], ["dev"], ["kafka", "worker"])


def words(*args: str | Path) -> list[str]:
    """The words of a command. One that folds turns gets `--extractor none`, unless they name an
    extractor, or its history has a choice: most tests are about something else, and the rules take
    a second of CPU to load."""
    given = [str(arg) for arg in args if arg != BY_DEFAULT]
    if len(given) < len(args) or not _folds(given) or _chooses(given):
        return given
    return [*given, "--extractor", "none"]


def _folds(given: list[str]) -> bool:
    return any(given[: len(path)] == path for path in FOLDING)


def _chooses(given: list[str]) -> bool:
    if any(one.partition("=")[0] in ("--extractor", "--help", "-h") for one in given):
        return True
    history = Path(given[given.index("--history") + 1]) if "--history" in given else None
    return history is not None and any(history.rglob("_extractor.json"))


def turnfold(
    *args: str | Path,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 300,
    **options: Any,
) -> Done:
    """Runs the command to its end. A traceback is never an answer.

    Calls that are forked share the seed of hashes: what must not depend on it calls `process`.
    """
    if options:
        return process(*args, env=env or environment(), cwd=cwd, timeout=timeout, **options)
    with TemporaryFile() as out, TemporaryFile() as err:
        with launch(*args, env=env, cwd=cwd, stdout=out, stderr=err) as call:
            try:
                code = call.wait(timeout)
            except BaseException:
                call.kill()
                raise
        out.seek(0)
        err.seek(0)
        return _done(code, out.read(), err.read())


def process(*args: str | Path, input: bytes | None = None, **options: Any) -> Done:
    """`turnfold` from the start of Python on."""
    done = subprocess.run(
        [PROGRAM, *words(*args)], input=input, stdin=subprocess.DEVNULL if input is None else None,
        capture_output=True, check=False, **{"env": environment(), "timeout": 300, **options},
    )  # fmt: skip
    return _done(done.returncode, done.stdout, done.stderr)


def _done(code: int, out: bytes, err: bytes) -> Done:
    message = err.decode(errors="replace")
    assert "Traceback" not in message, message
    return Done(code, out.decode(), message)


def answer(*args: str | Path) -> Any:
    """A command's one JSON document."""
    done = turnfold(*args, "-o", "json")
    assert done.code == 0, done.err
    return done.json()


def refused(*args: str | Path, code: int = 3) -> str:
    """What a command says that refuses, in one line."""
    done = turnfold(*args)
    assert done.code == code, (done.code, done.err)
    assert not done.out and done.err.count("\n") == 1, done.err
    return done.err


def start(*args: str | Path, **options: Any) -> "subprocess.Popen[bytes]":
    """Starts the command and leaves it running, its output in pipes; Ctrl-C is for it, although a
    shell that runs the tests in the background has it ignored."""
    return subprocess.Popen(
        [PROGRAM, *words(*args)],
        stdin=subprocess.DEVNULL,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        **{"env": environment(), "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


def launch(
    *args: str | Path,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    stdout: Any = subprocess.PIPE,
    stderr: Any = subprocess.PIPE,
) -> "subprocess.Popen[bytes]":
    """`start` without the second that Python takes to load: for a test that is not about it."""
    variables = environment() if env is None else env
    if not forkable(variables):
        return start(*args, env=variables, cwd=cwd, stdout=stdout, stderr=stderr)
    return Fork(
        [PROGRAM, *words(*args)], env=variables, cwd=cwd or Path.cwd(), stdin=subprocess.DEVNULL,
        stdout=stdout, stderr=stderr,
    )  # fmt: skip


def killed(process: "subprocess.Popen[bytes]") -> bool:
    """Kills a command that `start` made; False where it had ended before."""
    process.kill()
    _, error = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), error.decode()
    return process.returncode != 0


def folded(*files: str | Path, history: Path, strict: bool = False) -> dict[str, Any]:
    """Runs files into a history by the command line; its counts, which add up."""
    done = turnfold("run", *files, "--history", history, "-o", "json", *["--strict"] * strict)
    assert done.code == 0, done.err
    return checked(done.json())


def checked(counts: dict[str, Any]) -> dict[str, Any]:
    """Nothing vanishes: each record ended as exactly one of four."""
    assert counts["read"] == sum(counts[name] for name in OUTCOMES), counts
    return counts


def ndjson(path: Path, records: Iterable[Any]) -> Path:
    """Writes records as NDJSON."""
    encode = msgspec.json.Encoder().encode
    path.write_bytes(b"".join(encode(record) + b"\n" for record in records))
    return path


def turn(event_id: str, **fields: Any) -> dict[str, Any]:
    """A small turn of session `s`, user `u`."""
    given = {"type": "turn", "event_id": event_id, "session_id": "s", "user_id": "u"}
    return given | {"occurred_at": "2026-01-01T00:00:00Z", "user_input": f"say {event_id}"} | fields


def rows(history: Location, sql: str, *given: Any) -> list[tuple[Any, ...]]:
    """The rows of a query over the history's views."""
    with connect(history) as db:
        return db.execute(sql, list(given)).fetchall()


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder with its bytes (folders: None)."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def files_holding(folder: Path, text: str) -> list[str]:
    """The files below a folder in which a text stands: in their bytes, or in a Parquet cell."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [str(path.relative_to(folder)) for path in files if _holds(path, text)]


def _holds(path: Path, text: str) -> bool:
    content = path.read_bytes()
    if any(form in content for form in spellings(text)):
        return True
    return path.suffix == ".parquet" and _parquet_holds(path, text)


def spellings(text: str) -> list[bytes]:
    """A text as UTF-8, as JSON escapes it, and as UTF-16."""
    return [text.encode(), json.dumps(text)[1:-1].encode(), text.encode("utf-16-le")]


def _parquet_holds(path: Path, text: str) -> bool:
    with pq.ParquetFile(path) as file:
        cells = (cell for column in file.read().columns for cell in column.to_pylist())
        return any(_cell_holds(cell, text) for cell in cells)


def _cell_holds(cell: Any, text: str) -> bool:
    if isinstance(cell, bytes):
        return any(form in cell for form in spellings(text))
    if isinstance(cell, list):
        return any(_cell_holds(one, text) for one in cell)
    return isinstance(cell, str) and (text in cell or json.dumps(text)[1:-1] in cell)


def once(
    factory: pytest.TempPathFactory, worker: str, name: str, build: Callable[[Path], None]
) -> Path:
    """A folder that one of the test processes builds and all of them read."""
    base = factory.getbasetemp()
    base = base.parent if worker != "master" else base
    folder = base / f"shared-{name}"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            folder.mkdir(exist_ok=True)
            build(folder)
            (folder / "built").touch()
    return folder
