"""Data for a schema of the registry are decoded or a fault, and cost little memory.

`tests/fuzz` changes the data of `readers`.
"""

import json
import tracemalloc
from collections.abc import Callable
from functools import cache
from io import BytesIO
from typing import Any

import fastavro
import msgspec
import pytest

from streams.mapping import avro, protobuf

SMALL, LARGE = 2_000, 1_900_000
MOST_MEMORY = 50_000_000


def varint(number: int) -> bytes:
    """An unsigned number."""
    digits = [number >> shift & 0x7F for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([*(digit | 0x80 for digit in digits[:-1]), digits[-1]])


def long(number: int) -> bytes:
    """A number of Avro."""
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def array(items: Any) -> Any:
    return {"type": "array", "items": items}


def record(name: str, /, **fields: Any) -> Any:
    fields_of = [{"name": field, "type": type} for field, type in fields.items()]
    return {"type": "record", "name": name, "fields": fields_of}


def doubling(depth: int) -> Any:
    """A record without bytes of two such records, and so on."""
    type = record("R0")
    for level in range(1, depth):
        type = record(f"R{level}", a=type, b=f"R{level - 1}")
    return type


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 2_000_000_000, "scale": 2}
WIDE = record("W", **{f"f{at}": "null" for at in range(10_000)}, x="boolean")
CHAIN = [record(f"A{at}", x=f"A{at - 1}" if at else "int") for at in range(5_000)]
AVRO: dict[str, tuple[Any, bytes]] = {
    "records without bytes": (doubling(40), b""),
    "many fields without bytes": (array(WIDE), long(SMALL) + b"\0" * (SMALL + 1)),
    "a long symbol": (array({"type": "enum", "name": "E", "symbols": ["s" * 1_000_000]}),
                      long(SMALL) + b"\0" * (SMALL + 1)),
    "a long name": (array(record("N", **{"n" * 1_000_000: "int"})),
                    long(SMALL) + b"\0" * (SMALL + 1)),
    "a long decimal": (DECIMAL, long(LARGE) + b"\x7f" * LARGE),
    "a chain of names": (CHAIN, long(4_999) + b"\0"),
    "a long number": (record("L", next=["null", "L"]), b"\x02\xff" + b"\xff" * LARGE),
    "small records": (array(record("S", a="int")), long(LARGE) + b"\0" * (LARGE + 1)),
    "small maps": (array({"type": "map", "values": "int"}), long(LARGE) + b"\0" * (LARGE + 1)),
    "a count": (array("int"), long(2**62) + b"\0" * SMALL),
    "a negative count": (array("int"), b"\xff" * 9 + b"\x01" + b"\0" * SMALL),
    "a long string": ("string", long(2**40) + b"x" * SMALL),
    "a negative length": ("bytes", long(-(2**62)) + b"x" * SMALL),
    "a large fixed": ({"type": "fixed", "name": "F", "size": 2**31}, b"x" * SMALL),
    "a far branch": (["null", "int"], long(2**40)),
    "a far symbol": ({"type": "enum", "name": "E", "symbols": ["a"]}, long(-(2**40))),
}  # fmt: skip


def type_of(name: str, *fields: str) -> str:
    numbered = (f"{field} = {number};" for number, field in enumerate(fields, 1))
    return f"message {name} {{ {' '.join(numbered)} }}\n"


