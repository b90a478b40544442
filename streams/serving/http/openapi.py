"""The OpenAPI 3.1 document: parameters as FastAPI reads them from the endpoints' signatures,
bodies and replies by the models of `schemas` (schemas/generated/openapi.json)."""

from copy import copy
from functools import cache
from http import HTTPStatus
from typing import Any, cast

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from schemas.base import JsonObject
from schemas.export import Schema
from schemas.http import ProblemDocument
from streams import __version__
from streams.record_kinds import MODELS
from streams.serving.http.content_type import JSON
from streams.serving.http.endpoints import ENDPOINTS
from streams.serving.http.problems import MEDIA_TYPE
from streams.serving.http.request_headers import KEY
from streams.serving.http.route import Reply, Route
from streams.serving.http.routes_records import EVENT, EVENTS, NDJSON

DESCRIPTION = """Turnfold turns the events of a chat platform into memory.

Every error is a problem document (RFC 9457). docs/http.md describes the behaviour."""
ALWAYS = (400, 401, 403, 406, 429, 500)
"""Problems that every endpoint with a key can answer."""
HEADERS = {
    "Prefer": "wait=SECONDS or respond-async: how long to wait until the write is applied; "
    "return=minimal: only the results of records that are refused or dead.",
    "Idempotency-Key": "A write that is sent again under the same key is applied once.",
}
SCHEMAS: dict[str, JsonObject] = {"Idempotency-Key": {"type": "string", "pattern": KEY}}
"""Schemas of headers that are not free text."""
Model = tuple[type[BaseModel], JsonSchemaMode]


@cache
def document() -> JsonObject:
    """The whole document; the same models and version give the same document."""
    refs, definitions = _components()
    routes = [copy(endpoint) for endpoint in ENDPOINTS]
    for route in routes:
        route.methods = {route.method}  # HEAD adds no information to GET
    openapi = get_openapi(
        title="Turnfold",
        version=__version__,
        description=DESCRIPTION,
        routes=routes,
    )
    for endpoint in ENDPOINTS:
        operation = openapi["paths"][endpoint.path][endpoint.method.lower()]
        _complete(operation, endpoint, refs)
    openapi["components"] = {
        "schemas": definitions,
        "securitySchemes": {
            "key": {"type": "http", "scheme": "bearer", "description": "`turnfold admin keys add`"}
        },
    }
    return openapi


def _components() -> tuple[dict[Model, JsonObject], JsonObject]:
    models: list[Model] = [(ProblemDocument, "serialization")]
    models += [(model, "validation") for model in MODELS.values()]
    for endpoint in ENDPOINTS:
        reply = endpoint.reply
        models += [(model, "serialization") for model in reply.models.values() if model]
        if isinstance(reply.body, type):
            models.append((reply.body, "validation"))
    refs, definitions = models_json_schema(
        list(dict.fromkeys(models)),
        ref_template="#/components/schemas/{model}",
        schema_generator=Schema,
    )
    return cast(dict[Model, JsonObject], refs), definitions["$defs"]


def _complete(operation: JsonObject, endpoint: Route, refs: dict[Model, JsonObject]) -> None:
    """Body, replies, headers and security of an operation."""
    about, reply = endpoint.endpoint.__doc__ or "", endpoint.reply
    operation["operationId"] = endpoint.endpoint.__name__
    operation["summary"] = about.partition(".")[0].replace("\n    ", " ")
    operation["description"] = about.replace("\n    ", "\n")
    operation["responses"] = _responses(endpoint, refs)
    headers = dict(reply.headers)
    if reply.body is not None:
        operation["requestBody"] = {"required": True, "content": _content(reply, refs)}
        headers |= HEADERS
    elif endpoint.method in ("DELETE", "POST"):  # idempotent: it needs no key
        headers["Prefer"] = HEADERS["Prefer"]
    for name, about in headers.items():
        operation.setdefault("parameters", []).append(
            {
                "name": name,
                "in": "header",
                "description": about,
                "schema": SCHEMAS.get(name, {"type": "string"}),
            }
        )
    if reply.one_of:
        operation["parameters"] = _one_of(operation["parameters"], reply.one_of)
    role = endpoint.needs.role
    # a server without keys requires none
    operation["security"] = [] if role is None else [{"key": [role]}, {}]


def _one_of(parameters: list[JsonObject], names: tuple[str, ...]) -> list[JsonObject]:
    """Replaces these parameters by one object that requires at least one of them. OpenAPI can
    express that for the properties of an object; with `form` and `explode` they remain ordinary
    query parameters."""
    both = [parameter for parameter in parameters if parameter["name"] in names]
    properties = {
        parameter["name"]: next(
            kind for kind in parameter["schema"]["anyOf"] if kind.get("type") != "null"
        )
        for parameter in both
    }
    combined: JsonObject = {
        "name": "whose",
        "in": "query",
        "required": True,
        "style": "form",
        "explode": True,
        "description": f"{' or '.join(names)}, or both.",
        "schema": {
            "type": "object",
            "properties": properties,
            "anyOf": [{"required": [name]} for name in names],
            "additionalProperties": False,
        },
    }
    return [combined, *(parameter for parameter in parameters if parameter not in both)]


def _responses(endpoint: Route, refs: dict[Model, JsonObject]) -> JsonObject:
    responses: JsonObject = {}
    for status, model in endpoint.reply.models.items():
        content = {endpoint.media: {"schema": refs[model, "serialization"]}} if model else None
        responses[str(status)] = _response(status, content)
    problem = {MEDIA_TYPE: {"schema": refs[ProblemDocument, "serialization"]}}
    for status in sorted({*ALWAYS, *endpoint.reply.errors} - set(endpoint.reply.models)):
        responses[str(status)] = _response(status, problem)
    responses["default"] = {"description": "Any other problem", "content": problem}
    return responses


def _response(status: int, content: JsonObject | None) -> JsonObject:
    described: JsonObject = {"description": HTTPStatus(status).phrase}
    return described | ({"content": content} if content else {})


def _content(reply: Reply, refs: dict[Model, JsonObject]) -> JsonObject:
    example = {"example": reply.example}
    if isinstance(reply.body, type):
        return {JSON: {"schema": refs[reply.body, "validation"], **example}}
    record = {
        "oneOf": [refs[model, "validation"] for model in MODELS.values()],
        "discriminator": {"propertyName": "type"},
    }
    event: dict[str, Any] = {
        "type": "object",
        "required": ["specversion", "id", "source", "type", "data"],
        "properties": {
            "specversion": {"const": "1.0"},
            "id": {"type": "string"},
            "source": {"type": "string"},
            "type": {"enum": list(MODELS)},
            "time": {"type": "string", "format": "date-time"},
            "data": record,
        },
    }
    many = {"type": "array", "items": record}
    return {
        JSON: {"schema": {"anyOf": [record, many]}, **example},
        NDJSON[0]: {"schema": {"type": "string", "description": "One record a line."}},
        EVENT: {"schema": event},
        EVENTS: {"schema": {"type": "array", "items": event}},
    }
