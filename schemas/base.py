"""Base types of all wire models: times, ids, limits and base classes.

A time is RFC 3339 text with an offset on the wire, and an integer of microseconds since
1970-01-01 UTC in Python, so that folds compare and subtract it without a clock or a calendar.
Ids have 1 to 128 characters without control characters.
"""

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
    WithJsonSchema,
)

from schemas.time import DAY as DAY
from schemas.time import EPOCH as EPOCH
from schemas.time import HOUR as HOUR
from schemas.time import MINUTE as MINUTE
from schemas.time import PATTERN
from schemas.time import SECOND as SECOND
from schemas.time import format_time as format_time
from schemas.time import parse_time as parse_time
from schemas.validation_text import ID, TENANT, TEXT

Micros = Annotated[
    int,
    BeforeValidator(parse_time),
    PlainSerializer(format_time, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": PATTERN}),
]


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


AsWhole = BeforeValidator(_whole)
"""Accepts 1.0 as the integer 1, as JSON Schema does. Place it after the bounds of the field."""
Id = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=ID)]
EntityId = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=ID)]
"""Id of anything that has revisions: a thread's is its key, a `Label`."""
Tenant = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=TENANT)]
Label = Annotated[str, StringConstraints(max_length=256, pattern=TEXT)]
UnsignedZero = AfterValidator(lambda value: value + 0.0)
"""Replaces -0.0 by 0.0: their texts would differ."""
Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False), UnsignedZero]
ClampedConfidence = Annotated[
    float, Field(allow_inf_nan=False), AfterValidator(lambda value: min(1.0, max(0.0, value)) + 0.0)
]
ClampedAxis = Annotated[
    float,
    Field(allow_inf_nan=False),
    AfterValidator(lambda value: min(1.0, max(-1.0, value)) + 0.0),
]
JsonObject = dict[str, Any]


class Wire(BaseModel):
    """A JSON object that crosses a boundary. Unknown fields are accepted and stored."""

    model_config = ConfigDict(
        extra="allow",
        strict=True,
        populate_by_name=True,
        ser_json_inf_nan="null",
        defer_build=True,  # until first use: most processes use few models
    )


class Reply(BaseModel):
    """A JSON object that Turnfold returns; it has only the declared fields."""

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
        ser_json_bytes="base64",
        val_json_bytes="base64",
        defer_build=True,  # as above
    )


class Vad(Wire):
    """Valence, arousal, dominance; each is a finite number; values outside -1..+1 are clamped."""

    v: ClampedAxis = Field(description="Valence: -1 unpleasant, +1 pleasant.")
    a: ClampedAxis = Field(description="Arousal: -1 calm, +1 excited.")
    d: ClampedAxis = Field(description="Dominance: -1 powerless, +1 in control.")
