"""The documentation says what the code does: generated pages, links, commands and records."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from schemas.events import RECORD_TYPES
from schemas.upcast import upcast
from streams.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page for place in ("*.md", "docs/*.md", "clients/*/*.md") for page in ROOT.glob(place)
)
BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")
RECORD = re.compile(r'^\{"type": .*\}$', re.MULTILINE)


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _docs(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "docs"), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_generated_pages_are_current() -> None:
    run = _docs("--check")
    assert run.returncode == 0, run.stderr


def test_a_stale_page_is_named(tmp_path: Path) -> None:
    assert _docs("--root", str(tmp_path)).returncode == 0
    page = tmp_path / "docs" / "tables.md"
    page.write_text(page.read_text("utf-8").replace("`event_id`", "`event_no`"), "utf-8")
    run = _docs("--check", "--root", str(tmp_path))
    assert run.returncode == 1
    assert "stale: docs/tables.md" in run.stderr


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_index_names_every_page() -> None:
    index = set(LINK.findall((ROOT / "docs" / "README.md").read_text("utf-8")))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert pages - index == set()


def _commands(page: Path) -> list[list[str]]:
    """The words after `turnfold` of each line of a page's shell blocks that runs it."""
    blocks = BLOCK.findall(page.read_text("utf-8"))
    lines = "\n".join(blocks).replace("\\\n", " ").replace(" | ", "\n").splitlines()
    found = (re.match(r"(?:\$ )?(?:.*&& )?(?:uv run )?turnfold (.*)", line) for line in lines)
    return [shlex.split(match[1], comments=True) for match in found if match]


def _unknown(words: list[str]) -> str | None:
    """What of a command line the program does not know, or None."""
    command: Any = app
    while isinstance(command, click.Group) and words:
        child = command.get_command(click.Context(command), words[0])
        if child is None:
            return words[0]
        command, words = child, words[1:]
    options = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    given = [word.split("=")[0] for word in words if re.match(r"--[a-z]", word)]
    return next((option for option in given if option not in options | {"--help"}), None)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_the_commands_in_examples_exist(page: Path) -> None:
    assert [words for words in _commands(page) if _unknown(words)] == []


def test_a_command_that_does_not_exist_would_be_found() -> None:
    assert _unknown(["ruin", "x"]) == "ruin"
    assert _unknown(["run", "x", "--hist", "y"]) == "--hist"


def test_the_records_in_examples_are_records() -> None:
    records = [
        json.loads(line) for page in PAGES for line in RECORD.findall(page.read_text("utf-8"))
    ]
    assert records
    for record in records:
        RECORD_TYPES[record["type"]].model_validate(upcast(record))
