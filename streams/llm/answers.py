"""What a model may say: the part of a write plan that is its to fill in, with tighter bounds.

Ids, user, tenant, extractor and times of recording are set by us. A state's `payload` is left out:
strict structured output has no free objects.
"""

from functools import cache
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from schemas.base import Id, JsonObject, Wire
from schemas.events import (
    ContextUpdates,
    EventAnnotations,
    LinkUpdate,
    PlanAffect,
    PreferenceUpdate,
    StateUpdate,
    ThreadUpdate,
)

Sentence = Annotated[str, Field(max_length=2000)]
Brief = Annotated[str, Field(max_length=500)]
Evidence = Annotated[list[Id], Field(min_length=1, max_length=64)]
MOST = 32
"""Updates of a kind in one answer."""

NAMES = {
    "states": "state_updates",
    "preferences": "preference_updates",
    "affect": "event_affect",
    "context": "context_updates",
    "about": "event_annotations",
    "event_ids": "evidence_event_ids",
}
"""What a model writes, by the names of what it reads; and the names in a write plan."""
SHORT = {name: short for short, name in NAMES.items()}
UNASKED = "reason"
"""Of an update: it is made of the user's words. A model may give one."""

_ONLY = ConfigDict(extra="forbid")


class StateSaid(StateUpdate):
    model_config = _ONLY

    body_text: Sentence = ""
    category: str | None = Field(default=None, max_length=64)
    payload: None = None
    unchanged_since: None = None
    evidence_event_ids: Evidence
    reason: Brief = ""


class PreferenceSaid(PreferenceUpdate):
    model_config = _ONLY

    note: Sentence | None = None
    unchanged_since: None = None
    evidence_event_ids: Evidence
    reason: Brief = ""


class Feeling(Wire):
    """VAD each -1..+1."""

    model_config = _ONLY

    v: float = Field(ge=-1, le=1)
    a: float = Field(ge=-1, le=1)
    d: float = Field(ge=-1, le=1)


class AffectSaid(PlanAffect):
    model_config = _ONLY

    text: Sentence = ""
    vad: Feeling  # type: ignore[assignment]  # out of range is a fault here, not clamped
    event_id: Id


class ThreadSaid(ThreadUpdate):
    """Whole threads are not merged: a model sees these turns alone."""

    model_config = _ONLY

    op: Literal["put", "remove"] = "put"
    into: None = None
    event_id: Id
    reason: Brief = ""


class LinkSaid(LinkUpdate):
    model_config = _ONLY

    reason: Brief = ""


class ContextSaid(ContextUpdates):
    model_config = _ONLY

    threads: list[ThreadSaid] = Field(default_factory=list, max_length=MOST)  # type: ignore[assignment]
    links: list[LinkSaid] = Field(default_factory=list, max_length=MOST)  # type: ignore[assignment]


class AnnotationsSaid(EventAnnotations):
    model_config = _ONLY


class Answer(Wire):
    """All that one answer may hold; empty where there is nothing to remember."""

    model_config = _ONLY

    state_updates: list[StateSaid] = Field(default_factory=list, max_length=MOST)
    preference_updates: list[PreferenceSaid] = Field(default_factory=list, max_length=MOST)
    event_affect: AffectSaid | None = None
    context_updates: ContextSaid | None = None
    event_annotations: AnnotationsSaid | None = None


# --- as JSON Schema ---------------------------------------------------------------------------

_KEPT = frozenset({"type", "enum", "$ref"})
_NULL = {"type": "null"}


@cache
def strict_schema(categories: tuple[str, ...]) -> JsonObject:
    """The schema of an answer as strict structured output takes it: every field required, nothing
    beside them, no bounds (those are checked here). Made once: that takes tens of milliseconds, in
    which no other thread of a worker would run. `categories`: of states."""
    whole = Answer.model_json_schema()
    named = {"type": "string", "enum": list(categories)}
    whole["$defs"]["StateSaid"]["properties"]["category"] = {"anyOf": [named, _NULL]}
    definitions = {name: _strict(one) for name, one in whole["$defs"].items()}
    return {**_strict(whole), "$defs": definitions}


def _strict(node: JsonObject) -> JsonObject:
    made: JsonObject = {name: value for name, value in node.items() if name in _KEPT}
    if "const" in node:
        made["enum"] = [node["const"]]
    if "anyOf" in node:
        made["anyOf"] = [_strict(one) for one in node["anyOf"]]
    if "items" in node:
        made["items"] = _strict(node["items"])
    if "properties" in node:
        fields = {
            SHORT.get(name, name): _strict(one)
            for name, one in node["properties"].items()
            if name != UNASKED
        }
        fields = {name: one for name, one in fields.items() if one != _NULL}
        made |= {"properties": fields, "required": list(fields), "additionalProperties": False}
    return made


def as_plan(value: Any) -> Any:
    """An answer by the names of a write plan. Strict output has to name every field: null is one
    left out."""
    if isinstance(value, dict):
        return {
            NAMES.get(name, name): as_plan(one) for name, one in value.items() if one is not None
        }
    return [as_plan(one) for one in value] if isinstance(value, list) else value


def as_written(faults: str) -> str:
    """What is wrong with an answer, by the names that the model knows."""
    for name, short in SHORT.items():
        faults = faults.replace(name, short)
    return faults
