"""Python models out of the OpenAPI document (scripts/generate): one pydantic class a schema."""

import json
import keyword
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from pydantic import TypeAdapter

from schemas import base, record

Json = dict[str, Any]
SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
BOUNDS = {
    "minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt",
    "minLength": "min_length", "maxLength": "max_length",
    "minItems": "min_length", "maxItems": "max_length", "pattern": "pattern",
}  # fmt: skip
ALIASES = {
    "Id": base.Id,
    "Tenant": base.Tenant,
    "Label": base.Label,
    "Text": record.Text,
    "Confidence": base.Confidence,
}
"""Bounded types that many fields have: they are declared once."""
MICROS = TypeAdapter(base.Micros).json_schema()
WIDTH = 96
"""Characters of a line inside a class."""
FACTORIES = {"array": "list", "object": "dict"}


def models(document: Json, about: str) -> str:
    """The text of a module with every schema of the document."""
    schemas: Json = document["components"]["schemas"]
    named = {name: TypeAdapter(kind).json_schema() for name, kind in ALIASES.items()}
    aliases = "\n".join(f"{name} = {_type(schema, {})}" for name, schema in named.items())
    classes = "\n\n\n".join(_class(name, schemas[name], named) for name in _in_order(schemas))
    return f"""{about}
from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from turnfold_client.base import Closed, Micros, Open

{aliases}


{classes}
"""


def _in_order(schemas: Json) -> list[str]:
    """The names of the schemas, each after those it refers to."""
    ordered: dict[str, None] = {}

    def visit(name: str) -> None:
        for reference in re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schemas[name])):
            if reference not in ordered:
                visit(reference)
        ordered[name] = None

    for name in schemas:
        visit(name)
    return list(ordered)


def _class(name: str, schema: Json, named: Json) -> str:
    about = " ".join(schema.get("description", name).split())
    docstring = "\n".join(textwrap.wrap(f'"""{about}"""', 92))
    if "properties" not in schema:
        return f"class {name}(RootModel[{_type(schema, named)}]):\n{_indented(docstring)}"
    parent = "Open" if schema.get("additionalProperties") else "Closed"
    required = schema.get("required", ())
    fields = "\n".join(
        _field(field, declared, field in required, named)
        for field, declared in schema["properties"].items()
    )
    return f"class {name}({parent}):\n{_indented(docstring)}\n\n{_indented(fields)}"


def _field(name: str, schema: Json, required: bool, named: Json) -> str:
    """A field as it is declared; a constant has its default, even where JSON must say it."""
    options = []
    if keyword.iskeyword(name):
        options, name = [f'alias="{name}"'], f"{name}_"
    if "default" in schema:
        options.insert(0, f"default={_quoted(schema['default'])}")
    elif not required:
        options.insert(0, f"default_factory={FACTORIES[schema['type']]}")
    declared = f"{name}: {_type(schema, named)}"
    if not options:
        return declared if len(declared) <= WIDTH else _folded(declared)
    if len(options) == 1 and options[0].startswith("default="):
        return f"{declared} = {options[0].removeprefix('default=')}"
    line = f"{declared} = Field({', '.join(options)})"
    if len(line) <= WIDTH:
        return line
    return f"{declared} = Field(\n{_indented(', '.join(options))}\n)"


def _folded(declared: str) -> str:
    """A declaration whose type has too many parts for one line."""
    head, _, parts = declared.removesuffix("]").partition("[")
    return f"{head}[\n{textwrap.indent(textwrap.fill(parts, WIDTH - 4), '    ')}\n]"


def _type(schema: Json, named: Json) -> str:
    """A schema as a type, with its bounds."""
    plain = {word: value for word, value in schema.items() if word not in ("default", "title")}
    plain.pop("description", None)
    for name, bounded in named.items():
        if plain == bounded:
            return name
    if plain == MICROS:
        return "Micros"
    if "$ref" in plain:
        return str(plain["$ref"]).rpartition("/")[2]
    if "const" in plain:
        return f"Literal[{_quoted(plain['const'])}]"
    if "enum" in plain:
        return f"Literal[{', '.join(map(_quoted, plain['enum']))}]"
    if "anyOf" in plain:
        return " | ".join(dict.fromkeys(_type(choice, named) for choice in plain["anyOf"]))
    bounds = ", ".join(_bounds(plain))
    kind = _of_kind(plain, named)
    return f"Annotated[{kind}, Field({bounds})]" if bounds else kind


def _of_kind(schema: Json, named: Json) -> str:
    match schema.get("type"):
        case "array" if "prefixItems" in schema:
            return f"tuple[{', '.join(_type(item, named) for item in schema['prefixItems'])}]"
        case "array":
            return f"list[{_type(schema['items'], named)}]"
        case "object":
            values = schema.get("additionalProperties")
            value = _type(values, named) if isinstance(values, dict) else "Any"
            names = schema.get("propertyNames")
            return f"dict[{_type(names, named) if names else 'str'}, {value}]"
        case None:
            return "Any"
        case kind:
            return SIMPLE[kind]


def _bounds(schema: Json) -> Iterator[str]:
    if "prefixItems" in schema:
        return
    for word, option in BOUNDS.items():
        if word in schema:
            yield f"{option}={_quoted(schema[word])}"


def _quoted(value: Any) -> str:
    """A literal of Python; a pattern's backslashes stay as they are."""
    if isinstance(value, str) and "\\" in value:
        return f'r"{value}"'
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")
