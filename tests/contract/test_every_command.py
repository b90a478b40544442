"""What goes wrong around a command is one line and its exit code, in every command.

0 done, 1 failed, 2 usage, 3 configuration, 4 data refused, 5 a dependency away, 130 interrupted.
`turnfold` fails a test that finds a traceback.
"""

import fcntl
import os
import re
import select
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from streams import cli
from streams.files.store import Store
from tests.command import (
    OBEYING,
    PROGRAM,
    Done,
    environment,
    ndjson,
    process,
    start,
    turn,
    turnfold,
)
from tests.planned import CONVERSATIONS
from tests.waiting import until

pytestmark = pytest.mark.nightly

SAMPLE = str(CONVERSATIONS)
MODEL = ("--model", "m", "--base-url", "http://127.0.0.1:1/v1")
TOO_LONG = 120.0

READERS: dict[str, tuple[str, ...]] = {
    "sql": ("SELECT 1",), "show session": ("emma-move",), "show task": ("t",),
    "show user": ("emma",), "show state": (), "why": ("x",), "show timeline": ("emma-move",),
    "search": ("Manchester",), "context": ("emma",), "admin digest": (), "export": ("emma",),
    "admin dlq list": (), "admin dlq show": ("a:0:1",), "generation list": (),
    "generation diff": ("live", "live"),
}  # fmt: skip
WRITERS: dict[str, tuple[str, ...]] = {
    "admin compact": (), "forget": ("nobody", "--yes"), "generation create": ("g",),
    "generation retract": ("g", "--session", "emma-move", "--yes"),
    "generation promote": ("root",), "generation rollback": (), "generation drop": ("g",),
    "admin dlq settle": ("--reason", "invalid"), "admin extract": MODEL,
}  # fmt: skip
MAKERS: dict[str, tuple[str, ...]] = {"run": (SAMPLE,), "serve": ("--port", "0"), "demo": ()}
"""They make a history where there is none."""
OVER_KAFKA: dict[str, tuple[str, ...]] = {
    "kafka worker": (), "kafka sink": ("--history", "h"), "kafka produce": (SAMPLE,),
    "kafka lag": (), "kafka topics": (), "kafka reset": ("turnfold",),
    "kafka repartition": ("--to", "6"), "serve": ("--port", "0"), "kafka extract": MODEL,
    "admin dlq replay": ("--from-topic",), "dev": ("--history", "h"),
}  # fmt: skip
ELSE = {
    "import", "admin catalog", "kafka acls", "kafka broker start", "kafka broker stop",
    "kafka broker status", "admin keys add", "admin keys list", "admin keys revoke",
    "kafka topology", "admin schema", "admin evaluate", "mcp", "admin config", "admin doctor",
    "kafka map", "admin size", "admin erasure-keys create", "admin erasure-keys rotate",
}  # fmt: skip


EVERY = sorted(path for path, place in cli.paths().items() if isinstance(place, str))
GROUPS = ["", *(path for path in cli.paths() if path not in EVERY)]


def call(command: str, *options: str | Path, **more: Any) -> Done:
    return turnfold(*command.split(), *options, **more)


def one_line(done: Done) -> None:
    said = [line for line in done.err.splitlines() if line.strip()]
    assert len(said) == 1, done.err
    assert said[0].startswith("turnfold: "), done.err


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("every") / "history"
    assert turnfold("run", SAMPLE, "--history", made).code == 0
    return made


def test_the_tables_here_have_every_command() -> None:
    assert set(EVERY) == {*READERS, *WRITERS, *MAKERS, *OVER_KAFKA, *ELSE}


@pytest.mark.parametrize("command", EVERY)
def test_an_option_that_is_none_is_exit_2(command: str) -> None:
    """Each command once from the start of Python on: other tests fork what is loaded."""
    assert process(*command.split(), "--no-such-option").code == 2


@pytest.mark.parametrize("command", [*READERS, *WRITERS])
def test_a_history_that_is_not_there_is_exit_3_and_not_made(command: str, tmp_path: Path) -> None:
    given = (READERS | WRITERS)[command]
    done = call(command, *given, "--history", tmp_path / "none")
    assert done.code == 3, done
    one_line(done)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [*READERS, *WRITERS, *MAKERS])
def test_a_file_or_a_strange_folder_in_place_of_a_history_is_exit_3(
    command: str, tmp_path: Path
) -> None:
    given = (READERS | WRITERS | MAKERS)[command]
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thing").write_text("x")
    for place in ("file", "folder"):
        done = call(command, *given, "--history", tmp_path / place)
        assert done.code == 3, (place, done)
        one_line(done)


