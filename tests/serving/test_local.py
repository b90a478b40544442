"""`Turnfold.local`: a server of one account's programs, shared, restarted, ended with the last.

The programs are processes of their own, which the tests hold by their stdin and kill.
"""

import asyncio
import fcntl
import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.command import OBEYING, PROGRAM, environment, turn, turnfold
from tests.serving.serving import serving
from tests.waiting import WITHIN, until
from turnfold_client import AsyncTurnfold, LocalServerError, Turnfold
from turnfold_client import local as local_server

pytestmark = pytest.mark.nightly

USES = """
    import os, sys
    from turnfold_client import Turnfold

    memory = Turnfold.local(sys.argv[1])
    for line in sys.stdin:
        if line.startswith("fork"):
            if os.fork():
                os._exit(0)
        memory.post_records([{"type": "turn", "event_id": line.strip(), "session_id": "s",
            "user_id": "maya", "occurred_at": "2026-03-01T09:30:00Z", "user_input": "I like tea"}])
        print(len(memory.session("s").conversations), flush=True)
"""


class Program:
    """A process that uses a folder's memory: each word it is told is a turn it sends."""

    def __init__(self, folder: Path, **more: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(USES), str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(**more),
        )  # fmt: skip

    def tell(self, word: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()

    def heard(self) -> int:
        """How many turns the session has, as it says when its turn was sent."""
        assert self.process.stdout
        return int(self.process.stdout.readline())

    def says(self, word: str) -> int:
        self.tell(word)
        return self.heard()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(WITHIN)

    def end(self) -> None:
        self.process.communicate(timeout=WITHIN)
        assert self.process.returncode == 0


@contextmanager
def programs(folder: Path, number: int) -> Iterator[list[Program]]:
    """Processes that start at the same moment; killed in the end, if they still run."""
    started = [Program(folder) for _ in range(number)]
    try:
        yield started
    finally:
        for one in started:
            one.kill()
            for stream in (one.process.stdin, one.process.stdout):
                assert stream
                stream.close()
        until(lambda: not is_served(folder))


def is_served(folder: Path) -> bool:
    """Whether a local server of the folder runs: it has its file locked."""
    try:
        with (folder / "_local" / "server.json").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def told(folder: Path) -> dict[str, Any]:
    """What the server that runs has said."""
    said: dict[str, Any] = json.loads((folder / "_local" / "server.json").read_text("utf-8"))
    return said


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where nothing is yet. No server may be left when the test has ended."""
    yield tmp_path / "memory"
    until(lambda: not is_served(tmp_path / "memory"))


@pytest.mark.component
def test_a_memory_is_written_and_read_and_its_server_ends_with_the_client(folder: Path) -> None:
    with Turnfold.local(folder) as memory:
        memory.post_records([turn("e1", user_id="maya", user_input="I live in Paris.")])
        assert "Paris" in memory.context("maya", query="Where do I live?").text
        assert is_served(folder)
    until(lambda: not is_served(folder))
    with Turnfold.local(str(folder)) as memory:
        assert "Paris" in memory.context("maya").text


@pytest.mark.component
def test_programs_that_start_at_once_share_one_server_until_the_last_is_killed(
    folder: Path,
) -> None:
    with programs(folder, 4) as started:
        for number, one in enumerate(started):
            one.tell(f"e{number}")
        assert max(one.heard() for one in started) == 4
        server = told(folder)
        for left in (3, 2, 1):
            started[left].kill()
            started[0].says("again")
            assert told(folder) == server
        started[0].kill()
        until(lambda: not is_served(folder))


@pytest.mark.nightly
def test_a_server_outlives_the_program_that_started_it(folder: Path) -> None:
    with programs(folder, 1) as (first,):
        first.says("e1")
        server = told(folder)
        with programs(folder, 1) as (second,):
            second.says("e2")
            first.kill()
            assert second.says("e3") == 3
            assert told(folder) == server


@pytest.mark.nightly
def test_a_program_that_comes_while_the_server_ends_gets_another(folder: Path) -> None:
    for number in range(3):
        with Turnfold.local(folder) as memory:
            memory.post_records([turn(f"e{number}")])
            assert len(memory.session("s").conversations) == number + 1


@pytest.mark.nightly
def test_a_forked_process_holds_the_server_and_has_connections_of_its_own(folder: Path) -> None:
    with programs(folder, 1) as (parent,):
        assert parent.says("e1") == 1
        server = told(folder)
        parent.tell("fork")
        assert parent.heard() == 2  # the child, which has the parent's stdin and stdout
        until(lambda: parent.process.poll() == 0)
        assert parent.says("e3") == 3
        assert told(folder) == server
        assert parent.process.stdin
        parent.process.stdin.close()  # the child ends
        until(lambda: not is_served(folder))


@pytest.mark.nightly
def test_both_of_a_forked_pair_use_one_client(folder: Path) -> None:
    pair = """
        import os, sys
        from turnfold_client import Turnfold

        memory = Turnfold.local(sys.argv[1])
        for who in ("parent", "child"):
            memory.post_records([{"type": "turn", "event_id": who, "session_id": who,
                "user_id": "maya", "occurred_at": "2026-03-01T09:30:00Z", "user_input": who}])
        child = os.fork()
        who = "parent" if child else "child"
        for _ in range(200):
            (said,) = memory.session(who).conversations
            assert said.user_input == who, said
        if child:
            assert os.waitpid(child, 0)[1] == 0
    """
    program = [
        sys.executable, "-W", "error::DeprecationWarning", "-c", textwrap.dedent(pair), str(folder),
    ]  # fmt: skip
    done = subprocess.run(program, capture_output=True, timeout=WITHIN, check=False)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.nightly
def test_the_async_client_has_the_same(folder: Path) -> None:
    async def use() -> list[str]:
        async with AsyncTurnfold.local(folder) as memory:
            await memory.post_records([turn("e1", user_input="I like tea.")])
            first = told(folder)
            os.kill(first["pid"], signal.SIGKILL)
            found = await asyncio.gather(*(memory.session("s") for _ in range(8)))
            assert told(folder)["pid"] != first["pid"]
            return [one.conversations[0].user_input or "" for one in found]

    assert asyncio.run(use()) == ["I like tea."] * 8


@pytest.mark.component
def test_a_killed_server_is_started_again_and_nobody_else_at_its_port_is_asked(
    folder: Path,
) -> None:
    with Turnfold.local(folder) as memory:
        memory.post_records([turn("e1")])
        before = told(folder)
        os.kill(before["pid"], signal.SIGKILL)
        until(lambda: not is_served(folder))
        port = httpx.URL(before["url"]).port
        assert port
        with socket.create_server(("127.0.0.1", port)) as other:
            other.setblocking(False)
            memory.post_records([turn("e2")])
            assert len(memory.session("s").conversations) == 2
            assert told(folder)["url"] != before["url"] and told(folder)["key"] != before["key"]
            with pytest.raises(BlockingIOError):
                other.accept()


@pytest.mark.nightly
def test_clients_and_threads_that_lose_their_server_start_one(folder: Path) -> None:
    with Turnfold.local(folder) as first, Turnfold.local(folder) as second:
        with ThreadPoolExecutor(8) as pool:
            for round_ in range(2):
                before = told(folder)["pid"]
                os.kill(before, signal.SIGKILL)

                def send(number: int, round_: int = round_) -> int:
                    sent = turn(f"e{round_}-{number}")
                    return (first, second)[number % 2].post_records([sent]).counts["applied"]

                assert list(pool.map(send, range(8))) == [1] * 8
                assert told(folder)["pid"] != before
        assert len(second.session("s").conversations) == 16


@pytest.mark.nightly
def test_a_starter_that_is_killed_while_it_starts_leaves_no_second_server(folder: Path) -> None:
    with programs(folder, 1) as (starter,):
        until((folder / "_local" / "server.log").exists)
        starter.kill()
        with programs(folder, 2) as others:
            for number, one in enumerate(others):
                one.tell(f"e{number}")
            assert max(one.heard() for one in others) == 2


@pytest.mark.nightly
def test_a_copy_of_a_served_folder_is_another_memory(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    with Turnfold.local(folder) as memory:
        memory.post_records([turn("e1")])
        with Turnfold.local(folder):
            pass
    until(lambda: not is_served(folder))
    with Turnfold.local(folder) as memory:
        shutil.copytree(folder / "_local", copy / "_local", copy_function=shutil.copyfile)
        with Turnfold.local(copy) as other:
            other.post_records([turn("e2")])
            assert told(copy)["pid"] != told(folder)["pid"]
            assert [one.user_input for one in other.session("s").conversations] == ["say e2"]
        assert [one.user_input for one in memory.session("s").conversations] == ["say e1"]
    until(lambda: not is_served(copy))


def test_who_has_no_key_is_refused_and_the_key_is_for_this_account(folder: Path) -> None:
    with Turnfold.local(folder):
        url = told(folder)["url"]
        assert httpx.URL(url).host == "127.0.0.1"
        assert httpx.get(f"{url}/v1/users/maya", timeout=WITHIN).status_code == 401
        assert told(folder)["key"] not in (folder / "_local" / "keys.json").read_text("utf-8")
        assert (folder / "_local").stat().st_mode & 0o777 == 0o700
        modes = {one.name: one.stat().st_mode & 0o777 for one in (folder / "_local").iterdir()}
        assert set(modes.values()) == {0o600}, modes


@pytest.mark.nightly
def test_a_folder_that_another_account_serves_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Turnfold.local(folder):
        pass
    account = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: account + 1)
    with pytest.raises(LocalServerError, match=r"belongs to another account.*serve --keys"):
        Turnfold.local(folder)


def test_a_folder_of_other_things_is_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear", "utf-8")
    with pytest.raises(LocalServerError, match=r"holds other things.*new or empty folder"):
        Turnfold.local(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["letter.txt"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LocalServerError, match=r"file/memory.*Not a directory.*can write"):
        Turnfold.local(tmp_path / "file" / "memory")
    with pytest.raises(LocalServerError, match="File exists"):
        Turnfold.local(tmp_path / "file")


def test_a_folder_without_leave_to_write_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    done = subprocess.run(
        [*OBEYING, sys.executable, "-c", textwrap.dedent(USES), closed],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment(), check=False,
    )  # fmt: skip
    error = done.stderr.splitlines()[-1]
    assert re.search(r"LocalServerError: .*closed/_local: Permission denied.*can write", error)


def test_a_memory_of_another_version_is_refused_in_the_servers_words(folder: Path) -> None:
    folder.mkdir()
    (folder / "turnfold.json").write_text('{"format": 99}\n', "utf-8")
    with pytest.raises(LocalServerError, match="format 99"):
        Turnfold.local(folder)


@pytest.mark.nightly
def test_a_folder_that_another_server_has_is_refused_until_it_ends(folder: Path) -> None:
    with serving("--history", folder) as server:
        server.post([turn("e1")])
        with pytest.raises(LocalServerError, match=r"the server has ended: .*another"):
            Turnfold.local(folder)
    with Turnfold.local(folder) as memory:
        assert len(memory.session("s").conversations) == 1


@pytest.mark.nightly
def test_a_lost_server_that_cannot_come_back_is_said_at_the_next_call(folder: Path) -> None:
    with Turnfold.local(folder) as memory:
        memory.healthz()
        os.kill(told(folder)["pid"], signal.SIGKILL)
        until(lambda: not is_served(folder))
        (folder / "turnfold.json").write_text('{"format": 99}\n', "utf-8")
        with pytest.raises(LocalServerError, match="format 99"):
            memory.healthz()
        (folder / "turnfold.json").write_text('{"format": 1}\n', "utf-8")
        memory.healthz()


def test_without_a_program_to_run_the_error_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing is downloaded and run unasked: the name on a registry may be another's."""
    for name in ("uvx", "uv", "pipx", "pip", "npx"):
        (tmp_path / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/downloaded\n", "utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(LocalServerError, match=r"on PATH: pip install 'turnfold\[serve\]'"):
        Turnfold.local(folder)
    assert not (tmp_path / "downloaded").exists()


def test_the_program_beside_this_python_comes_before_the_one_on_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert local_server.server_command() == [PROGRAM]
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    other = tmp_path / "turnfold"
    other.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert local_server.server_command() == [str(other)]


def test_who_waits_for_a_slow_start_is_told_once_why(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(local_server, "TELL_AFTER", 0.05)
    with caplog.at_level(logging.WARNING), Turnfold.local(folder) as memory:
        assert memory.healthz().status == "ok"
    assert caplog.text.count("still waiting for the server to start") == 1
    assert str(folder / "_local" / "server.log") in caplog.text


@pytest.mark.nightly
def test_settings_for_other_servers_do_not_reach_this_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNFOLD_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    monkeypatch.setenv("TURNFOLD_SERVE_KEYS", "nowhere.json")
    monkeypatch.setenv("TURNFOLD_SERVE_PORT", "1")
    monkeypatch.setenv("TURNFOLD_SERVE_EXTRACTOR", "none")
    with Turnfold.local(folder) as memory:
        memory.post_records([turn("e1", user_input="I live in Paris.")])
        assert memory.user("u").states == []


def test_a_local_server_takes_a_history_and_no_address(folder: Path) -> None:
    for more in (["--local"], ["--local", "--history", str(folder), "--port", "0"]):
        done = turnfold("serve", *more)
        assert done.code == 2 and "--local needs --history, and goes with none of" in done.err
    assert not folder.exists()


@pytest.mark.nightly
def test_a_second_local_server_is_refused(folder: Path) -> None:
    with Turnfold.local(folder) as memory:
        done = turnfold("serve", "--local", "--history", folder)
        assert done.code == 3 and "has a local server already" in done.err
        assert memory.healthz().status == "ok"


def test_a_local_server_that_nobody_holds_ends_at_once(folder: Path) -> None:
    done = turnfold("serve", "--local", "--history", folder)
    assert done.code in (0, -signal.SIGTERM), done.err
