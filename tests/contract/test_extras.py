"""Each extra of `turnfold` and `turnfold-client` in an environment that has nothing else: all that
imports by it, and what the docs say that it is needed for."""

import re
import sqlite3
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.building import ROOT, UV, installed, run
from tests.command import environment, folded, ndjson, turn

PROJECTS = {"turnfold": ROOT, "turnfold-client": ROOT / "clients" / "python"}
INSTALLING = {"turnfold": "docs/quickstart.md", "turnfold-client": "clients/python/README.md"}
PACKAGES = {"turnfold": "streams schemas sinks", "turnfold-client": "turnfold_client"}
NAMED = re.compile(r"\b(turnfold(?:-client)?)\[([a-z, -]+)\]")
ASKED = re.compile(r"turnfold\[[a-z-]+\]")
"""How a command says which extra it needs."""
AWAY = "127.0.0.1:1"


def declared(project: str) -> dict[str, list[str]]:
    """The extras of a project, and what each installs."""
    content = tomllib.loads((PROJECTS[project] / "pyproject.toml").read_text("utf-8"))
    extras: dict[str, list[str]] = content["project"]["optional-dependencies"]
    return extras


EXTRAS = [(project, extra) for project in PROJECTS for extra in declared(project)]


def texts() -> list[str]:
    """The docs, and the sources, whose errors and docstrings name extras."""
    folders = ("docs", "streams", "sinks", "schemas", "clients/python")
    files = [path for folder in folders for kind in ("*.md", "*.py") for path in
             (ROOT / folder).rglob(kind)]  # fmt: skip
    return [path.read_text("utf-8") for path in (ROOT / "README.md", *files)]


def test_every_extra_that_is_named_exists_and_every_one_is_documented() -> None:
    named = {
        (project, extra.strip())
        for text in texts()
        for project, extras in NAMED.findall(text)
        for extra in extras.split(",")
    }
    assert len(named) > 10
    assert named <= set(EXTRAS)
    tables = {
        project: re.findall(r"^\|(.*)\|$", (ROOT / page).read_text("utf-8"), re.M)
        for project, page in INSTALLING.items()
    }
    in_tables = {
        (project, extra)
        for project, rows in tables.items()
        for row in rows
        for extra in re.findall(r"`([a-z-]+)`", row)
    }
    assert set(EXTRAS) <= named | in_tables


SWEEP = """
import ast, sys
from importlib import import_module
from pathlib import Path

def named(file):
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module

for package in sys.argv[1:]:
    folder = Path(import_module(package).__file__).parent
    for file in sorted(folder.rglob("*.py")):
        module = ".".join(file.relative_to(folder.parent).with_suffix("").parts)
        module = module.removesuffix(".__init__")
        for name in sorted({module, *named(file)}):
            try:
                import_module(name)
            except ModuleNotFoundError as error:
                print(module, name, error.name.partition(".")[0])
            except NameError:  # Faust's way to say that prometheus_client is missing
                if name == module:
                    raise
                print(module, name, name.partition(".")[0])
"""
"""Prints each module that names, anywhere in it, what cannot be imported, that name, and what is
missing for it."""
HAS = """
import sys
from importlib.util import find_spec
print(*(name for name in sys.argv[1:] if find_spec(name)))
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    run(UV, "build", "--quiet", "--wheel", "--all-packages", "--out-dir", folder)
    return folder


def lacking(python: Path, project: str) -> dict[tuple[str, str], str]:
    """The project's modules with what they cannot import here, and what is missing for it."""
    lines = run(python, "-c", SWEEP, *PACKAGES[project].split()).splitlines()
    return {(module, name): lack for module, name, lack in map(str.split, lines)}