@pytest.mark.parametrize("command", ["run", "admin compact", "forget", "serve", "admin extract"])
def test_rows_of_another_version_are_exit_3_and_the_way_out_is_reported(
    command: str, history: Path, tmp_path: Path
) -> None:
    old = _old(history, tmp_path)
    done = call(command, *(READERS | WRITERS | MAKERS)[command], "--history", old)
    assert done.code == 3, done
    one_line(done)
    assert "turnfold generation create" in done.err


def test_the_way_out_of_rows_of_another_version_is_one(history: Path, tmp_path: Path) -> None:
    """Reading goes on meanwhile: what it reads has no such format."""
    old = _old(history, tmp_path)
    for command, given in READERS.items():
        before = call(command, *given, "--history", history)
        assert call(command, *given, "--history", old).code == before.code
    assert call("generation create", "new", "--history", old).code == 0
    assert call("generation promote", "new", "--history", old).code == 0
    more = ndjson(tmp_path / "more.ndjson", [turn("one-more")])
    assert call("run", more, "--history", old, "-o", "json").json()["applied"] == 1
    back = call("generation rollback", "--history", old)
    assert back.code == 3


def _old(history: Path, folder: Path) -> Path:
    shutil.copytree(history, folder / "old")
    store = Store(folder / "old" / "_store")
    store.write_values({"format": 0})
    store.close()
    return folder / "old"


@pytest.mark.parametrize("command", OVER_KAFKA)
def test_a_broker_that_is_away_is_exit_5(command: str, tmp_path: Path) -> None:
    done = call(command, *OVER_KAFKA[command], "--bootstrap", "127.0.0.1:1", cwd=tmp_path)
    assert done.code == 5, done
    one_line(done)


@pytest.mark.parametrize("command", OVER_KAFKA)
def test_an_address_that_is_none_is_exit_3(command: str, tmp_path: Path) -> None:
    done = call(command, *OVER_KAFKA[command], "--bootstrap", "nowhere", cwd=tmp_path)
    assert done.code == 3, done
    one_line(done)


def test_a_broker_that_does_not_run_is_exit_5(tmp_path: Path) -> None:
    env = environment(XDG_STATE_HOME=str(tmp_path))
    assert call("kafka broker status", env=env).code == 5
    assert call("kafka broker stop", env=env).code == 0


