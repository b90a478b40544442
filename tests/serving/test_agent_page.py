"""The program of docs/agent.md runs from top to bottom and prints what the page says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import environment

PAGE = Path(__file__).parents[2] / "docs" / "agent.md"
CITED = re.compile(r"\[(\w):\w{10}\]")
DATE = re.compile(r"\((since )?[\d-]{10}\)")


def alike(text: str) -> list[str]:
    """Its lines, without what differs from run to run: ids, and today's date."""
    lines = DATE.sub(r"(\1DAY)", CITED.sub(r"[\1:ID]", text)).splitlines()
    return [line for line in lines if line]


@pytest.mark.component
def test_the_page_prints_what_it_says(tmp_path: Path) -> None:
    blocks = re.findall(r"^```(python|text)\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    program = "".join(text for kind, text in blocks if kind == "python")
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, capture_output=True, text=True, env=environment(), timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert alike(done.stdout) == alike("".join(text for kind, text in blocks if kind == "text"))