@pytest.mark.nightly
@pytest.mark.parametrize("project", PROJECTS)
def test_every_extra_is_enough_for_what_needs_it(
    project: str, wheels: Path, tmp_path: Path
) -> None:
    """In an environment with the extra more can be imported than without; what cannot, needs
    another extra; and the commands that need it do not ask for it."""
    (wheel,) = wheels.glob(f"{project.replace('-', '_')}-[0-9]*.whl")
    without = installed(str(wheel), tmp_path / "without")
    base = lacking(without, project)
    trials = commands(tmp_path) if project == "turnfold" else {}
    assert trials.keys() == (set(declared(project)) if trials else set())
    missing, available = set(base.values()), set[str]()
    for extra in declared(project):
        also = BESIDE.get(extra) if trials else None
        wanted = f"{project}[{','.join(filter(None, (extra, also)))}] @ {wheel.as_uri()}"
        python = installed(wanted, tmp_path / extra)
        rest = lacking(python, project)
        assert rest.keys() < base.keys(), extra
        missing |= set(rest.values())
        available |= set(run(python, "-c", HAS, *sorted(missing)).split())
        lesser = tmp_path / also / "bin" / "python" if also else without
        for words in trials.get(extra, ()):
            before, after = (call(one, words, tmp_path, extra) for one in (lesser, python))
            assert "Traceback" not in before + after, (words, before, after)
            assert f"turnfold[{extra}]" in before, (words, before)
            assert not ASKED.search(after), (words, after)
    assert missing == available, "no extra installs the others"


def call(python: Path, words: list[str], folder: Path, extra: str) -> str:
    """What a command prints."""
    embed = f"http://{AWAY}/v1" if extra == "embeddings" else ""
    done = subprocess.run(
        [python.with_name("turnfold"), *words], cwd=folder, capture_output=True, text=True,
        timeout=300, check=False, input="",
        env=environment(
            TURNFOLD_EMBED_BASE_URL=embed, TURNFOLD_EMBED_MODEL="m", HF_ENDPOINT=f"http://{AWAY}",
            TURNFOLD_REGISTRY_URL=f"http://{AWAY}", TURNFOLD_MAVEN=f"http://{AWAY}",
            AWS_ENDPOINT_URL=f"http://{AWAY}", AWS_ACCESS_KEY_ID="k", AWS_SECRET_ACCESS_KEY="s",
            XDG_CACHE_HOME=str(folder / "cache"), PATH="/usr/bin:/bin",
        ),
    )  # fmt: skip
    return done.stdout + done.stderr


def commands(folder: Path) -> dict[str, list[list[str]]]:
    """Extra -> commands that need it. Whatever they reach is away, so each ends by itself."""
    history, records = folder / "history", ndjson(folder / "records.ndjson", [turn("1")])
    folded(records, history=history)
    sqlite3.connect(folder / "checkpoints.sqlite").close()
    (folder / "address").write_text("postgresql://u@127.0.0.1:1/agents\n")
    for name, encoding in (("json", "json"), ("avro", "confluent")):
        (folder / f"{name}.yaml").write_text(MAPPING.format(encoding))
    at = ["--bootstrap", AWAY]
    model = ["--model", "m", "--base-url", f"http://{AWAY}/v1"]
    return {
        "langgraph": [["import", "langgraph", "checkpoints.sqlite", "--user", "u"]],
        "langgraph-postgres": [["import", "langgraph-postgres", "address", "--user", "u"]],
        "kafka": [["kafka", "worker", *at], ["kafka", "sink", *at, "--history", "sunk", "--once"],
                  ["kafka", "produce", str(records), *at], ["kafka", "lag", *at],
                  ["kafka", "topics", *at],
                  ["kafka", "repartition", "--yes", "--to", "6", *at]],
        "erasure": [["admin", "erasure-keys", "create", "--keys", "k", "--master-key", "m"]],
        "llm": [["admin", "extract", "--history", str(history), *model]],
        "embeddings": [["search", "tea", "--history", str(history)]],
        "meaning": [["search", "tea", "--meaning", "on", "--history", str(history)]],
        "object-stores": [["sql", "SELECT 1", "--history", "s3://bucket/history"]],
        "mapping": [["kafka", "map", "json.yaml", "--sample", str(records)]],
        "schema-registry": [["kafka", "map", "avro.yaml", "--sample", str(records)]],
        "serve": [["serve", "--history", "records.ndjson", "--port", "0"]],
        "mcp": [["mcp", "--url", f"http://{AWAY}"]],
        "tracing": [["kafka", "sink", *at, "--history", "traced", "--once", "--traces"]],
        "broker": [["kafka", "broker", "start"]],
    }  # fmt: skip


BESIDE = {"tracing": "kafka", "schema-registry": "mapping"}
"""What else the commands of an extra need; it is tried before."""
MAPPING = """
version: 1
sources:
  chat:
    encoding: {}
    files: ["*.ndjson"]
    records:
      - type: turn
        fields: {{event_id: event_id, session_id: session_id, occurred_at: occurred_at}}
"""
