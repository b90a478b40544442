"""A disk without room is said in one line, by every command, and costs nothing but time."""

import asyncio
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from sinks.digest import digest
from streams.kafka.client.topics import ensure_topics
from tests.command import ndjson, start, turn, turnfold
from tests.fault.disk import Disk, can_mount, small_disk
from tests.kafka.history import messages, send
from tests.kafka.working import options_of, shared_settings
from tests.tiers import soaked

TOO_LONG = 120.0
NO_ROOM = "No space left on device" if can_mount() else "File too large"


def noise(number: int) -> str:
    """What compression makes no smaller."""
    return os.urandom(600).hex() + str(number)


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    """4 MB of turns, of many sessions."""
    records = [
        turn(f"e{number}", session_id=f"s{number % 40}", user_input=noise(number))
        for number in range(3_000)
    ]
    return ndjson(tmp_path / "turns.ndjson", records)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """60 MB."""
    with small_disk(tmp_path / "disk", 60) as made:
        yield made


def in_a_line(error: str) -> None:
    """Neither a traceback nor what Rust says of a panic."""
    assert NO_ROOM in error
    for sign in ("Traceback", "panicked", "backtrace", "stack", "Error("):
        assert sign not in error, error


def test_a_sink_waits_for_room_and_continues_by_itself(
    disk: Disk, turns: Path, tmp_path: Path
) -> None:
    plain, history = tmp_path / "plain", disk.folder / "history"
    assert turnfold("run", turns, "--history", plain).code == 0
    every = messages(plain)
    half = len(every) // 2
    settings = shared_settings()
    asyncio.run(ensure_topics(settings))
    asyncio.run(send(settings, every[:half]))
    options = ("--history", str(history), "--roll-seconds", "1")
    sink = start("kafka", "sink", *options_of(settings), *options)
    said = _Said(sink)
    try:
        said.hears("rows written")
        with disk.full([sink.pid]):
            asyncio.run(send(settings, every[half:]))
            said.hears(NO_ROOM)
            time.sleep(12)  # it tries again, and again
            assert sink.poll() is None
            said.read()
        said.hears("writing again after")
        deadline = time.monotonic() + TOO_LONG
        while digest(history)["tables"] != digest(plain)["tables"]:
            assert time.monotonic() < deadline, said.read()
            time.sleep(0.5)
    finally:
        sink.terminate()
        sink.wait(TOO_LONG)
        said.close()
    assert sink.returncode == 0
    in_a_line(said.text)
    assert len(re.findall(NO_ROOM, said.text)) == 1, said.text


def test_a_sink_that_is_ended_before_there_is_room_loses_nothing(
    disk: Disk, turns: Path, tmp_path: Path
) -> None:
    plain, history = tmp_path / "plain", disk.folder / "history"
    assert turnfold("run", turns, "--history", plain).code == 0
    settings = shared_settings()
    asyncio.run(ensure_topics(settings))
    at = (*options_of(settings), "--history", str(history), "--roll-seconds", "1")
    assert turnfold("kafka", "sink", *at, "--once").code == 0
    sink = start("kafka", "sink", *at)
    said = _Said(sink)
    said.hears("partitions")
    with disk.full([sink.pid]):
        asyncio.run(send(settings, messages(plain)))
        said.hears(NO_ROOM)
        sink.terminate()
        assert sink.wait(TOO_LONG) == 1
    said.close()
    in_a_line(said.text)
    assert turnfold("kafka", "sink", *at, "--once").code == 0
    assert digest(history)["tables"] == digest(plain)["tables"]


