"""Native code's writes to stderr, also where stderr takes nothing: a log on a full disk."""

import subprocess
import sys
from pathlib import Path

import pytest

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
