"""The topology as an AsyncAPI 3.0 document (`turnfold admin schema`).

Channels are topics. Operations are from Turnfold's view: it receives input topics, sends output
topics, and does both with internal ones. Payloads are the schemas of schemas/export.py.
"""

from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from schemas.base import JsonObject
from schemas.events import Record
from schemas.export import Schema, full_row
from streams import __version__
from streams.topology import DEAD_LETTERS, INPUT_BYTES, OUTPUT_BYTES, TOPICS, USER_SIGNALS, Topic

BINDING_VERSION = "0.5.0"
DAY_MS = 86_400_000
DESCRIPTION = """Turnfold turns the events of a chat platform into memory.

A message is one JSON object in UTF-8. Its key is the channel's template with the record's values
put in; in the middle of a key of three parts "%" and "/" are percent-encoded. On a compacted
channel a message without a payload, a tombstone, ends its key."""

Model = tuple[type[BaseModel], JsonSchemaMode]


def asyncapi() -> JsonObject:
    """The complete document; deterministic for a topology and version."""
    schemas, definitions = models_json_schema(
        [model for topic in TOPICS for model in _models(topic).values()],
        ref_template="#/components/schemas/{model}",
        schema_generator=Schema,
    )
    refs = cast(dict[Model, JsonObject], schemas)
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Turnfold", "version": __version__, "description": DESCRIPTION},
        "defaultContentType": "application/json",
        "channels": {topic.name: _channel(topic) for topic in TOPICS},
        "operations": {
            f"{action}-{topic.name}": _operation(action, topic)
            for topic in TOPICS
            for action in _ACTIONS[topic.direction]
        },
        "components": {
            "messages": {
                f"{topic.name}.{name}": _message(topic, name, refs[model])
                for topic in TOPICS
                for name, model in _models(topic).items()
            },
            "schemas": definitions["$defs"],
        },
    }


_ACTIONS = {"input": ("receive",), "internal": ("receive", "send"), "output": ("send",)}


def _models(topic: Topic) -> dict[str, Model]:
    """Message name -> model, and the mode of its JSON schema."""
    payloads: dict[str, Model] = {
        model.__name__: (model, "validation" if issubclass(model, Record) else "serialization")
        for model in topic.payloads
    }
    return payloads | {table: (full_row(table), "serialization") for table in topic.rows}


def _channel(topic: Topic) -> JsonObject:
    forever = topic.compacted or topic.retention_days is None
    largest = OUTPUT_BYTES if topic.direction == "output" else INPUT_BYTES
    configuration = {
        "cleanup.policy": ["compact" if topic.compacted else "delete"],
        "retention.ms": -1 if forever else cast(int, topic.retention_days) * DAY_MS,
        "max.message.bytes": largest,
    }
    return {
        "address": topic.name,
        "description": topic.about,
        "messages": {
            name: {"$ref": f"#/components/messages/{topic.name}.{name}"} for name in _models(topic)
        },
        "bindings": {
            "kafka": {
                "topic": topic.name,
                "topicConfiguration": configuration,
                "bindingVersion": BINDING_VERSION,
            }
        },
    }


def _operation(action: str, topic: Topic) -> JsonObject:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{topic.name}"},
        "summary": topic.about,
        "messages": [
            {"$ref": f"#/channels/{topic.name}/messages/{name}"} for name in _models(topic)
        ],
    }


def _message(topic: Topic, name: str, payload: JsonObject) -> JsonObject:
    key = {"type": "string", "description": topic.key}
    return {
        "name": name,
        "contentType": "application/json",
        "headers": _INPUT_HEADERS if topic.direction == "input" else _output_headers(name, topic),
        "payload": payload,
        "bindings": {"kafka": {"key": key, "bindingVersion": BINDING_VERSION}},
    }


def _headers(properties: dict[str, Any], required: list[str], about: str) -> JsonObject:
    return {
        "type": "object",
        "description": about,
        "properties": properties,
        **({"required": required} if required else {}),
    }


_INPUT_HEADERS = _headers(
    {
        "ce_specversion": {"const": "1.0"},
        "ce_id": {"type": "string", "description": "the record's own id"},
        "ce_type": {"type": "string", "description": "the record's `type`"},
        "ce_source": {"type": "string", "format": "uri-reference"},
        "ce_time": {"type": "string", "format": "date-time", "description": "`occurred_at`"},
    },
    [],
    "CloudEvents 1.0, binary mode: none are needed; one that contradicts the payload makes the "
    "record a dead letter.",
)


def _output_headers(name: str, topic: Topic) -> JsonObject:
    number = {"type": "string", "pattern": "^[0-9]+$"}
    properties: dict[str, Any] = {
        "src_topic": {"type": "string", "description": "the topic of the record it comes from"},
        "src_partition": number,
        "src_offset": number,
        "ordinal": {**number, "description": "counts what one record caused, from 0"},
    }
    if topic.rows:
        properties["table"] = {"const": name, "description": "the history table of the row"}
    required = list(properties)
    if topic is USER_SIGNALS:
        properties["again"] = {
            "const": "1",
            "description": "the turn was set aside, as its tenant was beyond its quota",
        }
    about = "Where the message comes from: readers drop what they have seen by these four."
    # A posted signal, and the row that settles a dead letter, come from no record.
    always = topic.direction == "output" and topic is not DEAD_LETTERS
    return _headers(properties, required if always else [], about)
