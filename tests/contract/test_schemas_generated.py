"""schemas/generated is what the models say, and is valid by the specifications' own schemas."""

import copy
import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from schemas.export import json_schemas
from schemas.rows import TABLES, Source
from streams.asyncapi import asyncapi

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "schemas" / "generated"
CLIENTS = ROOT / "clients"


def _generate(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "generate"), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_committed_files_are_current() -> None:
    run = _generate("--check")
    assert run.returncode == 0, run.stderr


@pytest.mark.nightly
def test_stale_missing_and_left_over_files_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "schemas" / "generated"
    shutil.copytree(GENERATED, folder)
    shutil.copytree(CLIENTS, tmp_path / "clients")
    (folder / "records" / "turn.json").write_text("{}\n")
    (folder / "rows" / "plans.json").unlink()
    (folder / "rows" / "forgotten.json").write_text("{}\n")
    run = _generate("--check", "--root", str(tmp_path))
    assert run.returncode == 1
    assert set(run.stderr.splitlines()[:-1]) == {
        "stale: schemas/generated/records/turn.json",
        "stale: schemas/generated/rows/plans.json",
        "left over: schemas/generated/rows/forgotten.json",
    }
    assert _generate("--root", str(tmp_path)).returncode == 0
    for file in ("records/turn.json", "rows/plans.json"):
        assert (folder / file).read_bytes() == (GENERATED / file).read_bytes()
    assert not (folder / "rows" / "forgotten.json").exists()


@pytest.mark.parametrize("name", sorted(json_schemas()))
def test_a_schema_is_valid_json_schema_without_fixed_tuples(name: str) -> None:
    schema = json.loads((GENERATED / name).read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    assert "prefixItems" not in json.dumps(schema)


@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_row_carries_its_columns_and_its_source(table: str) -> None:
    schema = json.loads((GENERATED / "rows" / f"{table}.json").read_text("utf-8"))
    columns = [*Source.model_fields, *TABLES[table].model_fields]
    assert sorted(schema["properties"]) == sorted(columns)
    assert sorted(schema["required"]) == sorted(columns)


@pytest.fixture(scope="module")
def official() -> Draft7Validator:
    """AsyncAPI's own schema of AsyncAPI 3.0.0 documents (asyncapi/README.md says from where)."""
    packed = (Path(__file__).parent / "asyncapi" / "3.0.0.json.gz").read_bytes()
    return Draft7Validator(json.loads(gzip.decompress(packed)))


def _no_info(document: dict[str, Any]) -> None:
    del document["info"]


def _bad_action(document: dict[str, Any]) -> None:
    document["operations"]["receive-turns"]["action"] = "subscribe"


def _bad_policy(document: dict[str, Any]) -> None:
    kafka = document["channels"]["sessions"]["bindings"]["kafka"]
    kafka["topicConfiguration"]["cleanup.policy"] = ["shrink"]


def test_asyncapi_is_valid_by_its_official_schema(official: Draft7Validator) -> None:
    document = json.loads((GENERATED / "asyncapi.json").read_text("utf-8"))
    assert [error.message for error in official.iter_errors(document)] == []
    assert "prefixItems" not in json.dumps(document)


@pytest.mark.parametrize("spoil", [_no_info, _bad_action, _bad_policy])
def test_the_official_schema_refuses_a_spoilt_document(
    official: Draft7Validator, spoil: Callable[[dict[str, Any]], None]
) -> None:
    document = copy.deepcopy(asyncapi())
    spoil(document)
    assert not official.is_valid(document)


def test_every_reference_in_asyncapi_leads_somewhere() -> None:
    document = asyncapi()

    def references(node: Any) -> list[str]:
        if isinstance(node, dict):
            own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
            return own + [ref for value in node.values() for ref in references(value)]
        if isinstance(node, list):
            return [ref for value in node for ref in references(value)]
        return []

    found = references(document)
    assert len(found) > 100
    for reference in found:
        node: Any = document
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]
