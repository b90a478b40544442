"""The documentation says what the code does: generated pages, links, commands and records."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from pydantic import BaseModel

from schemas.dead_letters import REASONS
from schemas.events import RECORD_TYPES
from schemas.rows import TABLES, Source
from schemas.upcast import upcast
from streams import cli
from streams.cli import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    page for place in ("*.md", "docs/*.md", "clients/*/*.md") for page in ROOT.glob(place)
)
BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#]+)")
NAMED = re.compile(r"`(?:turnfold )?([a-z]+(?: [a-z-]+)*(?: --[a-z-]+)+)`")
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
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
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


def _resolves(words: list[str]) -> bool:
    """Whether words begin with a command or name a group."""
    paths = cli.paths()
    path = ""
    for word in words:
        path = f"{path} {word}".strip()
        if path not in paths:
            return False
        if isinstance(paths[path], str):
            return True
    return bool(path)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_the_commands_in_examples_exist(page: Path) -> None:
    assert [words for words in _commands(page) if _unknown(words)] == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_the_options_that_a_sentence_names_exist(page: Path) -> None:
    """`command --option`, wherever it stands; a name of the tree is written from its top."""
    names = {word for path in cli.paths() for word in path.split()}
    named = [found.split() for found in NAMED.findall(page.read_text("utf-8"))]
    assert [words for words in named if words[0] in names and _unknown(words)] == []


TEXTS = [
    *PAGES,
    *(
        file
        for place in ("streams", "sinks", "schemas", "clients", "docs", "examples", "benchmarks",
                      "tests", "scripts", ".ci")
        for file in sorted((ROOT / place).rglob("*"))
        if file.suffix in (".py", ".ts", ".html", ".tpl", ".txt", ".yaml", ".yml", ".json", "")
        and file.is_file() and not {"node_modules", "dist", "__pycache__"} & {*file.parts}
    ),
    ROOT / "docker-compose.yml",
]  # fmt: skip
JOIN = re.compile(r"\"\n\s*[rf]?\"|\s+")
CALLED = re.compile(r"(`|uv run |&& |: |\$ )?(?<![\w./-])turnfold((?: [a-z][a-z-]*(?![\w=/.]))+)")
PAIR = re.compile(r"`([a-z]+ [a-z]+)\b[^`]*`")


def _stale(text: str) -> set[str]:
    """Commands in a text that the program does not have."""
    paths = cli.paths()
    names = {word for path in paths for word in path.split()}
    text = JOIN.sub(lambda found: "" if '"' in found[0] else " ", text)
    stale = {
        f"turnfold {words}"
        for before, words in CALLED.findall(text)
        if (before == "`" or words.split()[0] in names) and not _resolves(words.split())
    }
    tails = {" ".join(path.split()[-2:]) for path in paths if path.count(" ") > 1}
    return stale | {pair for pair in PAIR.findall(text) if pair in tails}


def test_no_text_names_a_command_that_does_not_exist() -> None:
    stale = {}
    for file in TEXTS:
        text = file.read_text("utf-8", errors="ignore")
        if "turnfold" in text and file != Path(__file__) and (commands := _stale(text)):
            stale[_name(file)] = commands
    assert stale == {}


@pytest.mark.parametrize(
    "text",
    ["`turnfold ruin x`", "run turnfold worker", "turnfold kafka keys", "`dlq list --settled`",
     'f"first: turnfold "\n    f"lag --group x"', "turnfold\nadmin worker"],
)  # fmt: skip
def test_a_text_with_a_command_that_does_not_exist_would_be_found(text: str) -> None:
    assert _stale(text)


def test_compose_and_chart_start_commands_that_exist() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]
    started = [
        [*one.get("entrypoint", ["turnfold"])[1:], *one.get("command", [])]
        for one in services.values()
        if "build" in one or str(one.get("image", "")).startswith("turnfold")
    ]
    for template in (ROOT / "docs/operations/chart/templates").rglob("*.yaml"):
        lists = re.findall(r"args: \[(.*?)\]|args := list (.*)", template.read_text("utf-8"))
        started += [re.findall(r"[a-z-]+", inline or words) for inline, words in lists]
    assert len(started) > 6
    assert [words for words in started if not _resolves(words)] == []


def test_examples_of_commands_are_code() -> None:
    """Outside of a block, Markdown joins their lines and takes `*` and `#` for itself."""
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    outside = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL).splitlines()
    assert [line for line in outside if re.match(r"(Example: )?(turnfold|curl|\$) ?", line)] == []
    assert page.count("```console") >= 6


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


def test_the_table_of_dead_letters_has_every_reason() -> None:
    page = (ROOT / "docs" / "operations.md").read_text("utf-8")
    table = page.split("\n| reason | what is wrong ")[1].split("\n\n")[0].splitlines()[2:]
    told = [one for row in table for one in re.findall("`([a-z0-9_]+)`", row.split("|")[1])]
    assert sorted(told) == sorted(REASONS)


def _commands_below(group: click.Group, path: str = "turnfold") -> Iterator[tuple[str, Any]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands_below(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def test_every_argument_and_option_has_a_meaning() -> None:
    every = list(_commands_below(app))
    assert len(every) > 30
    missing = [
        f"{path} {one.name}"
        for path, command in every
        for one in command.params
        if not getattr(one, "hidden", False) and not getattr(one, "help", None)
    ]
    assert missing == []


def test_every_parameter_and_field_of_the_api_has_a_meaning() -> None:
    api = json.loads((ROOT / "schemas" / "generated" / "openapi.json").read_text("utf-8"))
    operations = [
        (f"{method} {path}", told)
        for path, methods in api["paths"].items()
        for method, told in methods.items()
    ]
    missing = [
        f"{where}: {one['name']}"
        for where, told in operations
        for one in told.get("parameters", [])
        if not one.get("description")
    ]
    missing += [where for where, told in operations if not told.get("summary")]
    for name, model in api["components"]["schemas"].items():
        missing += [] if model.get("description") else [name]
        missing += [
            f"{name}.{field}"
            for field, told in model.get("properties", {}).items()
            if not told.get("description") and "const" not in told
        ]
    assert missing == []


def test_every_field_of_records_and_tables_has_a_meaning() -> None:
    models: list[type[BaseModel]] = [*RECORD_TYPES.values(), *TABLES.values(), Source]
    missing = [
        f"{model.__name__}.{name}"
        for model in models
        for name, field in model.model_fields.items()
        if name != "type" and not field.description
    ]
    assert missing == []
