"""Old names to today's, and the normal form of what a record says (docs/records.md).

Works on the decoded JSON, before validation. Version 1 knew several names for the same thing, seed
000's misspelt `angent_answer` among them; version 2 writes one. The old names stay readable in
both. In normal form two records that say the same are equal: see `docs/records.md`.
"""

from decimal import Decimal
from functools import cache
from math import isfinite
from typing import Any, get_args

from schemas.base import Wire
from schemas.events import RECORD_TYPES, Record, Summary, Turn

TURN_ALIASES = (
    ("angent_answer", "agent_answer"),
    ("final_answer", "agent_answer"),
    ("session_subject", "subject"),
    ("session_goal", "object"),
)
SUMMARY_ALIAS = ("narrative", "content")

EMPTY_SAYS_SOMETHING = frozenset({"constraints", "plan", "result"})
"""Fields that an empty list clears, or of free form."""

Shape = dict[str, type[Wire] | None]
"""The fields of a model, with the model of what is nested in them."""

EXACT = 2**53
"""Below it every integer is a float of its own."""
INTEGERS = range(-(2**63), 2**64)
"""What rows can hold."""


def number(digits: str) -> int | float:
    """A JSON number with a fraction or an exponent, by its value: 2.0 is 2, 1e2 is 100, -0.0 is 0.

    What is whole and beyond 64 bits stays a float. Raises ValueError beyond the range of floats.
    """
    value = float(digits)
    if not value.is_integer():
        if isfinite(value):
            return value
        raise ValueError("Number out of range")
    if abs(value) < EXACT:
        return int(value)
    whole = int(Decimal(digits)) if abs(value) < 2**65 else 0
    return whole if whole in INTEGERS and whole else value


def upcast(record: dict[str, Any]) -> dict[str, Any]:
    """The record under today's field names; a null counts as absent in every field that is known,
    and says something in free form. Changes `record`."""
    kind = record.get("type")
    model = RECORD_TYPES.get(kind, Turn) if isinstance(kind, str) else Turn
    _drop_nulls(record, model)
    if kind == "tool_result":
        record.setdefault("result", None)
    elif kind == "turn":
        for old, new in TURN_ALIASES:
            if old in record and new not in record:
                record[new] = record.pop(old)
        summary, (old, new) = record.get("summary"), SUMMARY_ALIAS
        if isinstance(summary, dict) and old in summary and new not in summary:
            summary[new] = summary.pop(old)
    return record


def settled(model: Record, content: dict[str, Any]) -> dict[str, Any]:
    """What a record says without its defaults, less known objects and lists that say nothing:
    they are absent, in the model as well. Changes both."""
    for name, value in list(content.items()):
        if not _says_nothing(name, value):
            continue
        field = type(model).model_fields.get(name)
        if field is not None and field.default is None and name not in EMPTY_SAYS_SOMETHING:
            del content[name]
            setattr(model, name, None)
    return content


def _says_nothing(name: str, value: Any) -> bool:
    if name == "metadata" and type(value) is dict:
        return not any(one is not None for one in value.values())
    return type(value) in (dict, list) and not value


def _drop_nulls(value: Any, model: type[Wire]) -> None:
    if type(value) is list:
        for one in value:
            _drop_nulls(one, model)
    elif type(value) is dict:
        shape = _shape(model)
        for name, one in list(value.items()):
            if name not in shape:
                continue
            nested = shape[name]
            if one is None:
                del value[name]
            elif nested is not None:
                _drop_nulls(one, nested)


@cache
def _shape(model: type[Wire]) -> Shape:
    shape = {name: _nested(field.annotation) for name, field in model.model_fields.items()}
    aliases = TURN_ALIASES if model is Turn else (SUMMARY_ALIAS,) if model is Summary else ()
    return shape | {old: shape[new] for old, new in aliases}


def _nested(hint: Any) -> type[Wire] | None:
    """The model in an annotation, if there is one: of a list, or optional."""
    if isinstance(hint, type) and issubclass(hint, Wire):
        return hint
    return next((found for one in get_args(hint) if (found := _nested(one))), None)
