"""A withheld request is withheld in whatever an event packs it."""

import base64
import gzip
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from streams.folds.effects import Input
from streams.mapping.envelopes import Message
from streams.mapping.mapper import Mapper, Source
from streams.pipeline.decode import Dead

PLACE = ("chat", 0, 1)
SECRET = "the text of a meta request"
MARKED = {"room": "s", "text": SECRET, "source": "meta_request"}
PLAIN = MARKED | {"source": "chat"}
FIELDS = {"event_id": "id", "session_id": {"from": "s", "default": "s"},
          "user_input": {"from": "text", "default": "hello"},
          "occurred_at": {"from": "at", "default": "2026-01-01T00:00:00Z"}}  # fmt: skip


def source(tmp_path: Path, registry: Any = None, **more: Any) -> Source:
    file = tmp_path / "chat.yaml"
    records = [{"type": "turn", "fields": FIELDS}]
    sources = {"chat": {"records": records, **more}}
    file.write_text(json.dumps({"version": 1, "sources": sources}))
    if registry is None:
        return Mapper(file).sources["chat"]
    from streams.mapping.definition import load

    return Source("chat", load(file), registry)


def base64_of(value: Any) -> str:
    said = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.b64encode(said).decode()


PACKINGS: dict[str, Callable[[Any], Any]] = {
    "base64": base64_of,
    "base64 for URLs, without padding": lambda value: base64.urlsafe_b64encode(
        json.dumps(value).encode()
    ).decode().rstrip("="),
    "base64 in lines": lambda value: base64.encodebytes(json.dumps(value).encode()).decode(),
    "JSON as text": json.dumps,
    "JSON as text after a byte order mark": lambda value: "\ufeff" + json.dumps(value),
    "JSON as text in base64": lambda value: base64_of(json.dumps(value)),
    "base64 in JSON as text": lambda value: json.dumps({"inner": base64_of(value)}),
    "base64 in base64": lambda value: base64_of({"inner": base64_of(value)}),
    "three times base64": lambda value: base64_of([base64_of([base64_of(value)])]),
    "gzip in base64": lambda value: base64_of(gzip.compress(json.dumps(value).encode())),
    "a data URL": lambda value: "data:application/json;base64," + base64_of(value),
    "a token": lambda value: f"eyJhbGciOiJub25lIn0.{base64_of(value)}.",
    "UTF-16 in base64": lambda value: base64_of(json.dumps(value).encode("utf-16")),
    "base64 of a list": lambda value: base64_of([1, [value]]),
    "base64 with another spelling": lambda value: base64_of(
        {**value, "source": value["source"].upper().replace("_", "-")}
    ),
    "base64 with escapes": lambda value: base64_of(
        json.dumps(value).replace("meta", "\\u006deta").encode()
    ),
    "base64 of a name that stands twice": lambda value: base64_of(
        json.dumps(value).encode()[:-1] + b', "source": "chat"}'
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", PACKINGS)
@pytest.mark.parametrize("name", ["data", "data_base64", "payload", "after"])
def test_a_packed_request_is_withheld(tmp_path: Path, how: str, name: str) -> None:
    events = source(tmp_path)

    def found(value: Any, escape: bool = False) -> Any:
        line = json.dumps({"id": "e", name: PACKINGS[how](value)})
        if escape:
            line = line.replace("/", "\\/").replace("eyJ", "\\u0065yJ")
        return events.map(line.encode(), PLACE, Message("chat")).found

    assert found(MARKED) == "withheld"
    assert found(MARKED, escape=True) == "withheld"
    assert isinstance(found(PLAIN), Input)  # the packing alone withholds nothing


def test_a_source_in_bytes_is_read(tmp_path: Path) -> None:
    """As Avro's and Debezium's bytes are: base64."""
    line = json.dumps({"id": "e", "row": {"source": base64_of(b"meta_request")}}).encode()
    assert source(tmp_path).map(line, PLACE, Message("chat")).found == "withheld"


def test_data_in_base64_of_a_cloud_event_are_searched(tmp_path: Path) -> None:
    events = source(tmp_path, format="cloudevents")
    event = {"specversion": "1.0", "id": "e", "type": "t", "source": "/c"}
    line = json.dumps(event | {"data_base64": base64_of(MARKED)}).encode()
    assert events.map(line, PLACE, Message("chat")).found == "withheld"
    assert events.decode(line, PLACE) == "withheld"


@pytest.mark.parametrize("name", ["ce_data", "ce_data_base64"])
def test_data_of_a_binary_event_are_in_no_header(tmp_path: Path, name: str) -> None:
    """They would be read instead of the value, which was searched."""
    events = source(tmp_path, format="cloudevents")
    headers = [("ce_specversion", b"1.0"), ("ce_id", b"e"), (name, base64_of(MARKED).encode())]
    letter: Any = events.map(b"{}", PLACE, Message("chat", headers=headers)).found
    assert letter.reason == "invalid"
    assert f"header {name}: the data are the message's value" in letter.detail


class Registry:
    """Reads JSON behind the frame as the registry's reader of a JSON schema does."""

    def read(self, value: bytes) -> Any:
        return msgspec.json.decode(value[5:])


CHANGES = [
    {"op": "c", "after": {"id": "e"}, "before": MARKED},
    {"op": "c", "after": {"id": "e"}, "before": json.dumps(MARKED)},
    {"op": "c", "after": {"id": "e", "column": base64_of(MARKED)}},
    {"op": "c", "after": json.dumps(MARKED)},
    {"op": "c", "after": {"id": "e"}, "extra": base64_of(MARKED)},
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("encoding", ["json", "confluent"])
def test_all_of_a_change_is_searched(tmp_path: Path, change: Any, encoding: str) -> None:
    """Also the image of the row that the mapping does not see."""
    framed = encoding == "confluent"
    changes = source(tmp_path, Registry() if framed else None, format="debezium", encoding=encoding)

    def found(value: Any) -> Any:
        line = (b"\0\0\0\0\1" if framed else b"") + json.dumps(value).encode()
        return changes.map(line, PLACE, Message("chat")).found

    assert found(change) == "withheld"
    assert isinstance(found({"op": "c", "after": {"id": "e"}, "before": PLAIN}), Input)


def test_a_name_that_stands_twice_behind_a_frame_is_seen(tmp_path: Path) -> None:
    framed = source(tmp_path, Registry(), encoding="confluent")
    value = b'\0\0\0\0\1{"id": "e", "source": "meta_request", "source": "chat"}'
    assert framed.map(value, PLACE, Message("chat")).found == "withheld"


def bomb(text: bytes) -> str:
    return base64_of(gzip.compress(text, 9))


BOMBS: dict[str, Callable[[], Any]] = {
    "lists": lambda: bomb(b"[" + b"[]," * 1_300_000 + b"[]]"),
    "objects in a list": lambda: bomb(b'{"d": [' + b"{}," * 600_000 + b"{}]}"),
    "bombs in a bomb": lambda: bomb(
        json.dumps([bomb(b"[" + b"1," * 1_000_000 + b"1]")] * 1000).encode()
    ),
    "texts": lambda: [bomb(b'"' + b"x" * 3_900_000 + b'"')] * 50,
    "texts in JSON as text": lambda: json.dumps([bomb(b"a" * 3_900_000)] * 50),
}


@pytest.mark.parametrize("name", BOMBS)
def test_an_event_that_unpacks_to_very_much_is_a_dead_letter(name: str, tmp_path: Path) -> None:
    line = json.dumps({"id": "e", "data": BOMBS[name](), "text": SECRET}).encode()
    tracemalloc.start()
    try:
        letter = source(tmp_path).map(line, PLACE, Message("chat")).found
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(letter, Dead) and letter.reason == "too_large"
    assert "packed in it" in letter.detail and letter.hidden
    assert SECRET.encode() not in letter.payload  # it may be one that is to be withheld
    assert peak < 60_000_000
