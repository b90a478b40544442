"""Recognises records that a generation retracts (docs/backfill.md, "Retract").

Imports only fast modules, as every reader of a generation's settings loads it.
"""

from datetime import date
from typing import Any, Literal

import msgspec

from schemas.time import DAY
from streams.extractors.registry import Extractor

EPOCH = date(1970, 1, 1).toordinal()
By = Literal["source", "client", "session", "extractor", "tool"]
MARKS = "retracted/"
"""Prefix of the store's values: mark -> whether the user's words stay."""
OF_USER, MESSAGE = "user_event", "message"
"""Kinds of the marks of a user's event, for plans without session, and of a message."""
WORDS = (
    "client_id", "event_id", "occurred_at", "replaces", "session_id", "source", "status", "task_id",
    "tenant", "type", "user_id", "user_input",
)  # fmt: skip
"""Fields of a turn that remain if its task called a retracted tool, in the order of `doc`."""


class Retraction(msgspec.Struct, frozen=True, kw_only=True):
    """A filter of records: a field's value, and optionally tenant and days (UTC, inclusive).

    `source`, `client`: of turns. `session`: of any record. `extractor`: NAME or NAME@VERSION of
    plans. `tool`: name of a call in a step.
    """

    by: By
    value: str
    tenant: str | None = None
    first: date | None = None
    last: date | None = None

    def __str__(self) -> str:
        days = f" {self.first or ''}..{self.last or ''}" if self.first or self.last else ""
        tenant = f" (tenant {self.tenant})" if self.tenant else ""
        return f"{self.by} {self.value}{days}{tenant}"

    def matches(self, record: Any) -> bool:
        """Whether a record's own fields match."""
        return self.covers(record.tenant, record.occurred_at) and self._names(record)

    def is_maker(self, extractor: str, version: str) -> bool:
        """Whether a plan's extractor matches."""
        return self.value in (extractor, f"{extractor}@{version}")

    def covers(self, tenant: str, at: int) -> bool:
        """Whether the filter includes a tenant and a time in microseconds."""
        if self.tenant not in (None, tenant):
            return False
        if self.first is None and self.last is None:
            return True
        day = date.fromordinal(EPOCH + at // DAY)
        return (self.first or date.min) <= day <= (self.last or date.max)

    def _names(self, record: Any) -> bool:
        if self.by == "session":
            return bool(getattr(record, "session_id", None) == self.value)
        if self.by == "tool":
            return bool(record.type == "recursion") and self.value in tools(record.action.output)
        if self.by == "extractor":
            maker = record.extractor if record.type == "write_plan" else None
            return bool(maker and self.is_maker(maker.name, maker.version))
        name = "source" if self.by == "source" else "client_id"
        return bool(record.type == "turn" and getattr(record, name) == self.value)


def tools(output: Any) -> set[str]:
    """Names of the tools that a step's output calls."""
    calls = output.get("tool_calls") if isinstance(output, dict) else None
    entries = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    functions = [call.get("function") for call in entries]
    named = [*entries, *(function for function in functions if isinstance(function, dict))]
    return {entry["name"] for entry in named if isinstance(entry.get("name"), str)}


def unretracted(
    extractor: Extractor | None, retractions: tuple[Retraction, ...]
) -> Extractor | None:
    """The extractor without the plans that are retracted."""
    makers = [retraction for retraction in retractions if retraction.by == "extractor"]
    if extractor is None or not makers:
        return extractor

    def extract(turn: Any) -> Any:
        plan = extractor.extract(turn)
        maker = plan.get("extractor") if isinstance(plan, dict) else None
        if not isinstance(maker, dict):
            return plan
        falls = any(
            each.is_maker(maker.get("name", ""), maker.get("version") or "")
            and each.covers(turn.tenant, turn.occurred_at)
            for each in makers
        )
        return None if falls else plan

    return Extractor(extractor.name, extract)
