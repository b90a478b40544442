"""Decodes Protobuf messages by the text of their `.proto` file into Protobuf's JSON format."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

COMPILE_SECONDS = 60
MAX_VARINT = 10
"""Maximum bytes of a 64-bit varint."""
MAIN = "turnfold_main_schema.proto"


def reader(schema: str, referred: dict[str, str]) -> Callable[[bytes], Any]:
    """Reader of a message's data: its type's path in the schema, then its bytes. Raises
    ValueError."""
    files = _compiled(schema, referred)
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
        message = classes[path].FromString(data[offset:])
        return json_format.MessageToDict(
            message, preserving_proto_field_name=True, descriptor_pool=pool
        )

    return read


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
    value = shift = 0
    while True:
        byte = data[offset]
        offset += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= 7 * MAX_VARINT:
            raise ValueError("a number of more than 64 bits")
    return (value >> 1) ^ -(value & 1), offset


def _name(file: descriptor_pb2.FileDescriptorProto, path: tuple[int, ...]) -> str:
    if min(path) < 0:
        raise ValueError("no message of the schema")
    message: Any = file.message_type[path[0]]
    names = [file.package, message.name] if file.package else [message.name]
    for place in path[1:]:
        message = message.nested_type[place]
        names.append(message.name)
    return ".".join(names)
