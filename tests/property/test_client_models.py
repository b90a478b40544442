"""The Python client's models and times agree with those of the server, which they replace."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from schemas import time
from schemas.events import RECORD_TYPES
from turnfold_client import format_time, models, parse_time

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "contract" / "golden" / "v1"
OPENAPI = json.loads((ROOT / "schemas" / "generated" / "openapi.json").read_text("utf-8"))
SCHEMAS = OPENAPI["components"]["schemas"]
FIRST, LAST = map(time.parse_time, ("0001-01-02T00:00:00Z", "9999-12-30T00:00:00Z"))
PARTS = (
    ("2026-01-31", "2026-02-30", "0001-01-01", "9999-12-31", "26-1-31"),
    ("T", "t", " ", "_"),
    ("09:30:00", "23:59:59", "25:00:00", "9:30"),
    ("", ".5", ".123456789", "."),
    ("Z", "z", "+09:00", "-00:59", "-00:61", ""),
)
TEXTS = st.tuples(*map(st.sampled_from, PARTS)).map("".join)


def model(name: str) -> type[BaseModel]:
    found: type[BaseModel] = getattr(models, name)
    assert issubclass(found, BaseModel)
    return found


def by_server(text: str) -> int | None:
    """A time by the server's reading; None where it refuses it."""
    try:
        return time.parse_time(text)
    except ValueError:
        return None


@given(st.integers(FIRST, LAST))
def test_a_time_has_the_same_text(micros: int) -> None:
    assert format_time(micros) == time.format_time(micros)
    assert parse_time(format_time(micros)) == micros


@given(TEXTS | st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat))
def test_a_text_is_the_same_time_or_is_refused_by_both(text: str) -> None:
    expected = by_server(text)
    if expected is None:
        with pytest.raises(ValueError):
            parse_time(text)
    else:
        assert parse_time(text) == expected


def test_a_model_takes_a_time_as_text_or_as_microseconds() -> None:
    update = models.UserUpdate(user_id="u", event=models.UserEvent(), occurred_at=1_000_000)
    text = update.model_dump_json(exclude_none=True)
    assert json.loads(text)["occurred_at"] == "1970-01-01T00:00:01Z"
    assert models.UserUpdate.model_validate_json(text) == update
    with pytest.raises(ValidationError, match="RFC 3339"):
        models.UserUpdate.model_validate({"user_id": "u", "event": {}, "occurred_at": True})


@pytest.mark.parametrize("name", [name for name in SCHEMAS if "properties" in SCHEMAS[name]])
def test_every_schema_is_a_model_with_its_fields(name: str) -> None:
    schema = SCHEMAS[name]
    fields = {field.alias or key: field for key, field in model(name).model_fields.items()}
    assert list(fields) == list(schema["properties"])
    constants = {key for key, declared in schema["properties"].items() if "const" in declared}
    required = {key for key, field in fields.items() if field.is_required()}
    assert required - constants == set(schema.get("required", ())) - constants
    known = model(name).model_config["extra"] == "forbid"
    assert known == (schema["additionalProperties"] is False)


@pytest.mark.parametrize("kind", RECORD_TYPES)
def test_a_record_is_sent_as_the_server_would_write_it(kind: str) -> None:
    text = (GOLDEN / f"{kind}.canonical.json").read_bytes()
    ours = RECORD_TYPES[kind].model_validate_json(text)
    clients = model(RECORD_TYPES[kind].__name__).model_validate_json(text)
    assert clients.model_dump_json(exclude_none=True) == ours.model_dump_json(exclude_none=True)


@pytest.mark.parametrize("user_id", ["", "x" * 129, "tab\t", 5, None])
def test_an_id_that_the_server_refuses_is_refused_before_it_is_sent(user_id: object) -> None:
    with pytest.raises(ValidationError, match="user_id"):
        models.UserUpdate.model_validate({"user_id": user_id, "event": {}})
