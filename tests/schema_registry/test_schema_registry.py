"""Messages framed with a schema's id, read by a real registry: Avro, Protobuf, JSON."""

import json
import socket
import struct
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import grpc_tools
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc_tools import protoc

from streams.errors import ConfigurationError, Unreachable
from streams.folds.effects import Input
from streams.mapping.envelopes import Message
from streams.mapping.mapper import Mapped, Mapper, Source
from streams.mapping.schema_registry import Registry, RegistrySettings
from streams.pipeline.decode import Dead
from tests.command import environment
from tests.fault.proxy import Proxy
from tests.kafka.counting import PARTITIONS
from tests.kafka.mapped_topics import await_mapped, await_ready, create, notes, send
from tests.kafka.working import alone
from tests.schema_registry.registry_server import RegistryServer

pytestmark = pytest.mark.nightly

FIELDS = {
    "event_id": "id",
    "session_id": "room.name",
    "user_input": "text",
    "occurred_at": "sent",
}
EXPECTED = {"type": "turn", "event_id": "e", "session_id": "s", "user_input": "hi",
            "occurred_at": "2026-01-01T00:00:00Z"}  # fmt: skip
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
ROOM = {"type": "record", "name": "Room", "namespace": "chat",
        "fields": [{"name": "name", "type": "string"}]}  # fmt: skip
SAID = {
    "type": "record",
    "name": "Said",
    "namespace": "chat",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "room", "type": "chat.Room"},
        {"name": "text", "type": ["null", "string"]},
        {"name": "sent", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
ROOM_PROTO = 'syntax = "proto3"; package common; message Room { string name = 1; }'
SAID_PROTO = """
syntax = "proto3";
package chat;
import "common/room.proto";
import "google/protobuf/timestamp.proto";
message Typing { string by = 1; }
message Outer {
  message Said {
    string id = 1;
    common.Room room = 2;
    string text = 3;
    google.protobuf.Timestamp sent = 4;
  }
}
"""


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryServer]:
    with RegistryServer.start(tmp_path_factory.mktemp("registry")) as server:
        yield server


@pytest.fixture(autouse=True)
def told(registry: RegistryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_REGISTRY_URL", registry.url)


def mapping(folder: Path, **more: Any) -> Path:
    file = folder / "chat.yaml"
    source = {"encoding": "confluent", "records": [{"type": "turn", "fields": FIELDS}], **more}
    file.write_text(json.dumps({"version": 1, "sources": {"chat": source}}))
    return file


@pytest.fixture
def source(tmp_path: Path) -> Source:
    return Mapper(mapping(tmp_path)).sources["chat"]


def framed(id: int, data: bytes) -> bytes:
    return struct.pack(">bI", 0, id) + data


def mapped(source: Source, value: bytes) -> Mapped:
    return source.map(value, ("chat", 0, 1), Message("chat", 0))


def record(found: Mapped) -> Any:
    assert isinstance(found.found, Input), found
    return json.loads(found.line)


def refusal(found: Mapped) -> str:
    assert isinstance(found.found, Dead), found
    assert found.found.reason == "invalid"
    return found.found.detail


# --- Avro -----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def avro(registry: RegistryServer) -> int:
    registry.register("room", json.dumps(ROOM), "AVRO")
    said = json.dumps(SAID)
    return registry.register("said-value", said, "AVRO", **{"chat.Room": ("room", 1)})


def in_avro(**more: Any) -> bytes:
    names: dict[str, Any] = {}
    fastavro.parse_schema(ROOM, names)
    schema = fastavro.parse_schema(json.loads(json.dumps(SAID)), names)
    said = {
        "id": "e",
        "room": {"name": "s"},
        "text": "hi",
        "sent": datetime(2026, 1, 1, tzinfo=UTC),
    }
    file = BytesIO()
    fastavro.schemaless_writer(file, schema, said | more)
    return file.getvalue()


@pytest.mark.component
def test_avro_with_a_reference_is_mapped(source: Source, avro: int) -> None:
    assert record(mapped(source, framed(avro, in_avro()))) == EXPECTED
    assert "user_input" not in record(mapped(source, framed(avro, in_avro(text=None))))


def test_a_withheld_request_in_avro_is_withheld(source: Source, registry: RegistryServer) -> None:
    schema = {"type": "record", "name": "Origin",
              "fields": [{"name": "source", "type": "string"}]}  # fmt: skip
    id = registry.register("origin", json.dumps(schema), "AVRO")
    file = BytesIO()
    fastavro.schemaless_writer(file, fastavro.parse_schema(schema), {"source": "meta_request"})
    assert mapped(source, framed(id, file.getvalue())).found == "withheld"


def test_what_does_not_fit_is_a_dead_letter(source: Source, avro: int) -> None:
    whole = in_avro()
    for value in (whole[:-3], whole + b"x", b"\xff" * 12):
        assert f"schema {avro}: the data do not fit it" in refusal(
            mapped(source, framed(avro, value))
        )
    for value in (b"", b"\x00\x00", b'{"id": "e"}'):
        assert "expected Confluent's framing" in refusal(mapped(source, value))
    assert refusal(mapped(source, framed(999_999, whole))) == (
        "schema 999999: is not in the registry"
    )
    assert mapped(source, None).found == "skipped"  # type: ignore[arg-type]


# --- JSON -----------------------------------------------------------------------------------------


def test_json_is_mapped(source: Source, registry: RegistryServer) -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}
    id = registry.register("json-value", json.dumps(schema), "JSON")
    event = {"id": "e", "room": {"name": "s"}, "text": "hi", "sent": "2026-01-01T00:00:00Z"}
    assert record(mapped(source, framed(id, json.dumps(event).encode()))) == EXPECTED
    assert "do not fit it" in refusal(mapped(source, framed(id, b"{")))
    list_of = mapped(source, framed(id, b"[]")).found
    assert isinstance(list_of, Dead)
    assert list_of.reason == "not_an_object"


