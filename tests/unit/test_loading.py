"""What loads what: the parts below know nothing of the server above them, and what takes long to
load or to build waits for its first use."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.command import environment

SERVER = ("streams.serving", "streams.search", "sqlite3", "fastapi")


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("streams.apps.compact_and_forget", SERVER),
        ("streams.apps.metrics_port", SERVER),
        ("streams.apps.worker_settings", ("faust", "aiohttp", "pyarrow", "rocksdict")),
        ("streams.serving.http.serve", ("faust", "aiohttp", "duckdb")),
        ("streams.commands.run_import_demo", ("asyncio", "pydantic", "pyarrow", "_duckdb")),
    ],
)
def test_a_module_does_not_load(module: str, unwanted: tuple[str, ...]) -> None:
    """The server above it; the search, which opens SQLite; a framework that it does not use."""
    loaded: list[str] = _in_a_new_process(f"import {module}, sys; result = list(sys.modules)")
    packages = tuple(f"{name}." for name in unwanted)
    assert module in loaded
    assert not [name for name in loaded if name in unwanted or name.startswith(packages)]


def test_models_and_patterns_of_dates_wait_for_their_first_use() -> None:
    built = _in_a_new_process("""
import schemas.http
from schemas.base import Reply, Wire
from schemas.events import Turn
from streams.dates import resolve
from streams.dates.languages import LANGUAGES
from turnfold_client import base, models

def complete():
    bases = (Reply, Wire, base.Open, base.Closed)
    return [model.__name__ for of in bases for model in of.__subclasses__()
            if model.__pydantic_complete__]

def compiled():
    return [name for name, language in LANGUAGES.items() if "forms" in vars(language)]

before = [complete(), compiled()]
Turn.model_rebuild()
assert resolve("I moved on 2026-03-14 to the town.", 0, "en")
result = {"before": before, "after": [Turn.__pydantic_complete__, compiled()]}
""")
    assert built == {"before": [[], []], "after": [True, ["en"]]}


def test_rules_are_compiled_when_the_first_text_tries_them() -> None:
    """All patterns of all languages take a second, and a process that reads one turn tries few."""
    compiled = _in_a_new_process("""
from streams.extractors import languages, rules

def size():
    return languages.language.cache_info().currsize

def tried():
    return sum("fullmatch" in vars(one) for one in languages.language("en")._patterns)

at_import = size()
assert not rules.language_of("Where is it?").find("Where is it?")
before = tried()
assert rules.language_of("I live in Oslo.").find("I live in Oslo.")
result = {"languages": [at_import, size()], "rules": [before, 0 < tried() < 10]}
""")
    assert compiled == {"languages": [0, 1], "rules": [0, True]}


def _in_a_new_process(code: str) -> Any:
    """What the code names `result`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport json; print(json.dumps(result))"],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    return json.loads(done.stdout)
