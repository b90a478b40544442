"""What stands around an event: CloudEvents in both forms, changes by Debezium, tombstones."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from streams.folds.effects import Input
from streams.mapping.envelopes import Message
from streams.mapping.mapper import Mapped, Mapper, Source
from streams.mapping.times import BadTimeFormat, converter
from streams.pipeline.decode import Dead

PLACE = ("chat", 0, 1)
DATA = {"room": "s", "text": "hello", "by": "u"}
ATTRIBUTES = {"specversion": "1.0", "id": "e1", "type": "chat.said", "source": "/chat"}
TIME = {"time": "2026-01-01T09:00:00+09:00"}
EVENT = {
    "event_id": "id",
    "session_id": "data.room",
    "user_id": "data.by",
    "occurred_at": {"from": "time", "default_message": "timestamp"},
    "user_input": "data.text",
}
ROW = {
    "event_id": {"from": "id", "as": "text"},
    "session_id": "room",
    "user_input": "text",
    "occurred_at": {"from": "created", "time": "epoch_us", "default_message": "timestamp"},
    "topic": "__op",
}


def source(tmp_path: Path, fields: Any, **more: Any) -> Source:
    file = tmp_path / "chat.yaml"
    rule = {"type": "turn", "fields": fields, **more.pop("rule", {})}
    file.write_text(json.dumps({"version": 1, "sources": {"chat": {"records": [rule], **more}}}))
    return Mapper(file).sources["chat"]


def mapped(source: Source, value: Any, *headers: tuple[str, bytes | None]) -> Mapped:
    raw = value if value is None or isinstance(value, bytes) else json.dumps(value).encode()
    return source.map(raw, PLACE, Message("chat", 1_767_225_600_000, b"key", headers))


def record(found: Mapped) -> dict[str, Any]:
    assert isinstance(found.found, Input), found
    said: dict[str, Any] = json.loads(found.line)
    return said


def refusal(found: Mapped) -> tuple[str, str]:
    assert isinstance(found.found, Dead), found
    return found.found.reason, found.found.detail


EXPECTED = {"type": "turn", "event_id": "e1", "session_id": "s", "user_id": "u",
            "occurred_at": "2026-01-01T09:00:00+09:00", "user_input": "hello"}  # fmt: skip


@pytest.fixture
def events(tmp_path: Path) -> Source:
    return source(tmp_path, EVENT, format="cloudevents")


def ce(attributes: dict[str, str]) -> list[tuple[str, bytes | None]]:
    return [(f"ce_{name}", value.encode()) for name, value in attributes.items()]


def test_a_structured_event_is_mapped(events: Source) -> None:
    event = ATTRIBUTES | TIME | {"data": DATA}
    header = ("content-type", b"application/cloudevents+json; charset=UTF-8")
    assert record(mapped(events, event, header)) == EXPECTED
    assert record(mapped(events, event)) == EXPECTED  # in a file there are no headers


def test_a_binary_event_is_mapped(events: Source) -> None:
    headers = [*ce(ATTRIBUTES | TIME), ("content-type", b"application/json")]
    assert record(mapped(events, DATA, *headers)) == EXPECTED
    assert record(mapped(events, DATA, *headers[:-1])) == EXPECTED
    vendor = ("Content-Type", b"application/vnd.chat+json")
    assert record(mapped(events, DATA, *headers[:-1], vendor)) == EXPECTED


def test_data_in_base64_is_read(events: Source) -> None:
    packed = base64.b64encode(json.dumps(DATA).encode()).decode()
    assert record(mapped(events, ATTRIBUTES | TIME | {"data_base64": packed})) == EXPECTED


def test_an_event_without_a_time_has_that_of_its_message(events: Source) -> None:
    found = record(mapped(events, ATTRIBUTES | {"data": DATA}))
    assert found["occurred_at"] == "2026-01-01T00:00:00Z"


WRONG: list[tuple[Any, list[tuple[str, bytes | None]], str, str]] = [
    (DATA, [], "invalid", "specversion: expected 1.0, of CloudEvents"),
    (ATTRIBUTES | {"specversion": "0.3"}, [], "invalid", "specversion: expected 1.0"),
    ([ATTRIBUTES], [], "not_an_object", "expected one JSON object"),
    (b"{", [], "bad_json", "Input data was truncated"),
    (b"\xff", [], "bad_utf8", "not UTF-8"),
    ([ATTRIBUTES], [("content-type", b"application/cloudevents-batch+json")], "invalid",
     "send one event a message"),
    (b"<x/>", [*ce(ATTRIBUTES), ("content-type", b"text/xml")], "invalid",
     "content-type: the data of an event must be JSON"),
    (b"<x/>", ce(ATTRIBUTES), "bad_json", "JSON is malformed"),
    (DATA, ce(ATTRIBUTES | {"specversion": "2.0"}), "invalid", "specversion: expected 1.0"),
    (DATA, [*ce(ATTRIBUTES), ("ce_time", b"\xff")], "invalid", "header ce_time: not UTF-8"),
    (ATTRIBUTES | {"data_base64": "?"}, [], "invalid", "data_base64: expected JSON in base64"),
    (ATTRIBUTES | {"data_base64": 5}, [], "invalid", "data_base64: expected JSON in base64"),
    (ATTRIBUTES | {"data": DATA, "data_base64": "e30="}, [], "invalid",
     "data_base64: an event has either it or data"),
    (ATTRIBUTES | {"data": "text"}, [], "invalid", "session_id (from `data.room`): Field required"),
    (DATA, [*ce(ATTRIBUTES), ("ce_time", b"soon")], "invalid", "occurred_at (from `time`): "),
]  # fmt: skip


@pytest.mark.parametrize(("value", "headers", "reason", "detail"), WRONG)
def test_a_wrong_event_says_why(
    events: Source, value: Any, headers: list[tuple[str, bytes | None]], reason: str, detail: str
) -> None:
    found = refusal(mapped(events, value, *headers))
    assert found[0] == reason
    assert detail in found[1]


def test_a_header_that_says_withheld_withholds_the_event(events: Source) -> None:
    headers = ce(ATTRIBUTES | TIME | {"source": "meta_request"})
    assert mapped(events, DATA, *headers).found == "withheld"
    assert mapped(events, ATTRIBUTES | {"type": "meta-request", "data": DATA}).found == "withheld"


def change(op: str, before: Any = None, after: Any = None, **more: Any) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "ts_ms": 5, "source": {"db": "c"}, **more}


SAID = {"id": 7, "room": "s", "text": "hi", "created": 1_767_225_600_000_001}
MADE = {"type": "turn", "event_id": "7", "session_id": "s", "user_input": "hi",
        "occurred_at": "2026-01-01T00:00:00.000001Z"}  # fmt: skip


@pytest.mark.parametrize("op", ["c", "r", "u"])
@pytest.mark.parametrize("with_schema", [True, False])
def test_a_row_that_was_written_is_mapped(tmp_path: Path, op: str, with_schema: bool) -> None:
    changes = source(tmp_path, ROW, format="debezium")
    event = change(op, before=None if op != "u" else SAID, after=SAID)
    if with_schema:
        event = {"schema": {"type": "struct"}, "payload": event}
    assert record(mapped(changes, event)) == MADE | {"topic": op}


NOTHING = [None, b"null", change("d", before=SAID), change("t"), change("m"),
           {"schema": None, "payload": None}]  # fmt: skip


@pytest.mark.parametrize("value", NOTHING)
def test_deletions_and_tombstones_are_skipped(tmp_path: Path, value: Any) -> None:
    assert mapped(source(tmp_path, ROW, format="debezium"), value).found == "skipped"


def test_a_deletion_is_mapped_where_the_mapping_says_so(tmp_path: Path) -> None:
    fields = {
        "signal_id": {"from": "id", "as": "text"},
        "scope": {"value": "session"},
        "session_id": "room",
        "occurred_at": {"from": "__ts_ms", "time": "epoch_ms"},
        "takes_back": {"from": "id", "as": "text"},
    }
    rule = {"type": "signal", "when": "__deleted"}
    deletes = source(tmp_path, fields, format="debezium", deletes="map", rule=rule)
    found = record(mapped(deletes, change("d", before=SAID)))
    assert found == {"type": "signal", "scope": "session", "session_id": "s", "signal_id": "7",
                     "takes_back": "7", "occurred_at": "1970-01-01T00:00:00.005000Z"}  # fmt: skip
    assert mapped(deletes, change("c", after=SAID)).found == "skipped"
    assert mapped(deletes, None).found == "skipped"


@pytest.mark.parametrize(
    ("value", "detail"),
    [
        (SAID, "op: expected c, r, u or d, of a change by Debezium"),
        (change("x"), "op: expected c, r, u or d"),
        (change("c"), "after: expected an object, the row"),
        (change("u", after=[1]), "after: expected an object, the row"),
    ],
)
def test_what_is_no_change_is_refused(tmp_path: Path, value: Any, detail: str) -> None:
    assert detail in refusal(mapped(source(tmp_path, ROW, format="debezium"), value))[1]


def test_the_message_itself_gives_key_topic_and_timestamp(tmp_path: Path) -> None:
    fields = {
        "event_id": "id",
        "session_id": {"message": "key"},
        "occurred_at": {"message": "timestamp"},
        "topic": {"message": "topic"},
    }
    plain = source(tmp_path, fields)
    assert record(mapped(plain, {"id": "e"})) == {
        "type": "turn", "event_id": "e", "session_id": "key", "topic": "chat",
        "occurred_at": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    broken = plain.map(b'{"id": "e"}', PLACE, Message("chat", 0, b"\xff"))
    assert "session_id: the message's key is not UTF-8" in refusal(broken)[1]


def test_an_event_of_more_than_2_mb_is_a_dead_letter(tmp_path: Path) -> None:
    plain = source(tmp_path, {"event_id": "id", "session_id": "id", "occurred_at": "id"})
    reason, detail = refusal(mapped(plain, {"id": "e", "noise": "x" * (2 << 20)}))
    assert reason == "too_large"
    assert detail.endswith("at most 2097152")
    found = mapped(plain, {"id": "e", "noise": "x" * (2 << 20)}).found
    assert isinstance(found, Dead)
    assert found.payload.endswith(b" bytes]")
    assert len(found.payload) < 100_000  # a letter of all of it might fit no topic


def test_a_value_that_a_function_does_not_take_is_a_dead_letter(tmp_path: Path) -> None:
    fields = {"event_id": "id", "session_id": "join('-', parts)", "occurred_at": "at"}
    reason, detail = refusal(mapped(source(tmp_path, fields), {"id": "e", "parts": 5}))
    assert (reason, detail) == (
        "invalid", "rule 1 (turn): session_id (from `join('-', parts)`): join() takes "
        "array-string, not number",
    )  # fmt: skip


GOOD: list[tuple[str, str | None, Any, str]] = [
    ("epoch_s", None, 1_700_000_000, "2023-11-14T22:13:20Z"),
    ("epoch_s", None, 1_700_000_000.25, "2023-11-14T22:13:20.250000Z"),
    ("epoch_s", None, "1355517523.000005", "2012-12-14T20:38:43.000005Z"),
    ("epoch_s", None, -1, "1969-12-31T23:59:59Z"),
    ("epoch_ms", None, 1_700_000_000_123, "2023-11-14T22:13:20.123000Z"),
    ("epoch_us", None, "1700000000000001", "2023-11-14T22:13:20.000001Z"),
    ("%d.%m.%Y %H:%M", "Europe/Berlin", "01.07.2026 12:30", "2026-07-01T10:30:00Z"),
    ("%d.%m.%Y %H:%M", "Europe/Berlin", "01.01.2026 12:30", "2026-01-01T11:30:00Z"),
    ("%Y-%m-%dT%H:%M:%S.%f%z", None, "2026-01-01T09:00:00.5+0900",
     "2026-01-01T00:00:00.500000Z"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "zone", "value", "expected"), GOOD)
def test_a_time_is_converted(format: str, zone: str | None, value: Any, expected: str) -> None:
    convert = converter(format, zone)
    assert convert is not None
    assert convert(value) == expected


def test_rfc_3339_stays_as_it_is() -> None:
    assert converter("rfc3339", None) is None


NO_NUMBER = [True, "soon", "", "1e400", "nan", [], {}, 10**30, 1e300, "٣x", "٣", "+1767225600",
             "1_767_225_600", " 1767225600", "1767225600\n", "1e9", "-", ".5", "5."]  # fmt: skip


@pytest.mark.parametrize("value", NO_NUMBER)
@pytest.mark.parametrize("format", ["epoch_s", "epoch_ms", "epoch_us"])
def test_what_is_no_number_of_seconds_is_refused(format: str, value: Any) -> None:
    convert = converter(format, None)
    assert convert is not None
    with pytest.raises(ValueError, match="expected epoch"):
        convert(value)


@pytest.mark.parametrize("value", [5, "2026", "31.02.2026 10:00", None])
def test_text_in_another_format_is_refused(value: Any) -> None:
    convert = converter("%d.%m.%Y %H:%M", "UTC")
    assert convert is not None
    with pytest.raises(ValueError, match=r"expected text as %d\.%m"):
        convert(value)


@pytest.mark.parametrize("zone", ["", "..", "/etc/passwd", "Nowhere"])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(BadTimeFormat, match="zone"):
        converter("%Y", zone)
