"""Decodes Avro data by the text of their schema into JSON values.

A few bytes may not cost much memory or time. A schema by which they could is a fault. Large data,
and data of a schema that is recursive or very deep, on which fastavro's compiled reader could
exhaust the stack and crash the process, are read by its Python reader, within a budget.
"""

import json
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, NamedTuple

import msgspec
from fastavro import _read_py, parse_schema, schemaless_reader
from fastavro.io.binary_decoder import BinaryDecoder
from fastavro.logical_readers import LOGICAL_READERS

from sinks.decompress import MAX_PIECES, Budget

DEEP = 64
"""Maximum depth of a schema for the compiled reader."""
PER_BYTE = 1_000
"""Maximum characters of JSON that a byte of data may become."""
VALUE = 8
"""Characters that count for a value besides names and symbols."""
MAX_VARINT = 10
"""Maximum bytes of a 64-bit number."""
MAX_DECIMAL = 256
"""Maximum bytes of a decimal: the time to convert it grows with their square."""


def _decimal(data: bytes, schema: Any, reader_schema: Any = None) -> Any:
    if len(data) > MAX_DECIMAL:
        raise ValueError(f"a decimal of {len(data)} bytes, at most {MAX_DECIMAL}")
    return _read_decimal(data, schema, reader_schema)


_read_decimal = LOGICAL_READERS["bytes-decimal"]
LOGICAL_READERS["bytes-decimal"] = LOGICAL_READERS["fixed-decimal"] = _decimal
_read_checked: Callable[..., Any] = _read_py.read_data


def reader(schema: str, referred: dict[str, str]) -> Callable[[bytes], Any]:
    """Reader of a message's data. Raises ValueError for a schema with unbounded data."""
    names: dict[str, Any] = {}
    for text in referred.values():
        parse_schema(json.loads(text), names)
    parsed = parse_schema(json.loads(schema), names)
    shape = _Shape(names)
    shape.check(parsed)
    named_schemas = {"writer": names, "reader": {}}

    def read(data: bytes) -> Any:
        file = BytesIO(data)
        if shape.needs_checks or len(data) > MAX_PIECES:
            value = _read_checked(_Decoder(file), parsed, named_schemas)
        else:
            value = schemaless_reader(file, parsed, None)
        if file.tell() != len(data):
            raise ValueError("bytes are left")
        return msgspec.to_builtins(value)

    return read


class _Decoder(BinaryDecoder):
    """Raises TooMuch for more values than the budget has, ValueError for too long numbers."""

    fo: BytesIO

    def __init__(self, file: BytesIO) -> None:
        self.fo = file
        self._budget = Budget()

    def read_long(self) -> int:
        self._budget.spend(0, 1)
        value = shift = 0
        for _ in range(MAX_VARINT):
            if not (piece := self.fo.read(1)):
                raise EOFError
            byte = piece[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (value >> 1) ^ -(value & 1)
            shift += 7
        raise ValueError("a number of more than 64 bits")

    read_int = read_enum = read_index = read_long

    def _iter_array_or_map(self) -> Iterator[None]:
        blocks: Any = super()
        for _ in blocks._iter_array_or_map():
            self._budget.spend(0, 1)
            yield

    iter_array = iter_map = _iter_array_or_map


class _Size(NamedTuple):
    """`bytes`: minimum of a value. `cost`: characters of that value as JSON. `height`: depth of the
    schema."""

    bytes: int
    cost: int
    height: int


class _Shape:
    """Analysis of a schema. `needs_checks`: it is recursive or very deep."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.needs_checks = False
        self._names = names
        self._sizes: dict[str, _Size] = {}
        self._open: set[str] = set()
        self._repeated: list[tuple[Any, int]] = []

    def check(self, schema: Any) -> None:
        """Raises ValueError if a few bytes could encode very much."""
        height = self._size(schema).height
        self.needs_checks |= height > DEEP
        self._repeated.append((schema, 1))
        for repeated, more in list(self._repeated):
            size = self._size(repeated)
            if size.cost > PER_BYTE * (size.bytes + more):
                detail = f"{size.cost} characters in {size.bytes + more} bytes"
                raise ValueError(f"the size of its values has no bound: {detail}")

    def _inside(self, schema: Any, more: int) -> int:
        """Height of a schema whose values occur any number of times, each with `more` bytes."""
        self._repeated.append((schema, more))
        return self._size(schema).height

    def _size(self, schema: Any) -> _Size:
        if isinstance(schema, list):
            height = max((self._inside(branch, 1) for branch in schema), default=0)
            return _Size(1, VALUE, 1 + height)
        if isinstance(schema, str):
            return self._named(schema)
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._record(schema)
        if kind in ("array", "map"):
            inside, more = ("items", 0) if kind == "array" else ("values", 1)
            return _Size(1, VALUE, 1 + self._inside(schema[inside], more))
        if kind == "fixed":
            return _Size(max(schema["size"], 0), VALUE, 1)
        if kind == "enum":
            return _Size(1, VALUE + max(map(len, schema["symbols"]), default=0), 1)
        return self._size(kind)

    def _named(self, name: str) -> _Size:
        if name in self._open:
            self.needs_checks = True
            return _Size(0, 0, 1)
        if name in self._sizes or name not in self._names:
            return self._sizes.get(name, _Size(0 if name == "null" else 1, VALUE, 1))
        size = self._sizes[name] = self._size(self._names[name])
        return size

    def _record(self, schema: Any) -> _Size:
        name = schema["name"]
        if name not in self._sizes:
            self._open.add(name)
            sizes = [self._size(field["type"]) for field in schema["fields"]]
            names = sum(VALUE + len(field["name"]) for field in schema["fields"])
            self._sizes[name] = _Size(
                sum(size.bytes for size in sizes),
                VALUE + names + sum(size.cost for size in sizes),
                1 + max((size.height for size in sizes), default=0),
            )
            self._open.remove(name)
        return self._sizes[name]
