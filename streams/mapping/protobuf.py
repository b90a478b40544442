"""Decodes Protobuf messages by the text of their `.proto` file into Protobuf's JSON format.

A submessage of two bytes takes as much memory as its type has fields. Data that could take much are
counted before they are decoded.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor

from sinks.decompress import MAX_BYTES, Budget

COMPILE_SECONDS = 60
MAX_VARINT = 10
"""Maximum bytes of a 64-bit varint."""
MAIN = "turnfold_main_schema.proto"
MAX_NAME = 1_000
"""Maximum characters of a field's or symbol's name: one byte of data can become it."""
MESSAGE_BYTES, FIELD_BYTES = 200, 16
"""Memory of a decoded message without fields, and of each field of its type."""
VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
"""Wire types."""
_WIDTHS = {FIXED64: 8, FIXED32: 4}
_CONTINUED = bytes(range(0x80, 0x100))
TEXTS = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)
ANY = "google.protobuf.Any"


def reader(schema: str, referred: dict[str, str]) -> Callable[[bytes], Any]:
    """Reader of a message's data: its type's path in the schema, then its bytes. Raises
    ValueError."""
    files = _compiled(schema, referred)
    widest = max(_width(type.field) for file in files.file for type in _types(file))
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    main = next(file for file in files.file if file.name == MAIN)
    classes: dict[tuple[int, ...], Any] = {}

    def read(data: bytes) -> Any:
        path, offset = _path(data)
        if path not in classes:
            descriptor = pool.FindMessageTypeByName(_name(main, path))
            classes[path] = message_factory.GetMessageClass(descriptor)
        if len(data) * widest > MAX_BYTES:
            _count(data[offset:], classes[path].DESCRIPTOR, Budget(), widest)
        message = classes[path].FromString(data[offset:])
        return json_format.MessageToDict(
            message, preserving_proto_field_name=True, descriptor_pool=pool
        )

    return read


def _types(scope: Any) -> Iterator[Any]:
    """The message types of a file or message, with nested ones. Raises ValueError."""
    for enum in scope.enum_type:
        _check_names(enum.value)
    for type in [*getattr(scope, "message_type", ()), *getattr(scope, "nested_type", ())]:
        _check_names(type.field)
        yield type
        yield from _types(type)


def _check_names(members: Any) -> None:
    if any(len(member.name) > MAX_NAME for member in members):
        raise ValueError(f"a name of more than {MAX_NAME} characters")


def _width(fields: Any) -> int:
    """Bytes of memory of a message with these fields in its type."""
    return MESSAGE_BYTES + FIELD_BYTES * len(fields)


def _count(data: bytes, type: Any, budget: Budget, widest: int) -> None:
    """Spends the memory and the values of a message. Raises TooMuch, ValueError, IndexError."""
    waiting = [(data, type)]
    while waiting:
        data, type = waiting.pop()
        budget.spend(_width(type.fields), 1)
        offset = 0
        while offset < len(data):
            tag, offset = _unsigned(data, offset)
            number, wire = tag >> 3, tag & 7
            budget.spend(0, 1)
            if wire == VARINT:
                _, offset = _unsigned(data, offset)
            elif wire in _WIDTHS:
                offset += _WIDTHS[wire]
            elif wire == LENGTH:
                size, start = _unsigned(data, offset)
                offset = start + size
                part = data[start:offset]
                field = type.fields_by_number.get(number)
                if field is not None and field.message_type is not None:
                    waiting.append((part, field.message_type))
                elif type.full_name == ANY:  # decoded by the type that it names
                    budget.spend(len(part) // 2 * widest, len(part) // 2)
                elif field is not None and field.type not in TEXTS:
                    budget.spend(0, len(part.translate(None, _CONTINUED)))
            else:
                raise ValueError("a group in a long message")


def _compiled(schema: str, referred: dict[str, str]) -> descriptor_pb2.FileDescriptorSet:
    with TemporaryDirectory() as folder:
        for name, text in {**referred, MAIN: schema}.items():
            parts = PurePosixPath(name)
            if parts.is_absolute() or ".." in parts.parts:
                raise ValueError(f"a reference named {name}")
            file = Path(folder, *parts.parts)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        out = Path(folder) / "compiled"
        command = [
            sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", "--include_imports",
            f"--descriptor_set_out={out}", MAIN,
        ]  # fmt: skip
        # in a separate process, as a schema may crash the compiler
        if subprocess.run(command, capture_output=True, timeout=COMPILE_SECONDS).returncode:
            raise ValueError("protoc does not compile it")
        return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())


def _path(data: bytes) -> tuple[tuple[int, ...], int]:
    """Path of the message's type by indices in the file and its enclosing types, and the start of
    the data. A single 0 is the first type."""
    count, offset = _varint(data, 0)
    path = []
    for _ in range(count):
        place, offset = _varint(data, offset)
        path.append(place)
    return tuple(path) or (0,), offset


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """Decodes a zigzag varint; returns also the next offset."""
    value, offset = _unsigned(data, offset)
    return (value >> 1) ^ -(value & 1), offset


def _unsigned(data: bytes, offset: int) -> tuple[int, int]:
    """Decodes a varint; returns also the next offset."""
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, offset
        shift += 7
        if shift >= 7 * MAX_VARINT:
            raise ValueError("a number of more than 64 bits")


def _name(file: descriptor_pb2.FileDescriptorProto, path: tuple[int, ...]) -> str:
    if min(path) < 0:
        raise ValueError("no message of the schema")
    message: Any = file.message_type[path[0]]
    names = [file.package, message.name] if file.package else [message.name]
    for place in path[1:]:
        message = message.nested_type[place]
        names.append(message.name)
    return ".".join(names)
