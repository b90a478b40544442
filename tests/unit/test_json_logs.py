"""A log line as JSON: what is said, where, and nothing else."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams.observability.logs import JsonLines
from tests.command import environment, turnfold


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A logger of its own, and what it writes."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("tests.json")
    logger.propagate = False
    logger.addHandler(handler)
    yield logger, text
    logger.removeHandler(handler)


def line(text: io.StringIO) -> Any:
    """The one line that was written."""
    (found,) = text.getvalue().splitlines()
    return json.loads(found)


def test_a_line_says_what_and_where(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = log
    extra = {"tenant": "acme", "topic": "turns", "partition": 0, "offset": 17, "payload": "private"}
    logger.warning("%s is\nlate: 「遅い」", "it", extra=extra)
    said = line(text)
    assert said.pop("time").endswith("Z")
    assert said == {
        "level": "warning", "logger": "tests.json", "message": "it is\nlate: 「遅い」",
        "tenant": "acme", "topic": "turns", "partition": 0, "offset": 17,
    }  # fmt: skip


def test_an_exception_stays_in_its_line(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = log
    try:
        raise ValueError("odd")
    except ValueError as error:
        logger.critical("ends", exc_info=error)
    said = line(text)
    assert said["exception"].splitlines()[-1] == "ValueError: odd"
    assert "session" not in said


ENDS = [
    (("kafka", "worker", "--bootstrap", "127.0.0.1:1"), 5, "no broker can be reached"),
    (("kafka", "worker", "--bootstrap", "127.0.0.1:1", "--metrics-port", "x"), 5, "no broker"),
    (("kafka", "worker", "--partitions", "0"), 2, "Invalid value for '--partitions'"),
    (("kafka", "worker", "--retention-days", "many"), 2, "--retention-days"),
    (("kafka", "sink", "--roll-mb", "x"), 2, "Invalid value for '--roll-mb'"),
    (("serve", "--history", "FILE"), 3, "FILE"),
    (("serve", "--history", "FOLDER", "--keys", "nowhere.json"), 3, "nowhere.json"),
    (("kafka", "extract", "--bootstrap", "127.0.0.1:1"), 3, "TURNFOLD_LLM_MODEL"),
]


@pytest.mark.component
@pytest.mark.parametrize(("words", "code", "why"), ENDS)
@pytest.mark.parametrize("by", ["option", "environment"])
def test_why_a_process_ends_is_json(
    words: tuple[str, ...], code: int, why: str, by: str, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("no history")
    names = {"FILE": str(file), "FOLDER": str(tmp_path / "folder")}
    told = [names.get(word, word) for word in words]
    env = environment(TURNFOLD_LOG_FORMAT="json") if by == "environment" else environment()
    done = turnfold(*told, *(["--log-format", "json"] * (by == "option")), env=env)
    lines = [json.loads(line) for line in done.err.splitlines()]
    assert done.code == code, lines
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    assert any(
        line["level"] == "error" and names.get(why, why) in line["message"] for line in lines
    ), lines


FAILING = """
import sys, threading, warnings
from streams.observability.logs import log_to_stderr
from streams import output
log_to_stderr(as_json=True)
output.note("starts")
output.fail("cannot")
warnings.warn("old")
print("half ", end="", file=sys.stderr)
print("a line", file=sys.stderr)
thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()
raise KeyError("gone")
"""


def test_whatever_comes_to_stderr_is_json() -> None:
    done = subprocess.run([sys.executable, "-c", FAILING], capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    found = [(line["level"], line["logger"], line["message"].splitlines()[0]) for line in lines]
    assert found[:2] == [("info", "turnfold", "starts"), ("error", "turnfold", "cannot")]
    assert found[2][:2] == ("warning", "py.warnings") and "old" in found[2][2]
    assert found[3] == ("error", "turnfold", "half a line")
    assert [one[0] for one in found[4:]] == ["critical", "critical"]
    assert "ZeroDivisionError" in lines[4]["exception"] and "KeyError" in lines[5]["exception"]
    assert done.returncode == 1


CODE = """
import os, sys
from sinks.panics import without_panics
try:
    with without_panics():
        os.write(2, {written!r})
        raise RuntimeError("the writer's error")
except RuntimeError as error:
    print(error)
"""
PANIC = b"\nthread 'x' panicked at y.rs:1\n"


def command(written: bytes) -> list[str]:
    return [sys.executable, "-c", CODE.format(written=written)]


@pytest.mark.parametrize("written", [PANIC, b"a note\n"])
def test_a_full_stderr_hides_no_error(written: bytes) -> None:
    with Path("/dev/full").open("wb") as full:
        child = subprocess.run(command(written), stdout=subprocess.PIPE, stderr=full)
    assert child.stdout == b"the writer's error\n"


def test_lines_before_a_panic_are_shown() -> None:
    child = subprocess.run(command(b"a note\n" + PANIC), capture_output=True)
    assert (child.stdout, child.stderr) == (b"the writer's error\n", b"a note\n")
