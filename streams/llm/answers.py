"""The schema of a model's answer: the fields of a write plan that a model fills in, with tighter
bounds.

Turnfold sets ids, user, tenant, extractor and times of recording. A state's `payload` is left out:
strict structured output has no free-form objects.
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
"""Maximum updates of a kind in one answer."""

NAMES = {
    "state_updates": "states",
    "preference_updates": "preferences",
    "event_affect": "affect",
    "context_updates": "context",
    "event_annotations": "about",
    "evidence_event_ids": "event_ids",
}
"""Field names of a write plan -> names in an answer, which are those of the request."""
OPTIONAL = "reason"
"""Not in the schema: derived from the user's words. A model may set it."""

_ONLY = ConfigDict(extra="forbid", alias_generator=lambda name: NAMES.get(name, name))


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
    """Valence, arousal and dominance, each -1 to +1."""

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
    """Without merges of threads: a model sees the turns of the group alone."""

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
    """One answer; its fields are empty if there is nothing to remember."""

    model_config = _ONLY

    state_updates: list[StateSaid] = Field(default_factory=list, max_length=MOST)
    preference_updates: list[PreferenceSaid] = Field(default_factory=list, max_length=MOST)
    event_affect: AffectSaid | None = None
    context_updates: ContextSaid | None = None
    event_annotations: AnnotationsSaid | None = None


# --- as JSON Schema ---------------------------------------------------------------------------

_KEYWORDS = frozenset({"type", "enum", "$ref"})
_NULL = {"type": "null"}


@cache
def strict_schema(categories: tuple[str, ...]) -> JsonObject:
    """Returns the schema of an answer for strict structured output: all fields required, no other
    fields, no bounds (`plans` checks them). Cached: it takes tens of milliseconds, which would
    block the other threads of a worker. `categories`: of states."""
    schema = Answer.model_json_schema()
    category = {"type": "string", "enum": list(categories)}
    schema["$defs"]["StateSaid"]["properties"]["category"] = {"anyOf": [category, _NULL]}
    definitions = {name: _strict(node) for name, node in schema["$defs"].items()}
    return {**_strict(schema), "$defs": definitions}


def _strict(node: JsonObject) -> JsonObject:
    strict: JsonObject = {name: value for name, value in node.items() if name in _KEYWORDS}
    if "const" in node:
        strict["enum"] = [node["const"]]
    if "anyOf" in node:
        strict["anyOf"] = [_strict(branch) for branch in node["anyOf"]]
    if "items" in node:
        strict["items"] = _strict(node["items"])
    if "properties" in node:
        fields = {
            name: _strict(field) for name, field in node["properties"].items() if name != OPTIONAL
        }
        fields = {name: field for name, field in fields.items() if field != _NULL}
        strict |= {"properties": fields, "required": list(fields), "additionalProperties": False}
    return strict


def without_nulls(node: Any) -> Any:
    """Drops null fields: strict output has to contain every field."""
    if isinstance(node, dict):
        return {name: without_nulls(inner) for name, inner in node.items() if inner is not None}
    return [without_nulls(inner) for inner in node] if isinstance(node, list) else node
