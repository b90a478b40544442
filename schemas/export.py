"""JSON Schema (2020-12) of every input record, table row and reply: schemas/generated.

Records are described as they are read (old names of version 1 are not listed: `upcast` renames
them first), rows and documents as they are written. The same models give the same text.
"""

import json
from functools import cache
from typing import Any

from pydantic import BaseModel, create_model
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import core_schema

from schemas import memory
from schemas.base import JsonObject, Reply
from schemas.events import RECORD_TYPES
from schemas.http import SessionUpdate, UserUpdate
from schemas.learner import MemorySummary, UserLearningProfile
from schemas.rows import TABLES, Source
from schemas.session import SessionContext, SessionDocument
from schemas.task import TaskDocument

DIALECT = "https://json-schema.org/draft/2020-12/schema"
DOCUMENTS: dict[str, type[BaseModel]] = {
    "session_document": SessionDocument,
    "session_context": SessionContext,
    "session_update": SessionUpdate,
    "task_document": TaskDocument,
    **memory.DOCUMENTS,
    "user_learning_profile": UserLearningProfile,
    "user_update": UserUpdate,
    "memory_summary": MemorySummary,
}


class Schema(GenerateJsonSchema):
    """Without the titles pydantic makes of field names; a record's `type` must be written out."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonObject:
        made = super().model_schema(schema)
        if schema["cls"] in RECORD_TYPES.values():
            made["required"] = ["type", *made["required"]]
        return made


@cache
def full_row(table: str) -> type[Reply]:
    """A table's row with the columns of its source: what `history` carries and Delta stores."""
    row = TABLES[table]
    return create_model(row.__name__, __base__=(row, Source), __doc__=row.__doc__)


def json_schemas() -> dict[str, JsonObject]:
    """Path below schemas/generated -> schema."""
    records = {f"records/{name}.json": _schema(m, "validation") for name, m in RECORD_TYPES.items()}
    rows = {f"rows/{name}.json": _schema(full_row(name), "serialization") for name in TABLES}
    documents = {
        f"documents/{name}.json": _schema(model, "serialization")
        for name, model in DOCUMENTS.items()
    }
    return records | rows | documents


def render(document: JsonObject) -> str:
    """The text of a generated file; properties stay in the order of their model's fields."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _schema(model: type[BaseModel], mode: JsonSchemaMode) -> JsonObject:
    return {"$schema": DIALECT, **model.model_json_schema(mode=mode, schema_generator=Schema)}