@pytest.fixture
def mute() -> Iterator[socket.socket]:
    """Listens for connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.mark.parametrize("command", OVER_KAFKA)
def test_ctrl_c_while_a_broker_does_not_answer_is_exit_130(
    command: str, tmp_path: Path, mute: socket.socket
) -> None:
    at = f"127.0.0.1:{mute.getsockname()[1]}"
    process = start(*command.split(), *OVER_KAFKA[command], "--bootstrap", at, cwd=tmp_path)
    asked, _, _ = select.select([mute], [], [], TOO_LONG)
    assert asked and process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TOO_LONG)
    assert process.returncode == 130, err.decode()
    assert b"Traceback" not in err


@pytest.mark.parametrize("command", [("run", "-"), ("import", "openai-chat", "-")])
def test_ctrl_c_while_more_is_to_come_is_exit_130(command: tuple[str, ...], tmp_path: Path) -> None:
    more = ("--history", str(tmp_path / "h")) if command[0] == "run" else ()
    process = subprocess.Popen(
        [PROGRAM, *command, *more],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert process.stdin is not None
    pipe = process.stdin.fileno()
    os.write(pipe, b"\n")
    until(lambda: unread(pipe) == 0)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TOO_LONG)
    assert process.returncode == 130, err.decode()
    assert b"Traceback" not in err


def unread(pipe: int) -> int:
    """Bytes in a pipe that its reader has not taken."""
    count = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return int.from_bytes(count, sys.byteorder)


SAYING: dict[str, tuple[str, ...]] = {
    "sql": READERS["sql"], "show session": READERS["show session"],
    "show user": READERS["show user"], "show timeline": READERS["show timeline"],
    "search": READERS["search"], "context": READERS["context"], "admin digest": (),
    "admin dlq list": (), "generation list": (), "generation diff": READERS["generation diff"],
    "admin compact": (),
}  # fmt: skip


NOWHERE = {"No space left on device": " > /dev/full", "Bad file descriptor": " >&-"}
"""What is said of a stdout, and how a shell makes it so: a full disk, a closed stream."""


@pytest.mark.parametrize("why", NOWHERE)
@pytest.mark.parametrize("command", SAYING)
@pytest.mark.parametrize("form", ["table", "json", "csv", "ndjson"])
def test_a_stdout_that_takes_nothing_is_exit_1_and_a_line(
    command: str, form: str, history: Path, why: str
) -> None:
    if command == "context":  # a text has no columns
        form = {"table": "markdown", "csv": "text", "ndjson": "text"}.get(form, form)
    done = _into(why, *command.split(), *SAYING[command], "-o", form, "--history", str(history))
    assert done.code == 1, done
    one_line(done)
    assert done.err.startswith(f"turnfold: stdout: {why}")


@pytest.mark.parametrize("why", NOWHERE)
@pytest.mark.parametrize(
    "given",
    ["kafka topology", "admin schema", "--help", "--version", "run --help", "kafka broker stop"],
)
def test_what_needs_no_history_says_so_too(given: str, tmp_path: Path, why: str) -> None:
    done = _into(why, *given.split(), env=environment(XDG_STATE_HOME=str(tmp_path)))
    assert done.code == 1, done
    one_line(done)


def _into(why: str, *args: str, env: dict[str, str] | None = None) -> Done:
    done = subprocess.run(
        f"exec {shlex.join([PROGRAM, *args])}{NOWHERE[why]}", shell=True, stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL, env=env or environment(), timeout=TOO_LONG, check=False,
    )  # fmt: skip
    err = done.stderr.decode()
    assert "Traceback" not in err, err
    return Done(done.returncode, "", err)


@contextmanager
def read_only(root: Path) -> Iterator[None]:
    """A tree in which nothing can be written."""
    modes = {path: path.stat().st_mode for path in [root, *root.rglob("*")]}
    for path, mode in modes.items():
        path.chmod(mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    try:
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def as_owner(command: str, *options: str | Path) -> Done:
    """A command that obeys permissions, whoever runs the tests."""
    done = subprocess.run(
        [*OBEYING, PROGRAM, *command.split(), *map(str, options)],
        capture_output=True, text=True, env=environment(), timeout=TOO_LONG, check=False,
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("command", READERS)
def test_a_history_that_is_read_only_is_read(command: str, history: Path, tmp_path: Path) -> None:
    copy = tmp_path / "history"
    shutil.copytree(history, copy)
    given: tuple[str | Path, ...] = (*READERS[command], "--history", copy)
    before = call(command, *given)  # it may make an index
    with read_only(copy):
        found = as_owner(command, *given)
    assert at_any_time(found) == at_any_time(before)


def at_any_time(done: Done) -> Done:
    """What a command said, whenever it was asked: an archive says when it was made."""
    return done._replace(out=re.sub(r'"exported_at":"[^"]*"', "", done.out))


def test_a_search_says_what_a_read_only_index_lacks(history: Path, tmp_path: Path) -> None:
    copy = tmp_path / "history"
    shutil.copytree(history, copy)
    shutil.rmtree(copy / "_search", ignore_errors=True)
    given = ("Manchester", "--history", copy)

    def refused() -> str:
        with read_only(copy):
            done = as_owner("search", *given)
        assert done.code == 1, done
        one_line(done)
        assert "cannot be written (Permission denied)" in done.err and "run the search" in done.err
        return done.err

    assert call("search", *given).code == 0
    shutil.rmtree(copy / "_search")
    (copy / "_search").mkdir()
    assert "has no index of this tenant" in refused()
    assert call("search", *given).code == 0
    more = ndjson(tmp_path / "more.ndjson", [turn("m1", user_input="Manchester again")])
    assert call("run", more, "--history", copy).code == 0
    assert "lacks the newest records" in refused()
    assert "m1" in call("search", *given).out
    with read_only(copy):
        assert "m1" in as_owner("search", *given).out


@pytest.mark.parametrize("command", [*READERS, *WRITERS, *MAKERS])
def test_a_folder_without_permission_is_exit_3(command: str, history: Path, tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    shutil.copytree(history, closed / "history")
    closed.chmod(0)
    try:
        given = (READERS | WRITERS | MAKERS)[command]
        said = as_owner(command, *given, "--history", closed / "history")
    finally:
        closed.chmod(stat.S_IRWXU)
    assert said.code == 3, said
    one_line(said)
    assert "Permission denied" in said.err
