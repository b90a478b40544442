"""Extractors and importers of other packages, found by their entry points."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streams.errors import ConfigurationError
from streams.extractors import registry
from streams.importers.base import ImportFault
from streams.importers.convert import convert
from tests.building import ROOT, UV, installed, run

PACKAGE = ROOT / "examples" / "extension"
TICKETS = (
    {"id": "t1", "customer": "ann", "at": "2026-03-02T09:00:00Z", "text": "Where is order AB-12?"},
    {"id": "t2", "customer": "ann", "at": "2026-03-02T10:00:00Z", "text": ""},
)


@pytest.mark.nightly
def test_a_package_of_its_own_adds_an_extractor_and_an_importer(tmp_path: Path) -> None:
    run(UV, "build", "--quiet", "--wheel", "--out-dir", tmp_path)
    (wheel,) = tmp_path.glob("turnfold-*.whl")
    python = installed(wheel, tmp_path / "environment")
    run(UV, "pip", "install", "--quiet", "--python", python, PACKAGE)
    program = python.with_name("turnfold")
    tickets = tmp_path / "tickets.jsonl"
    tickets.write_text("\n".join(map(json.dumps, TICKETS)))
    records = tmp_path / "records.ndjson"
    records.write_text(run(program, "import", "helpdesk", tickets))
    assert len(records.read_text().splitlines()) == 1
    folder = ("--history", tmp_path / "memory")
    said = run(program, "run", records, "--extractor", "orders", *folder)
    assert "1 fact or preference found by orders" in said
    assert "Ordered AB-12." in run(program, "context", "ann", *folder)
    run(program, "generation", "create", "again", "--extractor", "orders", *folder)
    assert "Ordered AB-12." in run(program, "context", "ann", *folder, "--generation", "again")
    run(program, "generation", "create", "without", "--extractor", "none", *folder)
    assert "AB-12" not in run(program, "context", "ann", *folder, "--generation", "without")


Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a package `other` with an entry point on the path; returns the path of its module."""

    def installed(group: str, line: str, source: str = "") -> Path:
        about = tmp_path / "other-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(f"[turnfold.{group}]\n{line}\n")
        (tmp_path / "other.py").write_text(source)
        return tmp_path / "other.py"

    def clear() -> None:
        sys.modules.pop("other", None)
        registry.modules.cache_clear()
        registry.module.cache_clear()

    monkeypatch.syspath_prepend(tmp_path)
    clear()
    yield installed
    clear()


@pytest.mark.parametrize(
    ("line", "source", "fault"),
    [
        ("rules = other", "", "package other: the name of its extractor 'rules' is taken"),
        ("mine = absent", "", "extractor 'mine': ModuleNotFoundError: No module named 'absent'"),
        ("mine = other", "1 / 0", "extractor 'mine': ZeroDivisionError: division by zero"),
        ("mine = other", "VERSION = '1'", "extractor 'mine': module other has no extract"),
        ("yours = other", "", "unknown extractor 'mine': use one of none, rules, yours, llm"),
    ],
)
def test_an_extractor_that_cannot_be_used_is_an_error_of_settings(
    install: Install, line: str, source: str, fault: str
) -> None:
    install("extractors", line, source)
    with pytest.raises((ConfigurationError, ValueError)) as raised:
        registry.check_choice("mine")
        registry.version_of("mine")
    assert fault in str(raised.value)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("mine = other:absent", "format 'mine' (other:absent): AttributeError"),
        ("yours = other:read", "unknown format 'mine': use one of turnfold, "),
    ],
)
def test_an_importer_that_cannot_be_used_is_a_fault_of_the_import(
    install: Install, line: str, fault: str
) -> None:
    file = install("importers", line)
    with pytest.raises(ImportFault) as raised:
        convert("mine", file)
    assert fault in str(raised.value)
