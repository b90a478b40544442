"""Decodes Avro data by the text of their schema into JSON values.

fastavro's compiled reader recurses without a limit, so data of a recursive schema could exhaust the
stack and crash the process. Recursive and very deep schemas are read by fastavro's Python reader,
which raises RecursionError instead.
"""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import msgspec
from fastavro import _read_py, parse_schema, schemaless_reader

DEEP = 64
"""Maximum depth of a schema for the compiled reader."""


def reader(schema: str, referred: dict[str, str]) -> Callable[[bytes], Any]:
    """Reader of a message's data. Raises ValueError for a schema with unbounded data."""
    names: dict[str, Any] = {}
    for text in referred.values():
        parse_schema(json.loads(text), names)
    parsed = parse_schema(json.loads(schema), names)
    shape = _Shape(names)
    shape.size(parsed, 0)
    decode = _read_py.schemaless_reader if shape.needs_checks else schemaless_reader

    def read(data: bytes) -> Any:
        file = BytesIO(data)
        value = decode(file, parsed, None)
        if file.tell() != len(data):
            raise ValueError("bytes are left")
        return msgspec.to_builtins(value)

    return read


class _Shape:
    """Analysis of a schema. `needs_checks`: it is recursive or very deep."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.needs_checks = False
        self._names = names
        self._sizes: dict[str, int] = {}
        self._open: set[str] = set()

    def size(self, schema: Any, depth: int) -> int:
        """Minimum bytes of a value. Raises ValueError for an array of values without bytes: a few
        bytes could encode any number of them."""
        self.needs_checks |= depth > DEEP
        if isinstance(schema, list):
            for branch in schema:
                self.size(branch, depth + 1)
            return 1
        if isinstance(schema, str):
            return self._named(schema, depth)
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._record(schema, depth)
        if kind == "array":
            if not self.size(schema["items"], depth + 1):
                raise ValueError("an array of values without bytes has no bound")
            return 1
        if kind == "map":
            self.size(schema["values"], depth + 1)
            return 1
        if kind == "fixed":
            return int(schema["size"])
        return 1 if kind == "enum" else self.size(kind, depth)

    def _named(self, name: str, depth: int) -> int:
        if name in self._open:
            self.needs_checks = True
            return 1  # the array is within it
        if name in self._sizes or name not in self._names:
            return self._sizes.get(name, 0 if name == "null" else 1)
        return self.size(self._names[name], depth)

    def _record(self, schema: Any, depth: int) -> int:
        name = schema["name"]
        if name not in self._sizes:
            self._open.add(name)
            self._sizes[name] = sum(
                self.size(field["type"], depth + 1) for field in schema["fields"]
            )
            self._open.remove(name)
        return self._sizes[name]
