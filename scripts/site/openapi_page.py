"""The reference of the HTTP API as Markdown, from its OpenAPI document: endpoints, then models."""

import re
from typing import Any

Json = dict[str, Any]


def page(document: Json) -> str:
    """The page. Every link in it leads to one of its own headings."""
    groups: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            lines = groups.setdefault(operation["tags"][0], [])
            lines += _endpoint(method.upper(), path, operation)
    lines = ["# HTTP API", "", document["info"]["description"], ""]
    for tag, endpoints in groups.items():
        lines += [f"## {tag.capitalize()}", "", *endpoints]
    lines += ["## Models", ""]
    for name, schema in sorted(document["components"]["schemas"].items()):
        lines += _model(name, schema)
    return "\n".join(lines) + "\n"


def _endpoint(method: str, path: str, operation: Json) -> list[str]:
    lines = [f"### {method} `{path}`", "", operation.get("description", operation["summary"]), ""]
    if rows := operation.get("parameters", []):
        lines += ["| parameter | in | type | description |", "| --- | --- | --- | --- |"]
        lines += [
            f"| `{row['name']}`{_required(row.get('required'))} | {row['in']} "
            f"| {_type(row['schema'])} | {_cell(row.get('description', ''))} |"
            for row in rows
        ] + [""]
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        lines += [f"Body (`{kind}`): {_type(content.get('schema', {}))}", ""]
    errors: dict[str, list[str]] = {}
    for status, reply in operation["responses"].items():
        schemas = [content.get("schema", {}) for content in reply.get("content", {}).values()]
        types = " or ".join(dict.fromkeys(map(_type, schemas)))
        if status < "400":
            lines += [f"Reply {status}: {types or _cell(reply['description'])}", ""]
        else:
            errors.setdefault(types, []).append(status)
    for types, statuses in errors.items():
        lines += [f"Errors {', '.join(statuses)}: {types}", ""]
    return lines


def _model(name: str, schema: Json) -> list[str]:
    lines = [f"### {name}", ""]
    if schema.get("description"):
        lines += [schema["description"], ""]
    required = schema.get("required", [])
    fields = schema.get("properties", {})
    if not fields:
        return [*lines, _type({**schema, "title": ""}), ""]
    lines += ["| field | type | description |", "| --- | --- | --- |"]
    lines += [
        f"| `{field}`{_required(field in required)} | {_type(value)} "
        f"| {_cell(value.get('description', ''))} |"
        for field, value in fields.items()
    ]
    return [*lines, ""]


def _type(schema: Json) -> str:
    """A type in few words; a model is a link."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(map(_type, schema[key])))
    if "enum" in schema or "const" in schema:
        return ", ".join(
            f"`{_cell(str(one))}`" for one in schema.get("enum", [schema.get("const")])
        )
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type(schema['additionalProperties'])}"
    if isinstance(kind, list):
        return " or ".join(kind)
    return f"{kind} ({schema['format']})" if "format" in schema else str(kind)


def _required(is_required: bool | None) -> str:
    return " *" if is_required else ""


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")