# --- Protobuf -------------------------------------------------------------------------------------


def in_protobuf(name: str, said: dict[str, Any]) -> bytes:
    """A message as protoc's own classes write it."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "common").mkdir()
        (Path(folder) / "common/room.proto").write_text(ROOM_PROTO)
        (Path(folder) / "said.proto").write_text(SAID_PROTO)
        common, out = Path(grpc_tools.__file__).parent / "_proto", Path(folder) / "out"
        assert protoc.main(["protoc", f"-I{folder}", f"-I{common}", "--include_imports",
                                 f"--descriptor_set_out={out}", "said.proto"]) == 0  # fmt: skip
        pool = descriptor_pool.DescriptorPool()
        for file in descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file:
            pool.Add(file)
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()
    return json_format.ParseDict(said, made).SerializeToString()


@pytest.mark.component
def test_protobuf_with_a_reference_and_a_nested_message_is_mapped(
    source: Source, registry: RegistryServer
) -> None:
    registry.register("room-proto", ROOM_PROTO, "PROTOBUF")
    id = registry.register(
        "said-proto", SAID_PROTO, "PROTOBUF", **{"common/room.proto": ("room-proto", 1)}
    )
    said = {"id": "e", "room": {"name": "s"}, "text": "hi", "sent": "2026-01-01T00:00:00Z"}
    data = in_protobuf("chat.Outer.Said", said)
    # two places: Outer is the second message of the file, Said the first within it
    assert record(mapped(source, framed(id, b"\x04\x02\x00" + data))) == EXPECTED
    typing = in_protobuf("chat.Typing", {"by": "u"})
    assert "Field required" in refusal(mapped(source, framed(id, b"\x00" + typing)))
    for wrong in (b"", b"\x02\x0c", b"\x02\x01", b"\x04\x02\x00\xff\xff"):
        assert "do not fit it" in refusal(mapped(source, framed(id, wrong)))


# --- the registry ---------------------------------------------------------------------------------


def test_debezium_in_avro_is_unwrapped(tmp_path: Path, registry: RegistryServer) -> None:
    row = json.loads(json.dumps(SAID))
    row["fields"][1]["type"] = ROOM
    change = {"type": "record", "name": "Envelope", "fields": [
        {"name": "op", "type": "string"}, {"name": "before", "type": ["null", row]},
        {"name": "after", "type": ["null", "chat.Said"]},
    ]}  # fmt: skip
    id = registry.register("envelope", json.dumps(change), "AVRO")
    schema = fastavro.parse_schema(json.loads(json.dumps(change)))
    said = {
        "id": "e",
        "room": {"name": "s"},
        "text": "hi",
        "sent": datetime(2026, 1, 1, tzinfo=UTC),
    }
    changes = Mapper(mapping(tmp_path, format="debezium")).sources["chat"]
    for op, before, after in (("c", None, said), ("d", said, None)):
        file = BytesIO()
        fastavro.schemaless_writer(file, schema, {"op": op, "before": before, "after": after})
        found = mapped(changes, framed(id, file.getvalue()))
        assert (found.found == "skipped") if op == "d" else (record(found) == EXPECTED)


def test_the_registry_answers_the_probe() -> None:
    assert Registry(RegistrySettings.load())._answers()


@pytest.mark.component
def test_without_the_registry_nothing_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, avro: int
) -> None:
    with socket.socket() as bound:  # and does not listen
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setenv("TURNFOLD_REGISTRY_URL", f"http://127.0.0.1:{bound.getsockname()[1]}")
        away = Mapper(mapping(tmp_path)).sources["chat"]
        with pytest.raises(Unreachable, match="schema registry") as error:
            mapped(away, framed(avro, in_avro()))
    assert isinstance(error.value, OSError)  # a worker's lane tries again
    monkeypatch.delenv("TURNFOLD_REGISTRY_URL")
    with pytest.raises(ConfigurationError, match="set TURNFOLD_REGISTRY_URL, such as"):
        Mapper(mapping(tmp_path))


def test_a_worker_waits_for_the_registry(
    tmp_path: Path, registry: RegistryServer, avro: int
) -> None:
    with Proxy() as proxy, alone(tmp_path) as working:
        url = registry.url.replace(str(registry.port), str(proxy.port))
        proxy.target = registry.port
        proxy.stall()
        create(working, "chat", 1)
        env = environment(
            TURNFOLD_REGISTRY_URL=url, TURNFOLD_REGISTRY_TIMEOUT="0.5",
            **working.kafka,
        )  # fmt: skip
        working.start("--mapping", str(mapping(tmp_path)), env=env)
        await_ready(working, 2 * PARTITIONS + 1)
        send(working, "chat", [(b"k", framed(avro, in_avro()), ())])
        working.await_log(f"schema registry {url}: ", times=2)
        assert notes(working, "chat")["read"] == 0
        proxy.flow()
        assert await_mapped(working, "chat", 1) == {"read": 1, "mapped": 1}
        (sent,) = working.read("turns")
        assert json.loads(sent.value) == EXPECTED
