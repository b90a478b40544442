"""Protobuf messages by the text of their `.proto` file, as Protobuf's JSON has them."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

COMPILE_SECONDS = 60
MAX_VARINT = 10
"""Bytes of a number of 64 bits."""
MAIN = "turnfold_main_schema.proto"


def reader(schema: str, referred: dict[str, str]) -> Callable[[bytes], Any]:
    """What reads the data of a message: which type of the schema it is, then its bytes."""
    files = _compiled(schema, referred)
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    main = next(file for file in files.file if file.name == MAIN)
    classes: dict[tuple[int, ...], Any] = {}

    def read(data: bytes) -> Any:
        path, at = _path(data)
        if path not in classes:
            found = pool.FindMessageTypeByName(_name(main, path))
            classes[path] = message_factory.GetMessageClass(found)
        message = classes[path].FromString(data[at:])
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
        # a process of its own: a schema that crashes the compiler is then one that does not compile
        if subprocess.run(command, capture_output=True, timeout=COMPILE_SECONDS).returncode:
            raise ValueError("protoc does not compile it")
        return descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())


def _path(data: bytes) -> tuple[tuple[int, ...], int]:
    """Which message of the file it is, by the places of it and of those around it; and where the
    message begins. A single 0 stands for the first."""
    count, at = _varint(data, 0)
    path = []
    for _ in range(count):
        place, at = _varint(data, at)
        path.append(place)
    return tuple(path) or (0,), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A zigzag number of several bytes, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift >= 7 * MAX_VARINT:
            raise ValueError("a number of more than 64 bits")
    return (value >> 1) ^ -(value & 1), at


def _name(file: descriptor_pb2.FileDescriptorProto, path: tuple[int, ...]) -> str:
    if min(path) < 0:
        raise ValueError("no message of the schema")
    found: Any = file.message_type[path[0]]
    names = [file.package, found.name] if file.package else [found.name]
    for place in path[1:]:
        found = found.nested_type[place]
        names.append(found.name)
    return ".".join(names)
