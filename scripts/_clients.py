"""The clients out of the OpenAPI document (scripts/generate): Python, TypeScript.

The sync client of Python is the async one with the words of `BLOCKING`, sender and methods alike.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from _models import models
from _typescript import typescript

PYTHON = "clients/python/turnfold_client"
TYPESCRIPT = "clients/typescript/src"
MADE = "Made by scripts/generate from schemas/generated/openapi.json."
BLOCKING = (
    ("import asyncio", "import time"),
    ("asyncio.sleep", "time.sleep"),
    ("AsyncIterator, Callable", "Callable, Iterator"),
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
    (f"for event in blocks.feed(text):\n{32 * ' '}yield event", "yield from blocks.feed(text)"),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("Async", ""),
)  # fmt: skip
STREAM = "text/event-stream"

Json = dict[str, Any]


class Parameter(NamedTuple):
    """`place`: path, query or header."""

    name: str
    place: str
    required: bool
    kind: str

    @property
    def argument(self) -> str:
        """Its name in Python."""
        name = self.name.lower().replace("-", "_")
        return f"{name}_" if name in ("from", "to") else name

    @property
    def declared(self) -> str:
        """In a signature."""
        return f"{self.argument}: {self.kind}" + ("" if self.required else " | None = None")

    @property
    def value(self) -> str:
        """As it is sent."""
        if self.name == "Idempotency-Key":
            return f"key({self.argument}, content)"
        return f"moment({self.argument})" if self.kind == "Moment" else self.argument


class Operation(NamedTuple):
    """One method of the clients. `gives`: status -> a model's name, or None. `lists`: the field
    of a page that lists, and what."""

    name: str
    method: str
    path: str
    about: str
    parameters: tuple[Parameter, ...]
    takes: str | None
    gives: Mapping[int, str | None]
    streams: bool
    lists: tuple[str, str] | None

    @property
    def returns(self) -> str:
        """The type of its reply."""
        if self.streams:
            return "SessionEvent"
        return " | ".join(dict.fromkeys(name or "None" for name in self.gives.values()))

    @property
    def camel(self) -> str:
        """Its name in TypeScript."""
        return re.sub(r"_(\w)", lambda found: found[1].upper(), self.name)

    def signature(self, *, without: str = "") -> list[str]:
        """Its parameters in Python: those that must be given by place or name."""
        shown = [one for one in self.parameters if one.name != without]
        first = [one.declared for one in shown if one.place == "path"]
        if self.takes:
            first.append("records: Records" if self.takes == "records" else f"body: {self.takes}")
        first += [one.declared for one in shown if one.place != "path" and one.required]
        named = [one.declared for one in shown if not one.required]
        return [*first, *(["*"] if named else []), *named]

    def passed(self) -> list[str]:
        """Its parameters as they are passed on."""
        made = [one.argument for one in self.parameters if one.place == "path"]
        made += ["records" if self.takes == "records" else "body"] if self.takes else []
        named = [one.argument for one in self.parameters if one.place != "path"]
        return [*made, *(f"{name}={name}" for name in named)]


# --- reading the document ---------------------------------------------------------------------


def operations(document: Json) -> list[Operation]:
    """Every operation, in the document's order."""
    return [
        _operation(document, path, method, said)
        for path, methods in document["paths"].items()
        for method, said in methods.items()
    ]


def _operation(document: Json, path: str, method: str, said: Json) -> Operation:
    gives = {
        int(status): _model(reply)
        for status, reply in said["responses"].items()
        if status != "default" and not _is_problem(reply)
    }
    parameters = tuple(
        _parameter(one) for given in said.get("parameters", ()) for one in _spread(given)
    )
    return Operation(
        said["operationId"], method.upper(), path, said["description"], parameters,
        _body(said), gives, STREAM in said["responses"]["200"].get("content", {}),
        _lists(document, gives.get(200), parameters),
    )  # fmt: skip


def _is_problem(reply: Json) -> bool:
    return "application/problem+json" in reply.get("content", {})


def _model(reply: Json) -> str | None:
    (content,) = reply.get("content", {"": {"schema": {}}}).values()
    return content["schema"].get("$ref", "").rpartition("/")[2] or None


def _body(said: Json) -> str | None:
    if "requestBody" not in said:
        return None
    schema = said["requestBody"]["content"]["application/json"]["schema"]
    return _model({"content": {"": {"schema": schema}}}) or "records"