WIDE_PROTO = type_of("M", "repeated W w") + type_of("W", *(f"string f{at}" for at in range(3_000)))
LONG_SYMBOL = type_of("M", "repeated E e") + f"enum E {{ A = 0; {'n' * 60_000} = 1; }}"
PROTOBUF: dict[str, tuple[str, bytes]] = {
    "wide messages": (WIDE_PROTO, b"\x0a\0" * (SMALL // 2)),
    "many wide messages": (WIDE_PROTO, b"\x0a\0" * (LARGE // 2)),
    "small messages": (type_of("M", "repeated M m"), b"\x0a\0" * (LARGE // 2)),
    "packed numbers": (type_of("M", "repeated int64 a"),
                       b"\x0a" + varint(LARGE) + b"\x01" * LARGE),
    "a long symbol": (LONG_SYMBOL, b"\x0a" + varint(SMALL) + b"\x01" * SMALL),
    "open groups": (type_of("M", "int32 a"), b"\x13" * SMALL),
    "many open groups": (type_of("M", "int32 a"), b"\x13" * LARGE),
    "a long length": (type_of("M", "bytes a"), b"\x0a" + varint(2**63) + b"x" * SMALL),
}  # fmt: skip


def peak(read: Callable[[], object]) -> int:
    """Bytes of memory. Only what Python allocates is counted, not a message of Protobuf."""
    tracemalloc.start()
    try:
        read()
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return most


@pytest.mark.parametrize("name", AVRO)
def test_avro_is_a_fault_and_takes_little_memory(name: str) -> None:
    schema, data = AVRO[name]
    text = json.dumps(schema)

    def read() -> None:
        with pytest.raises(Exception):  # noqa: B017 - each library has its own
            msgspec.json.encode(avro.reader(text, {})(data))

    assert peak(read) < MOST_MEMORY + 5 * len(text)


@pytest.mark.parametrize("name", PROTOBUF)
def test_protobuf_is_a_fault(name: str) -> None:
    schema, data = PROTOBUF[name]
    with pytest.raises(Exception):  # noqa: B017
        protobuf.reader(f'syntax = "proto3";\n{schema}', {})(b"\0" + data)


# --- data to change -------------------------------------------------------------------------------

TREE = record("T", name="string", kind={"type": "enum", "name": "K", "symbols": ["a", "b"]},
              inside=array("T"), next=["null", "T"], of={"type": "map", "values": ["int", "T"]},
              key={"type": "fixed", "name": "F", "size": 4}, amount=DECIMAL,
              at={"type": "long", "logicalType": "timestamp-micros"},
              none=["null", "double"])  # fmt: skip
FLAT = record("T", name="string", kind={"type": "enum", "name": "K", "symbols": ["a", "b"]},
              inside=array(record("I", x=["null", "bytes"])), of={"type": "map", "values": "float"},
              amount=DECIMAL, key={"type": "fixed", "name": "F", "size": 4})  # fmt: skip
PROTO = """syntax = "proto2";
import "google/protobuf/any.proto"; import "google/protobuf/struct.proto";
message M {
  optional string name = 1; repeated M inside = 2; map<string, M> of = 3; repeated sint64 n = 4;
  repeated fixed32 f = 5 [packed = true]; optional google.protobuf.Any any = 6;
  optional google.protobuf.Value value = 7; optional group G = 8 { repeated M m = 1; }
  optional bytes key = 9; repeated E e = 10; }
enum E { A = 0; B = 1; }
message Empty { message Inner {} }
"""


def _leaf(**more: Any) -> dict[str, Any]:
    return {
        "name": "n",
        "kind": "b",
        "inside": [],
        "of": {},
        "key": b"1234",
        "amount": b"\x01",
    } | more


@cache
def readers() -> list[tuple[Callable[[bytes], Any], bytes]]:
    """Readers, each with data to change."""
    inner = _leaf(next=None, at=5, none=2.5)
    tree = inner | {"inside": [inner] * 3, "next": inner, "of": {"a": 7, "b": inner}}
    flat = _leaf(inside=[{"x": None}, {"x": b"xyz"}] * 3, of={"k": 1.5})
    made = list[tuple[Callable[[bytes], Any], bytes]]()
    for schema, value in ((TREE, tree), (FLAT, flat)):
        file = BytesIO()
        fastavro.schemaless_writer(
            file, fastavro.parse_schema(json.loads(json.dumps(schema))), value
        )
        made.append((avro.reader(json.dumps(schema), {}), file.getvalue()))
    small = b"\x0a\x01n\x20\x05\x2a\x04abcd\x4a\x02xy\x50\x01"
    entry = b"\x0a\x01k\x12" + varint(len(small)) + small
    group = b"\x43\x0a" + varint(len(small)) + small + b"\x44"
    data = small + b"\x12" + varint(len(small)) + small + b"\x1a" + varint(len(entry)) + entry
    of_any = b"\x32\x0a\x0a\x03x/M\x12\x03\x0a\x01n" + b"\x3a\x06\x32\x04\x0a\x02\x08\x00"
    made.append((protobuf.reader(PROTO, {}), b"\0" + data + group + of_any))
    return made


def test_data_are_decoded() -> None:
    assert all(read(data) for read, data in readers())
