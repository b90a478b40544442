"""The clients, generated from the OpenAPI document (scripts/generate): Python, TypeScript.

The sync client of Python is the async one with the words of `BLOCKING`, sender and methods alike.
"""

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

from _models import models
from _operations import Json, Operation, operations
from _typescript import typescript

PYTHON = "clients/python/turnfold_client"
TYPESCRIPT = "clients/typescript/src"
MADE = "Made by scripts/generate from schemas/generated/openapi.json."
BLOCKING = (
    ("import asyncio\nimport logging\nimport os", "import logging\nimport os\nimport time"),
    ("in_thread", "in_place"),
    ("asyncio.sleep", "time.sleep"),
    ("AsyncIterator, Callable, Mapping", "Callable, Iterator, Mapping"),
    ("async_sender", "sync_sender"),
    ("scripts/generate makes `sync_sender.py` from this file.",
     "Made by scripts/generate from `async_sender.py`."),
    ("the async client", "the sync client"),
    ("async def ", "def "),
    ("async with ", "with "),
    ("async for ", "for "),
    ("await ", ""),
    ("aclose", "close"),
    ("aread", "read"),
    ("aiter_text", "iter_text"),
    ("aiter_bytes", "iter_bytes"),
    (f"for event in blocks.feed(text):\n{32 * ' '}yield event", "yield from blocks.feed(text)"),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("Async", ""),
)  # fmt: skip


def clients(document: Json, root: Path) -> dict[str, str]:
    """Path below the root -> text."""
    every = operations(document)
    sender = (root / PYTHON / "async_sender.py").read_text(encoding="utf-8")
    schemas = list(document["components"]["schemas"])
    methods = _methods(every, schemas)
    python = {
        "models.py": models(document, _head("Models of requests and replies.")),
        "operations.py": _operations(every, schemas),
        "async_client.py": methods,
        "sync_client.py": _blocking(methods),
        "sync_sender.py": _blocking(sender),
    }
    files = {f"{PYTHON}/{name}": text for name, text in python.items()}
    return files | {
        f"{TYPESCRIPT}/{name}": text for name, text in typescript(document, every).items()
    }


def _blocking(text: str) -> str:
    for word, replacement in BLOCKING:
        text = text.replace(word, replacement)
    return text


def _operations(every: list[Operation], schemas: list[str]) -> str:
    calls = "\n\n\n".join(_asked(operation) for operation in every)
    return f"""{_head_unsorted("The calls of every operation.")}
from turnfold_client.calls import (
    NDJSON, Call, Moment, Records, encoded, in_path, key, lines, moment,
)
from turnfold_client.events import SessionEvent
{_imports(calls, schemas)}


{calls}
"""


def _head(about: str) -> str:
    return f"""\"\"\"{about} {MADE}\"\"\"
# fmt: off
"""


def _head_unsorted(about: str) -> str:
    return f"{_head(about)}# ruff: noqa: I001\n"


def _asked(operation: Operation) -> str:
    path = re.sub(r"{(\w+)}", r"{in_path(\1)}", operation.path)
    statuses = ", ".join(f"{status}: {name}" for status, name in operation.gives.items())
    arguments = [
        f'"{operation.method}"',
        f'{"f" * (path != operation.path)}"{path}"',
        f"{{{statuses}}}",
    ]
    arguments += _sent(operation, "query", "query") + _sent(operation, "header", "headers")
    begin = ""
    if operation.takes:
        made = "lines(records)" if operation.takes == "records" else "encoded(body)"
        begin, arguments = f"    content = {made}\n", [*arguments, "content=content"]
        arguments += ["kind=NDJSON"] if operation.takes == "records" else []
    head = _call(f"def {operation.name}", operation.signature(), f" -> Call[{operation.returns}]:")
    call = _indented(_call("return Call", arguments))
    return f'{head}\n    """{operation.method} {operation.path}"""\n{begin}{call}'


def _sent(operation: Operation, place: str, name: str) -> list[str]:
    entries = [
        f'"{each.name}": {each.value}' for each in operation.parameters if each.place == place
    ]
    return [_call(f"{name}=", entries, braces="{}")] if entries else []


def _methods(every: list[Operation], schemas: list[str]) -> str:
    methods = "\n\n".join(_indented(text) for operation in every for text in _method(operation))
    return f"""{_head_unsorted("The methods of the async client.")}
from collections.abc import AsyncIterator

from turnfold_client import operations
from turnfold_client.async_sender import AsyncSender
from turnfold_client.calls import Moment, Records
from turnfold_client.events import SessionEvent
{_imports(methods, schemas)}


class AsyncTurnfold(AsyncSender):
    \"\"\"A server's endpoints. Every method raises `turnfold_client.errors`.\"\"\"

{methods}
"""


def _method(operation: Operation) -> Iterator[str]:
    returns, begin, send = operation.returns, "async def", "return await self._send"
    if operation.streams:
        returns, begin, send = f"AsyncIterator[{returns}]", "def", "return self._stream"
    if operation.is_lines:
        returns, begin, send = f"AsyncIterator[{returns}]", "def", "return self._lines"
    head = _call(f"{begin} {operation.name}", ["self", *operation.signature()], f" -> {returns}:")
    asked = _call(f"operations.{operation.name}", operation.passed())
    yield f"{head}\n{_indented(_docstring(operation))}\n{_indented(_call(send, [asked]))}"
    if operation.lists:
        field, item = operation.lists
        signature = ["self", *operation.signature(without="cursor")]
        head = _call(f"def iter_{operation.name}", signature, f" -> AsyncIterator[{item}]:")
        asked = _call(f"lambda cursor: operations.{operation.name}", operation.passed())
        body = _indented(_call("return self._pages", [asked, f"lambda page: page.{field}"]))
        yield f'{head}\n    """The items of all pages of `{operation.name}`."""\n{body}'


def _docstring(operation: Operation) -> str:
    return "\n".join(textwrap.wrap(f'"""{" ".join(operation.about.split())}"""', 92))


def _call(name: str, arguments: list[str], end: str = "", braces: str = "()") -> str:
    """A call or signature in a line, or with each argument on its own line."""
    flat = f"{name}{braces[0]}{', '.join(arguments)}{braces[1]}{end}"
    if "\n" not in flat and len(flat) <= 88:
        return flat
    each = _indented("".join(f"{argument},\n" for argument in arguments))
    return f"{name}{braces[0]}\n{each}{braces[1]}{end}"


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")


def _imports(text: str, schemas: list[str]) -> str:
    """The models that a text names."""
    named = ", ".join(name for name in sorted(schemas) if re.search(rf"\b{name}\b", text))
    filled = textwrap.fill(named, 96, initial_indent="    ", subsequent_indent="    ")
    return f"from turnfold_client.models import (\n{filled},\n)"
