"""Data and schemas that are made to do harm end as a fault of their message, in a bounded time."""

import json
from collections.abc import Callable
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import fastavro
import httpx
import pytest

from streams.mapping import schema_registry
from streams.mapping.avro import reader
from streams.mapping.envelopes import NotAnEvent
from streams.mapping.protobuf import _varint
from streams.mapping.schema_registry import Registry, RegistryAway, RegistrySettings

FRAME = b"\0\0\0\0\x07"
LIST = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
TREE = {
    "type": "record", "name": "T",
    "fields": [{"name": "inside", "type": {"type": "array", "items": "T"}}],
}  # fmt: skip
MAP = {
    "type": "record", "name": "M", "fields": [{"name": "m", "type": {"type": "map", "values": "M"}}]
}  # fmt: skip
ITSELF = {"type": "record", "name": "I", "fields": [{"name": "i", "type": "I"}]}
BOTH: list[Any] = [
    {"type": "record", "name": "A", "fields": [{"name": "b", "type": ["null", {
        "type": "record", "name": "B", "fields": [{"name": "a", "type": "A"}]}]}]}, "string",
]  # fmt: skip
RECURSIVE: dict[str, tuple[Any, bytes]] = {
    "a list": (LIST, b"\x02" * 10_000 + b"\0"),
    "a tree": (TREE, b"\x02" * 10_000 + b"\0" * 10_001),
    "a map": (MAP, b"\x02\x02x" * 10_000 + b"\0" * 10_001),
    "itself": (ITSELF, b""),
    "two records": (BOTH, b"\0" + b"\x02" * 10_000 + b"\0"),
}


def answering(
    monkeypatch: pytest.MonkeyPatch, *answers: httpx.Response
) -> tuple[Registry, list[str]]:
    """A registry with these answers, the last one again and again, and its requests' paths."""
    paths: list[str] = []

    def get(url: str, **_: Any) -> httpx.Response:
        paths.append(url)
        answer = answers[min(len(paths), len(answers)) - 1]
        answer.request = httpx.Request("GET", url)
        return answer

    monkeypatch.setattr(httpx, "get", get)
    return Registry(RegistrySettings(url="http://registry")), paths


