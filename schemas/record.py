"""Base classes of all input records (docs/records.md)."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import AsWhole, ClampedConfidence, Label, Micros, Tenant, Vad, Wire

SCHEMA_VERSION = 2
MAX_RECORD_BYTES = 1_000_000

Text = Annotated[str, Field(max_length=MAX_RECORD_BYTES)]
Ended = Literal["applied", "duplicate", "dead", "withheld", "accepted"]
"""Outcomes of a record (streams/folds/outcome.py)."""


class Record(Wire):
    """Fields of all input records. `recorded_at`: time at which the log received the record."""

    schema_version: Annotated[int, Field(ge=1, le=SCHEMA_VERSION), AsWhole] = Field(
        default=1,
        description="2 for new records; 1 also allows the older names.",
    )
    type: str = Field(description="Type of the record.")
    tenant: Tenant = Field(
        default="default",
        description="Tenant; all data is separated by tenant.",
    )
    occurred_at: Micros = Field(
        description="Time of the event by your platform's clock. Memory is ordered by it.",
    )
    recorded_at: Micros | None = Field(
        default=None,
        description="Time at which your log received the record; default: `occurred_at`. Used in "
        "files only: Kafka sets the append time, the HTTP API the time of arrival.",
    )


class Affect(Wire):
    """One moment of affect: text, labels and numbers."""

    text: Text = Field(default="", description="The feeling as text.")
    labels: list[Label] = Field(
        default_factory=list, max_length=6, description="Labels, such as `joy`."
    )
    vad: Vad = Field(description="The feeling as numbers.")
    confidence: ClampedConfidence = Field(
        default=0.5,
        description="Confidence, 0 to 1; other values are clamped. 0 does not change the mood.",
    )