class _Said:
    """What a process says on stderr."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stderr is not None and process.stdout is not None
        self.pipe, self.out = process.stderr, process.stdout
        os.set_blocking(self.pipe.fileno(), False)
        self.text = ""

    def read(self) -> str:
        self.text += (self.pipe.read() or b"").decode()
        return self.text

    def hears(self, pattern: str) -> None:
        deadline = time.monotonic() + TOO_LONG
        while not re.search(pattern, self.read()):
            assert time.monotonic() < deadline, self.text
            time.sleep(0.05)

    def close(self) -> None:
        self.read()
        self.pipe.close()
        self.out.close()


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


if can_mount():

    @pytest.mark.parametrize("megabytes", soaked([1, 3, 2, 5], 2))
    def test_a_run_that_has_no_room_says_so_in_a_line_and_the_next_continues(
        tmp_path: Path, turns: Path, megabytes: int
    ) -> None:
        """Wherever it strikes: the marker, a table, the store's log."""
        plain = tmp_path / "plain"
        assert turnfold("run", turns, "--history", plain).code == 0
        with small_disk(tmp_path / "disk", megabytes) as disk:
            history = disk.folder / "history"
            done = turnfold("run", turns, "--history", history)
            assert done.code == 1, (megabytes, done.err)
            in_a_line(done.err)
            assert len(done.err.strip().splitlines()) == 1, done.err
            remount(disk.folder, "size=90m")
            assert turnfold("run", turns, "--history", history).code == 0
            assert digest(history)["tables"].keys() == digest(plain)["tables"].keys()
            found = turnfold(
                "sql", "--history", history, "-o", "csv",
                "SELECT count(*), count(DISTINCT event_id) FROM events",
            )  # fmt: skip
            assert found.out.splitlines()[-1] == "3000,3000"

    def test_serve_refuses_what_is_posted_until_there_is_room_and_loses_nothing(
        disk: Disk, turns: Path
    ) -> None:
        history = disk.folder / "history"
        assert turnfold("run", turns, "--history", history).code == 0
        server = start("serve", "--history", history, "--port", "0", "-o", "json")
        said = _Said(server)
        taken: list[str] = []

        def post(number: int) -> int:
            record = turn(f"posted-{number}", user_input=noise(number) * 20)
            reply = httpx.post(f"{url}/v1/records", json=record, timeout=TOO_LONG)
            if reply.status_code in (200, 202):
                taken.append(f"posted-{number}")
            return reply.status_code

        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            assert post(0) in (200, 202)
            with disk.full([server.pid]):
                refused = [post(number) for number in range(1, 60)]
                assert refused[-1] in (503, 507), refused
                time.sleep(6)
                assert server.poll() is None
                assert len(said.read().splitlines()) < 10, said.text
            deadline = time.monotonic() + TOO_LONG
            while post(1000) not in (200, 202):
                assert time.monotonic() < deadline, said.read()
                time.sleep(0.5)
        finally:
            server.terminate()
            server.wait(TOO_LONG)
            said.close()
        assert server.returncode == 0
        in_a_line(said.text)
        listed = ", ".join(f"'{one}'" for one in taken)
        found = turnfold(
            "sql", "--history", history, "-o", "csv",
            "SELECT count(*), count(DISTINCT event_id) FROM events "
            f"WHERE event_id IN ({listed})",
        )  # fmt: skip
        assert found.out.splitlines()[-1] == f"{len(taken)},{len(taken)}"

    def test_compact_without_room_says_so_in_a_line_and_the_history_stays(
        disk: Disk, turns: Path
    ) -> None:
        history = disk.folder / "history"
        assert turnfold("run", turns, "--history", history).code == 0
        more = ndjson(turns.with_name("more.ndjson"), [turn("x", user_input=noise(0))])
        assert turnfold("run", more, "--history", history).code == 0
        before = digest(history)
        with disk.full([]):
            done = turnfold("admin", "compact", "--history", history)
            assert done.code == 1, done.err
            in_a_line(done.err)
            assert digest(history) == before
        assert turnfold("admin", "compact", "--history", history).code == 0
        assert digest(history) == before

    def test_a_read_only_file_system_is_reported_in_one_line(disk: Disk, turns: Path) -> None:
        history = disk.folder / "history"
        assert turnfold("run", turns, "--history", history).code == 0
        remount(disk.folder, "ro")
        for command in (
            ("run", turns), ("admin", "compact"), ("forget", "u", "--yes"),
            ("serve", "--port", "0"),
            ("generation", "create", "g"),
        ):  # fmt: skip
            done = turnfold(*command, "--history", history)
            assert done.code == (3 if command[0] == "serve" else 1), (command, done)
            assert "Read-only file system" in done.err, (command, done)
        for reading in (
            ("show", "session", "s1"),
            ("admin", "digest"),
            ("show", "timeline", "s1"),
            ("admin", "dlq", "list"),
        ):
            done = turnfold(*reading, "--history", history)
            assert done.code == 0, (command, done)