@pytest.mark.parametrize("name", RECURSIVE)
def test_deep_avro_is_a_fault(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema, data = RECURSIVE[name]
    registry, _ = answering(monkeypatch, httpx.Response(200, json={"schema": json.dumps(schema)}))
    with pytest.raises(NotAnEvent, match="RecursionError"):
        registry.read(FRAME + data)


def test_recursive_avro_of_some_depth_is_read() -> None:
    value: Any = None
    for _ in range(30):
        value = {"next": value}
    file = BytesIO()
    fastavro.schemaless_writer(file, fastavro.parse_schema(LIST, {}), value)
    assert reader(json.dumps(LIST), {})(file.getvalue()) == value


@pytest.mark.parametrize("levels", [100, 300, 900, 5_000])
def test_a_deep_schema_is_read_or_a_fault(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = '{"type": "array", "items": ' * levels + '"int"' + "}" * levels
    registry, _ = answering(monkeypatch, httpx.Response(200, json={"schema": schema}))
    try:
        value = registry.read(FRAME + b"\x02" * levels + b"\x08" + b"\0" * levels)
    except NotAnEvent:
        return
    assert str(value) == "[" * levels + "4" + "]" * levels


@pytest.mark.parametrize(
    "items",
    ["null", {"type": "record", "name": "E", "fields": []},
     {"type": "record", "name": "N", "fields": [{"name": "n", "type": "null"}]},
     {"type": "fixed", "name": "F", "size": 0}],
)  # fmt: skip
def test_an_array_of_nothing_is_a_fault(items: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = json.dumps({"type": "array", "items": items})
    registry, _ = answering(monkeypatch, httpx.Response(200, json={"schema": schema}))
    with pytest.raises(NotAnEvent, match="no bound"):
        registry.read(FRAME + b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\0")


@pytest.mark.parametrize(
    "answer",
    [*(httpx.Response(status, json={"error_code": status}) for status in (404, 400, 410, 422)),
     httpx.Response(200, json={"schema": "{"}),
     httpx.Response(200, json={"schema": "{}", "schemaType": "XML"})],
)  # fmt: skip
def test_a_bad_id_is_a_fault_and_asked_for_once(
    answer: httpx.Response, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry, paths = answering(monkeypatch, answer, httpx.Response(200, json={"schema": '"int"'}))
    for _ in range(100):
        with pytest.raises(NotAnEvent, match="schema 7: "):
            registry.read(FRAME)
    assert len(paths) == 1
    monkeypatch.setattr(schema_registry, "FAULT_SECONDS", 0.0)
    registry._faults.clear()
    assert registry.read(FRAME + b"\x08") == 4


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_a_registry_that_cannot_answer_decides_nothing(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry, _ = answering(
        monkeypatch, httpx.Response(status), httpx.Response(200, json={"schema": '"int"'})
    )
    with pytest.raises(RegistryAway):
        registry.read(FRAME)
    assert registry.read(FRAME + b"\x08") == 4


STATUSES = (200, 204, 302, 400, 404, 410)
NO_SCHEMAS: list[Any] = [
    [], {}, 5, {"status": "maintenance"}, {"schema": 5}, {"schema": '"int"', "schemaType": []},
    {"schema": '"int"', "references": [{}]}, {"schema": '"int"', "references": 5},
]  # fmt: skip
NO_REJECTIONS: list[Any] = [[], {}, {"error_code": "x"}]
OF_OTHERS = [
    *(httpx.Response(status, html="<p>We are back soon.</p>") for status in STATUSES),
    *(httpx.Response(200, json=answer) for answer in NO_SCHEMAS),
    *(httpx.Response(404, json=answer) for answer in NO_REJECTIONS),
    httpx.Response(200, content=b"[" * 100_000),
]
TYPES = httpx.Response(200, json=["AVRO", "JSON", "PROTOBUF"])
SECONDS = 200


def errors_of_reading(
    of_id: httpx.Response,
    of_probe: Callable[[int], httpx.Response],
    monkeypatch: pytest.MonkeyPatch,
) -> list[type[Exception]]:
    """What reading the id raises each second, if the registry's URL gives these replies."""
    clock = SimpleNamespace(now=0)
    monkeypatch.setattr(schema_registry, "time", SimpleNamespace(monotonic=lambda: clock.now))

    def get(url: str, **_: Any) -> httpx.Response:
        return of_probe(clock.now) if url.endswith(schema_registry.PROBE) else of_id

    monkeypatch.setattr(httpx, "get", get)
    registry, errors = Registry(RegistrySettings(url="http://registry")), []
    for clock.now in range(SECONDS):
        with pytest.raises((NotAnEvent, RegistryAway)) as raised:
            registry.read(FRAME)
        errors.append(raised.type)
    return errors


@pytest.mark.parametrize("answer", OF_OTHERS)
def test_an_id_without_a_registrys_answer_is_a_fault_in_time(
    answer: httpx.Response, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The registry answers other requests: the id cannot stall its lane for ever."""
    errors = errors_of_reading(answer, lambda _: TYPES, monkeypatch)
    waiting = int(schema_registry.TRY_SECONDS)
    assert errors == [RegistryAway] * waiting + [NotAnEvent] * (SECONDS - waiting)


@pytest.mark.parametrize("answer", OF_OTHERS)
def test_a_proxys_replies_in_an_outage_are_no_fault(
    answer: httpx.Response, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the registry answers in between, for less than it takes to judge an id."""
    errors = errors_of_reading(answer, lambda second: TYPES if second % 25 else answer, monkeypatch)
    assert errors == [RegistryAway] * SECONDS


def test_a_number_of_protobuf_has_a_bound() -> None:
    with pytest.raises(ValueError, match="64 bits"):
        _varint(b"\xff" * 1_000_000, 0)


def test_a_schema_that_the_compiler_refuses_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"schemaType": "PROTOBUF", "schema": "message {" * 10_000}
    registry, paths = answering(monkeypatch, httpx.Response(200, json=answer))
    for _ in range(2):
        with pytest.raises(NotAnEvent, match="protoc does not compile it"):
            registry.read(FRAME + b"\0")
    assert len(paths) == 1