def _spread(said: Json) -> list[Json]:
    """A parameter, or the ones that an object of them spreads over the query."""
    if said["schema"].get("type") != "object":
        return [said]
    properties = said["schema"]["properties"].items()
    return [{"name": name, "in": said["in"], "schema": schema} for name, schema in properties]


def _parameter(said: Json) -> Parameter:
    schema = next(
        (one for one in said["schema"].get("anyOf", ()) if one.get("type") != "null"),
        said["schema"],
    )
    kind = {"integer": "int"}.get(schema["type"], "str")
    if "date-time" in str(schema):
        kind = "Moment"
    return Parameter(said["name"], said["in"], said.get("required", False), kind)


def _lists(
    document: Json, model: str | None, parameters: tuple[Parameter, ...]
) -> tuple[str, str] | None:
    if model is None or all(one.name != "cursor" for one in parameters):
        return None
    fields = document["components"]["schemas"][model]["properties"]
    (found,) = [(name, one) for name, one in fields.items() if one.get("type") == "array"]
    return found[0], found[1]["items"]["$ref"].rpartition("/")[2]


# --- Python -----------------------------------------------------------------------------------


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
    for word, other in BLOCKING:
        text = text.replace(word, other)
    return text


def _operations(every: list[Operation], schemas: list[str]) -> str:
    calls = "\n\n\n".join(_asked(one) for one in every)
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


def _asked(one: Operation) -> str:
    path = re.sub(r"{(\w+)}", r"{in_path(\1)}", one.path)
    statuses = ", ".join(f"{status}: {name}" for status, name in one.gives.items())
    given = [f'"{one.method}"', f'{"f" * (path != one.path)}"{path}"', f"{{{statuses}}}"]
    given += _sent(one, "query", "query") + _sent(one, "header", "headers")
    begin = ""
    if one.takes:
        made = "lines(records)" if one.takes == "records" else "encoded(body)"
        begin, given = f"    content = {made}\n", [*given, "content=content"]
        given += ["kind=NDJSON"] if one.takes == "records" else []
    head = _call(f"def {one.name}", one.signature(), f" -> Call[{one.returns}]:")
    call = _indented(_call("return Call", given))
    return f'{head}\n    """{one.method} {one.path}"""\n{begin}{call}'


def _sent(one: Operation, place: str, name: str) -> list[str]:
    entries = [f'"{each.name}": {each.value}' for each in one.parameters if each.place == place]
    return [_call(f"{name}=", entries, braces="{}")] if entries else []


def _methods(every: list[Operation], schemas: list[str]) -> str:
    methods = "\n\n".join(_indented(text) for one in every for text in _method(one))
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


def _method(one: Operation) -> Iterator[str]:
    returns, begin, send = one.returns, "async def", "return await self._send"
    if one.streams:
        returns, begin, send = f"AsyncIterator[{returns}]", "def", "return self._stream"
    head = _call(f"{begin} {one.name}", ["self", *one.signature()], f" -> {returns}:")
    asked = _call(f"operations.{one.name}", one.passed())
    yield f"{head}\n{_indented(_docstring(one))}\n{_indented(_call(send, [asked]))}"
    if one.lists:
        field, item = one.lists
        signature = ["self", *one.signature(without="cursor")]
        head = _call(f"def iter_{one.name}", signature, f" -> AsyncIterator[{item}]:")
        asked = _call(f"lambda cursor: operations.{one.name}", one.passed())
        body = _indented(_call("return self._pages", [asked, f"lambda page: page.{field}"]))
        yield f'{head}\n    """All that `{one.name}` lists, page by page."""\n{body}'


def _docstring(one: Operation) -> str:
    return "\n".join(textwrap.wrap(f'"""{" ".join(one.about.split())}"""', 92))


def _call(name: str, given: list[str], end: str = "", braces: str = "()") -> str:
    """A call or signature in a line, or with each argument on its own."""
    flat = f"{name}{braces[0]}{', '.join(given)}{braces[1]}{end}"
    if "\n" not in flat and len(flat) <= 88:
        return flat
    each = _indented("".join(f"{one},\n" for one in given))
    return f"{name}{braces[0]}\n{each}{braces[1]}{end}"


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")


def _imports(text: str, schemas: list[str]) -> str:
    """The models that a text names."""
    named = ", ".join(name for name in sorted(schemas) if re.search(rf"\b{name}\b", text))
    filled = textwrap.fill(named, 96, initial_indent="    ", subsequent_indent="    ")
    return f"from turnfold_client.models import (\n{filled},\n)"
