"""`turnfold dev`: all parts by one command, ended by one Ctrl-C."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from streams.sample import CONVERSATIONS
from tests.command import (
    BY_DEFAULT,
    PROGRAM,
    environment,
    folded,
    ndjson,
    rows,
    start,
    turn,
    turnfold,
)
from tests.llm.endpoint import Endpoint, Reply, completion, whole
from tests.llm.endpoint import Request as Prompt

TOO_LONG = 120.0
SQL = """SELECT (SELECT count(*) FROM session_current), (SELECT count(*) FROM events),
                (SELECT count(*) FROM plans), (SELECT count(*) FROM state_current)"""
SAMPLE = str(CONVERSATIONS)
DEMO = ("dev", "--http-port", "0", "--demo", BY_DEFAULT)


@pytest.fixture
def dev(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """The command, running; its parts are gone afterwards."""
    running = start("dev", "--history", tmp_path / "memory", "--http-port", "0", BY_DEFAULT)
    try:
        with running:
            yield running
            running.send_signal(signal.SIGINT)
    finally:
        running.kill()


def test_dev_runs_all_parts_and_ctrl_c_ends_them(
    dev: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    assert dev.stderr is not None
    said = _await(dev, rb"Kafka at (\S+);")
    bootstrap = re.search(r"Kafka at (\S+);", said)
    assert bootstrap
    said += "" if "answers" in said else _await(dev, rb"http://\S+ answers")
    assert len(said.splitlines()) <= 10, said
    url = re.search(r"(http://\S+) answers", said)
    assert url
    assert turnfold("kafka", "produce", SAMPLE, "--bootstrap", bootstrap[1]).code == 0
    done = turnfold("run", SAMPLE, "--history", tmp_path / "by-file", BY_DEFAULT)
    assert done.code == 0, done.err
    deadline = time.monotonic() + TOO_LONG
    expected = rows(tmp_path / "by-file", SQL)
    while not _is_there(tmp_path / "memory", expected):
        assert time.monotonic() < deadline, dev.stderr.read()
        time.sleep(0.3)
    with urlopen(f"{url[1]}/v1/sessions/emma-move", timeout=TOO_LONG) as reply:
        assert json.load(reply)["session_id"] == "emma-move"
    metrics = re.findall(r"metrics of the \w+: (\S+)", said)
    assert len(metrics) == 2
    for at in metrics:
        with urlopen(at, timeout=TOO_LONG) as reply:
            assert b"turnfold_ready 1.0" in reply.read()
    children = _children(dev.pid)
    assert len(children) >= 4
    dev.send_signal(signal.SIGINT)
    assert dev.wait(TOO_LONG) == 0
    assert [pid for pid in children if Path(f"/proc/{pid}").exists()] == []


def test_dev_shows_the_demo_and_refuses_to_mix_it_with_others(tmp_path: Path) -> None:
    folded(ndjson(tmp_path / "own.ndjson", [turn("own")]), history=tmp_path / "own")
    refused = turnfold("dev", "--history", tmp_path / "own", "--demo")
    assert refused.code == 2 and "has a history of its own" in refused.err
    with start(*DEMO, "--history", tmp_path / "memory") as running:
        try:
            said = _await(running, rb"the demo's people: (\S+)")
            page = re.search(r"the demo's people: (\S+)", said)
            assert page
            if "answers" not in said:
                _await(running, rb"http://\S+ answers")
            asked = Request(page[1], headers={"Accept": "text/html"})
            deadline = time.monotonic() + 2 * TOO_LONG
            while "Lives in Manchester" not in _page(asked):
                assert time.monotonic() < deadline
                time.sleep(0.3)
            assert "data-tour" in _page(asked)
            running.send_signal(signal.SIGINT)
            assert running.wait(TOO_LONG) == 0
        finally:
            running.kill()


def _page(asked: Request) -> str:
    try:
        with urlopen(asked, timeout=TOO_LONG) as reply:
            text: str = reply.read().decode()
            return text
    except (HTTPError, URLError):  # not ready yet
        return ""


def _is_there(history: Path, expected: list[tuple[Any, ...]]) -> bool:
    return (history / "events").exists() and rows(history, SQL) == expected


def _await(dev: "subprocess.Popen[bytes]", pattern: bytes) -> str:
    """What it says on stderr, until that is there."""
    assert dev.stderr is not None
    os.set_blocking(dev.stderr.fileno(), False)
    deadline, said = time.monotonic() + TOO_LONG, b""
    while not re.search(pattern, said):
        assert dev.poll() is None, said.decode()
        assert time.monotonic() < deadline, said.decode()
        said += dev.stderr.read() or b""
        time.sleep(0.05)
    return said.decode()


def _children(pid: int) -> list[int]:
    done = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, check=True)
    return [int(one) for one in done.stdout.split()]


def test_dev_asks_a_model_beside_the_worker(tmp_path: Path) -> None:
    """The rules at once, then the model's plan in their place; the choice is remembered."""
    said = [turn(f"e{n}", user_input="I live in Porto.", session_id=f"s{n}") for n in range(2)]

    def better(request: Prompt) -> Reply:
        events = [one["event_id"] for one in request.data["turns"]]
        update = {"kind": "fact", "op": "upsert", "state_id": None,
                  "body_text": "Lives in Porto, Portugal.", "confidence": 0.9,
                  "evidence_event_ids": events, "reason": "the user said so"}  # fmt: skip
        return completion(whole(states=[update]))

    history = tmp_path / "memory"
    with Endpoint(better) as asked:
        told = {"BASE_URL": asked.url, "MODEL": "test", "IDLE_SECONDS": "0.5"}
        env = environment(**{f"TURNFOLD_LLM_{name}": value for name, value in told.items()})
        for number, chosen in enumerate((["--extractor", "llm"], [])):
            file = ndjson(tmp_path / "turns.ndjson", [said[number]])
            command = [PROGRAM, "dev", "--history", str(history), "--http-port", "0", *chosen]
            running = subprocess.Popen(command, stderr=subprocess.PIPE, env=env)
            assert running.stderr is not None
            try:
                bootstrap = re.search(r"Kafka at (\S+);", _await(running, rb"Kafka at (\S+);"))
                assert bootstrap
                assert turnfold("kafka", "produce", file, "--bootstrap", bootstrap[1]).code == 0
                deadline = time.monotonic() + 2 * TOO_LONG
                wanted = ["llm/test", "rules"] * (number + 1)
                while _made_by(history) != sorted(wanted):
                    assert time.monotonic() < deadline, _made_by(history)
                    time.sleep(0.3)
            finally:
                running.send_signal(signal.SIGINT)
                code = running.wait(TOO_LONG)
                running.stderr.close()
            assert code == 0
        assert len(asked.requests) == 2
    current = "SELECT body_text FROM state_current WHERE status = 'active'"
    assert rows(history, current) == [("Lives in Porto, Portugal.",)] * 2


def _made_by(history: Path) -> list[str]:
    if not (history / "plans").exists():
        return []
    return [name for (name,) in rows(history, "SELECT extractor_name FROM plans ORDER BY 1")]
