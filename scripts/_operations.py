"""The operations of the OpenAPI document, as the generated clients need them (scripts/generate)."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

STREAM = "text/event-stream"
LINES = "application/x-ndjson"

NAMES = {"q": "query"}
"""Parameters that have a plainer name in Python."""

Json = dict[str, Any]


class Parameter(NamedTuple):
    """`place`: path, query or header. `kind`: str, int or Moment."""

    name: str
    place: str
    required: bool
    kind: str

    @property
    def argument(self) -> str:
        """The name in Python."""
        name = NAMES.get(self.name, self.name).lower().replace("-", "_")
        return f"{name}_" if name in ("from", "to") else name

    @property
    def declared(self) -> str:
        """The declaration in a signature."""
        return f"{self.argument}: {self.kind}" + ("" if self.required else " | None = None")

    @property
    def value(self) -> str:
        """The expression that is sent."""
        if self.name == "Idempotency-Key":
            return f"key({self.argument}, content)"
        return f"moment({self.argument})" if self.kind == "Moment" else self.argument


class Operation(NamedTuple):
    """One method of the clients. `gives`: status -> the model's name, or None. `takes`: the model
    of the body, or `records`. `lists`: the field of a page that holds its items, and their model.
    """

    name: str
    method: str
    path: str
    about: str
    parameters: tuple[Parameter, ...]
    takes: str | None
    gives: Mapping[int, str | None]
    streams: bool
    lists: tuple[str, str] | None
    is_lines: bool
    """JSON lines, given one by one."""

    @property
    def returns(self) -> str:
        """The type of the reply."""
        if self.streams:
            return "SessionEvent"
        if self.is_lines:
            return "bytes"
        return " | ".join(dict.fromkeys(name or "None" for name in self.gives.values()))

    @property
    def camel(self) -> str:
        """The name in TypeScript."""
        return re.sub(r"_(\w)", lambda found: found[1].upper(), self.name)

    def signature(self, *, without: str = "") -> list[str]:
        """The parameters in Python: required ones first, the others by name only."""
        shown = [parameter for parameter in self.parameters if parameter.name != without]
        first = [parameter.declared for parameter in shown if parameter.place == "path"]
        if self.takes:
            first.append("records: Records" if self.takes == "records" else f"body: {self.takes}")
        first += [
            parameter.declared
            for parameter in shown
            if parameter.place != "path" and parameter.required
        ]
        named = [parameter.declared for parameter in shown if not parameter.required]
        return [*first, *(["*"] if named else []), *named]

    def passed(self) -> list[str]:
        """The arguments that pass the parameters on."""
        made = [parameter.argument for parameter in self.parameters if parameter.place == "path"]
        made += ["records" if self.takes == "records" else "body"] if self.takes else []
        named = [parameter.argument for parameter in self.parameters if parameter.place != "path"]
        return [*made, *(f"{name}={name}" for name in named)]


def operations(document: Json) -> list[Operation]:
    """Every operation, in the document's order."""
    return [
        _operation(document, path, method, declared)
        for path, methods in document["paths"].items()
        for method, declared in methods.items()
    ]


def _operation(document: Json, path: str, method: str, declared: Json) -> Operation:
    gives = {
        int(status): _model(reply)
        for status, reply in declared["responses"].items()
        if status != "default" and not _is_problem(reply)
    }
    parameters = tuple(
        _parameter(each)
        for parameter in declared.get("parameters", ())
        for each in _spread(parameter)
    )
    return Operation(
        declared["operationId"], method.upper(), path, declared["description"], parameters,
        _body(declared), gives, STREAM in declared["responses"]["200"].get("content", {}),
        _lists(document, gives.get(200), parameters),
        LINES in declared["responses"]["200"].get("content", {}),
    )  # fmt: skip


def _is_problem(reply: Json) -> bool:
    return "application/problem+json" in reply.get("content", {})


def _model(reply: Json) -> str | None:
    (content,) = reply.get("content", {"": {"schema": {}}}).values()
    return content["schema"].get("$ref", "").rpartition("/")[2] or None


def _body(declared: Json) -> str | None:
    if "requestBody" not in declared:
        return None
    schema = declared["requestBody"]["content"]["application/json"]["schema"]
    return _model({"content": {"": {"schema": schema}}}) or "records"


def _spread(parameter: Json) -> list[Json]:
    """A parameter, or those that one of type object spreads over the query."""
    if parameter["schema"].get("type") != "object":
        return [parameter]
    properties = parameter["schema"]["properties"].items()
    return [{"name": name, "in": parameter["in"], "schema": schema} for name, schema in properties]


def _parameter(parameter: Json) -> Parameter:
    schema = next(
        (each for each in parameter["schema"].get("anyOf", ()) if each.get("type") != "null"),
        parameter["schema"],
    )
    kind = {"integer": "int"}.get(schema["type"], "str")
    if "date-time" in str(schema):
        kind = "Moment"
    return Parameter(parameter["name"], parameter["in"], parameter.get("required", False), kind)


def _lists(
    document: Json, model: str | None, parameters: tuple[Parameter, ...]
) -> tuple[str, str] | None:
    if model is None or all(parameter.name != "cursor" for parameter in parameters):
        return None
    fields = document["components"]["schemas"][model]["properties"]
    ((name, schema),) = [
        (name, schema) for name, schema in fields.items() if schema.get("type") == "array"
    ]
    return name, schema["items"]["$ref"].rpartition("/")[2]
