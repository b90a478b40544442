"""TypeScript out of the OpenAPI document: its models as types, its operations as methods."""

import json
import re
import textwrap
from collections.abc import Sequence

from _operations import Json, Operation, Parameter

SIMPLE = {
    "string": "string", "integer": "number", "number": "number", "boolean": "boolean",
    "null": "null",
}  # fmt: skip
KINDS = {"int": "number", "str": "string", "Moment": "Moment"}
MADE = "Made by scripts/generate from schemas/generated/openapi.json."


def typescript(document: Json, every: Sequence[Operation]) -> dict[str, str]:
    """File name -> text."""
    return {"types.ts": _types(document), "client.ts": _client(every)}


# --- types ------------------------------------------------------------------------------------


def _types(document: Json) -> str:
    made = [_declared(name, one) for name, one in document["components"]["schemas"].items()]
    return f"/** The API's models. {MADE} */\n\n" + "\n\n".join(made) + "\n"


def _declared(name: str, schema: Json) -> str:
    about = _comment(schema.get("description"))
    if "properties" not in schema:
        return f"{about}export type {name} = {_type(schema)};"
    return f"{about}export interface {name} {_object(schema)}"


def _object(schema: Json) -> str:
    required = schema.get("required", ())
    fields = [
        f"{_comment(one.get('description'))}{_name(name)}{'' if name in required else '?'}: "
        f"{_type(one)};"
        for name, one in schema["properties"].items()
    ]
    if schema.get("additionalProperties") is True:
        fields.append("[more: string]: unknown;")
    return "{\n" + textwrap.indent("\n".join(fields), "  ") + "\n}"


def _type(schema: Json) -> str:
    """A schema as a type; where it bounds more than TypeScript can say, the wider one."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(one) for one in schema["enum"])
    for name in ("anyOf", "oneOf"):
        if name in schema and all(set(one) - {"format"} for one in schema[name]):
            return " | ".join(dict.fromkeys(_type(one) for one in schema[name]))
    return _of_kind(schema)


def _of_kind(schema: Json) -> str:
    kind = schema.get("type")
    if kind == "array":
        if "prefixItems" in schema:
            return "[" + ", ".join(_type(one) for one in schema["prefixItems"]) + "]"
        return f"Array<{_type(schema.get('items', {}))}>"
    if kind == "object":
        if "properties" in schema:
            return _object(schema)
        values = schema.get("additionalProperties")
        inner = _type(values) if isinstance(values, dict) else "unknown"
        names = schema.get("propertyNames", {})
        return f"{'Partial<' * ('enum' in names)}Record<{_type(names or {'type': 'string'})}, " \
            f"{inner}>{'>' * ('enum' in names)}"  # fmt: skip
    return SIMPLE.get(str(kind), "unknown")


def _name(name: str) -> str:
    return name if re.fullmatch(r"\w+", name) else json.dumps(name)


def _comment(about: str | None) -> str:
    if not about:
        return ""
    lines = textwrap.wrap(" ".join(about.split()), 90)
    if len(lines) == 1:
        return f"/** {lines[0]} */\n"
    return "/**\n" + "".join(f" * {line}\n" for line in lines) + " */\n"


# --- methods ----------------------------------------------------------------------------------


def _client(every: Sequence[Operation]) -> str:
    methods = "\n\n".join(
        textwrap.indent(text, "  ") for operation in every for text in _methods(operation)
    )
    names = sorted(set(re.findall(r"\btypes\.(\w+)", methods)))
    imports = ", ".join(names)
    return f"""/** The client's methods. {MADE} */

import {{ Sender, inPath }} from "./sender.js";
import type {{ Moment, Records, SessionEvent }} from "./sender.js";
import type {{
{textwrap.fill(imports, 96, initial_indent="  ", subsequent_indent="  ")},
}} from "./types.js";

/** A server's endpoints. Every method throws the errors of `errors.ts`. */
export class Turnfold extends Sender {{
{methods.replace("types.", "")}
}}
"""


def _methods(operation: Operation) -> list[str]:
    arguments = _arguments(operation)
    about = _comment(operation.about)
    if operation.streams:
        head = f"{operation.camel}({', '.join(arguments)}): AsyncGenerator<SessionEvent>"
        return [f"{about}{head} {{\n  return this.stream({_request(operation)});\n}}"]
    if operation.is_lines:
        head = f"{operation.camel}({', '.join(arguments)}): AsyncGenerator<string>"
        return [f"{about}{head} {{\n  return this.lines({_request(operation)});\n}}"]
    returns = " | ".join(
        dict.fromkeys(
            "null" if name is None else f"types.{name}" for name in operation.gives.values()
        )
    )
    head = f"{operation.camel}({', '.join(arguments)}): Promise<{returns}>"
    made = [f"{about}{head} {{\n  return this.send({_request(operation)});\n}}"]
    if operation.lists:
        field, item = operation.lists
        passed = ", ".join([*(each.name for each in operation.parameters if each.place == "path"),
                            "{ ...options, cursor }"])  # fmt: skip
        camel = "iter" + operation.camel[0].upper() + operation.camel[1:]
        made.append(
            f"/** The items of all pages of `{operation.camel}`. */\n"
            f"{camel}({', '.join(arguments)}): AsyncGenerator<types.{item}> {{\n"
            f"  return this.pages(\n"
            f"    (cursor) => this.{operation.camel}({passed}),\n"
            f"    (page) => page.{field},\n  );\n}}"
        )
    return made


def _arguments(operation: Operation) -> list[str]:
    made = [f"{each.name}: string" for each in operation.parameters if each.place == "path"]
    if operation.takes:
        made.append(
            "records: Records" if operation.takes == "records" else f"body: types.{operation.takes}"
        )
    options = [each for each in operation.parameters if each.place != "path"]
    if options:
        fields = "; ".join(
            f"{_option(each)}{'' if each.required else '?'}: {KINDS[each.kind]}" for each in options
        )
        default = "" if any(each.required for each in options) else " = {}"
        made.append(f"options: {{ {fields} }}{default}")
    return made


def _option(parameter: Parameter) -> str:
    return parameter.name.lower().replace("-", "_")


def _request(operation: Operation) -> str:
    path = re.sub(r"{(\w+)}", r"${inPath(\1)}", operation.path)
    fields = [f'method: "{operation.method}"', f"path: `{path}`", f"gives: {list(operation.gives)}"]
    for place, name in (("query", "query"), ("header", "headers")):
        entries = [
            f"{json.dumps(each.name) if '-' in each.name else each.name}: options.{_option(each)}"
            for each in operation.parameters
            if each.place == place
        ]
        if entries:
            fields.append(f"{name}: {{ {', '.join(entries)} }}")
    if operation.takes:
        fields.append("records" if operation.takes == "records" else "body")
    lines = "".join(f"    {field},\n" for field in fields)
    return f"{{\n{lines}  }}"
