"""JSON Schema (2020-12) of every input record, table row and document: schemas/generated.

Records are described as Turnfold reads them, without the old names of version 1, which `upcast`
renames first; rows and documents as Turnfold writes them. The output is deterministic.
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
    """Omits the titles that pydantic derives from field names; requires a record's `type`."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonObject:
        document = super().model_schema(schema)
        if schema["cls"] in RECORD_TYPES.values():
            document["required"] = ["type", *document["required"]]
        return document


@cache
def full_row(table: str) -> type[Reply]:
    """Model of a table's row with the columns of `Source`, as topics carry and Delta stores it."""
    row = TABLES[table]
    return create_model(row.__name__, __base__=(row, Source), __doc__=row.__doc__)


def json_schemas() -> dict[str, JsonObject]:
    """Returns all schemas by path below schemas/generated."""
    records = {
        f"records/{name}.json": _schema(model, "validation") for name, model in RECORD_TYPES.items()
    }
    rows = {f"rows/{name}.json": _schema(full_row(name), "serialization") for name in TABLES}
    documents = {
        f"documents/{name}.json": _schema(model, "serialization")
        for name, model in DOCUMENTS.items()
    }
    return records | rows | documents


def render(document: JsonObject) -> str:
    """Returns the text of a generated file; properties keep the order of the model's fields."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


def _schema(model: type[BaseModel], mode: JsonSchemaMode) -> JsonObject:
    return {"$schema": DIALECT, **model.model_json_schema(mode=mode, schema_generator=Schema)}
