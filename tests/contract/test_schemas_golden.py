"""Records of old schema versions keep their meaning for ever: golden/v1 is never edited.

`{type}.json` and `{type}.{old name}.json` are as they were sent; `{type}.canonical.json` is what
they mean. A later version may add fields to what it makes of them, but change none.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from schemas.events import RECORD_TYPES
from schemas.export import json_schemas
from schemas.upcast import upcast

GOLDEN = Path(__file__).parent / "golden"
SENT = sorted(path for path in GOLDEN.glob("v*/*.json") if ".canonical." not in path.name)
SCHEMAS = json_schemas()


def _load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return loaded


def _differences(expected: Any, got: Any, where: str = "") -> list[str]:
    """Where `got` lacks or contradicts something of `expected`."""
    if isinstance(expected, dict) and isinstance(got, dict):
        lost = [f"{where}/{name} is gone" for name in expected.keys() - got.keys()]
        return lost + [
            difference
            for name in expected.keys() & got.keys()
            for difference in _differences(expected[name], got[name], f"{where}/{name}")
        ]
    if isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
        pairs = enumerate(zip(expected, got, strict=True))
        return [d for at, (e, g) in pairs for d in _differences(e, g, f"{where}/{at}")]
    return [] if expected == got else [f"{where} was {expected!r}, is {got!r}"]


def _canonical(path: Path) -> Path:
    return path.with_name(path.name.split(".")[0] + ".canonical.json")


def test_every_record_type_has_a_golden_record() -> None:
    assert {path.name.split(".")[0] for path in SENT} == set(RECORD_TYPES)


@pytest.mark.parametrize("path", SENT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_an_old_record_means_what_it_meant(path: Path) -> None:
    record = upcast(_load(path))
    made = RECORD_TYPES[record["type"]].model_validate(record).model_dump(mode="json")
    assert _differences(_load(_canonical(path)), made) == []


@pytest.mark.parametrize("path", SENT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_published_schema_accepts_what_the_model_accepts(path: Path) -> None:
    record = upcast(_load(path))
    errors = Draft202012Validator(SCHEMAS[f"records/{record['type']}.json"]).iter_errors(record)
    assert [error.message for error in errors] == []


@pytest.mark.parametrize("path", SENT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_canonical_record_is_canonical(path: Path) -> None:
    sent = _load(_canonical(path))
    record = upcast(json.loads(json.dumps(sent)))
    made = RECORD_TYPES[record["type"]].model_validate(record).model_dump(mode="json")
    assert _differences(sent, made) == []


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("turn", "tenant", "a/b"), ("turn", "event_id", ""), ("turn", "event_id", "x" * 129),
        ("turn", "event_id", "bell\u0007"), ("turn", "status", "finished"),
        ("turn", "schema_version", 3), ("turn", "image_summaries", ["a"] * 6),
        ("turn", "metadata", {"correct_rate": 1.01}), ("turn", "affect", {"text": "no numbers"}),
        ("recursion", "iteration_index", -1), ("recursion", "action", {"action_type": "GUESS"}),
        ("tool_result", "success", "true"), ("signal", "scope", "world"),
        ("write_plan", "extractor", {"version": "3"}),
        ("write_plan", "state_updates", [{"op": "delete"}]),
    ],
)  # fmt: skip
def test_model_and_published_schema_refuse_the_same(kind: str, field: str, value: Any) -> None:
    record = _load(GOLDEN / "v1" / f"{kind}.json") | {field: value}
    assert not Draft202012Validator(SCHEMAS[f"records/{kind}.json"]).is_valid(record)
    with pytest.raises(ValidationError):
        RECORD_TYPES[kind].model_validate(record)


@pytest.mark.parametrize("kind", sorted(RECORD_TYPES))
def test_a_record_needs_what_the_schema_says_it_needs(kind: str) -> None:
    schema = SCHEMAS[f"records/{kind}.json"]
    assert {"type", "occurred_at"} <= set(schema["required"])
    for name in set(schema["required"]) - {"type"}:  # the type chooses the model
        record = _load(GOLDEN / "v1" / f"{kind}.json")
        del record[name]
        with pytest.raises(ValidationError, match=name):
            RECORD_TYPES[kind].model_validate(record)
