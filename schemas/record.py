"""What all input records are made of (docs/records.md)."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import AsWhole, ClampedConfidence, Label, Micros, Tenant, Vad, Wire

SCHEMA_VERSION = 2
MAX_RECORD_BYTES = 1_000_000

Text = Annotated[str, Field(max_length=MAX_RECORD_BYTES)]
Ended = Literal["applied", "duplicate", "dead", "withheld", "accepted"]
"""What a record ends as (streams/folds/outcome.py)."""


class Record(Wire):
    """Fields of all input records. `recorded_at`: when the log took the record (broker time)."""

    schema_version: Annotated[int, Field(ge=1, le=SCHEMA_VERSION), AsWhole] = 1
    type: str
    tenant: Tenant = "default"
    occurred_at: Micros
    recorded_at: Micros | None = None


class Affect(Wire):
    """One moment of affect: text, labels and numbers."""

    text: Text = ""
    labels: list[Label] = Field(default_factory=list, max_length=6)
    vad: Vad
    confidence: ClampedConfidence = 0.5
