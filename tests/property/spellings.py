"""Records, and the ways in which JSON may spell each, both generated from the models' fields.

A field that a model gains tomorrow is spelt here tomorrow: its default is written out, written as
null, or left out.
"""

import json
from collections.abc import Callable
from random import Random
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from pydantic import BeforeValidator, ValidationError
from pydantic.fields import FieldInfo

from schemas.base import HOUR, MINUTE, Wire, format_time, parse_time
from schemas.events import RECORD_TYPES, Record, Summary, Turn
from schemas.upcast import MEANINGFUL_IF_EMPTY, SUMMARY_ALIAS, TURN_ALIASES
from tests.property.world import Json, micros

NAMES = {"type", "schema_version", "recorded_at", "tenant"}
"""Fields of records that are not drawn."""
OWNERS = {"session_id": "s1", "user_id": "u1", "task_id": "t1"}
WORDS = ("a", "b", "quiz")
ALIASES: dict[type[Wire], tuple[tuple[str, str], ...]] = {
    Turn: TURN_ALIASES,
    Summary: (SUMMARY_ALIAS,),
}


def record(random: Random) -> Json:
    """A valid record of any type; few ids, so that several meet."""
    kind = random.choice(sorted(RECORD_TYPES))
    return {"type": kind, **_object(RECORD_TYPES[kind], random)}


def _fields(model: type[Wire]) -> dict[str, FieldInfo]:
    names = model.model_fields.keys() - (NAMES if issubclass(model, Record) else set())
    return {name: field for name, field in model.model_fields.items() if name in names}


def _object(model: type[Wire], random: Random) -> Json:
    while True:
        fields = {
            name: _value(field.annotation, field.metadata, name, random)
            for name, field in _fields(model).items()
            if field.is_required() or random.random() < 0.4
        }
        if random.random() < 0.2:
            fields["colour"] = _free(random)
        try:
            model.model_validate(fields)
        except ValidationError:  # fields that only together are valid
            continue
        return fields


def _value(hint: Any, metadata: list[Any], name: str, random: Random) -> Any:
    if is_time(hint, metadata):
        return format_time(micros(random.randrange(8) * 60))
    if hint is Any:
        return random.choice([_free(random), "text", 1, [2, {"b": 1, "a": 2}]])
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return random.choice(inside)
    if hasattr(hint, "__metadata__"):
        return _value(hint.__origin__, [*metadata, *hint.__metadata__], name, random)
    if origin is list:
        return [_value(inside[0], [], name, random) for _ in range(random.randrange(3))]
    if origin is dict:
        return _output(random) if name == "output" else _free(random)
    if inside:
        return _value(random.choice([one for one in inside if one is not NoneType]), [], name,
                      random)  # fmt: skip
    if issubclass(hint, Wire):
        return _object(hint, random)
    drawn: dict[type, Callable[[], Any]] = {
        bool: lambda: random.random() < 0.5,
        int: lambda: random.randrange(3),
        float: lambda: random.choice([0, 0.25, 0.5, 1]),
        str: lambda: OWNERS.get(name) or random.choice(WORDS),
    }
    return drawn[hint]()


def _free(random: Random) -> Json:
    """JSON of any form, with keys in any order."""
    fields = {"value": "tea", "family": "likes", "count": 2, "deep": {"z": [1, {"y": 1, "x": 2}]}}
    names = random.sample(sorted(fields), random.randrange(len(fields) + 1))
    return {name: fields[name] for name in names}


def _output(random: Random) -> Json:
    calls = [{"name": "f", "id": name} for name in random.sample(WORDS, random.randrange(3))]
    return {**_free(random), **({"tool_calls": calls} if calls else {})}


def is_time(hint: Any, metadata: list[Any]) -> bool:
    return hint is int and any(
        isinstance(one, BeforeValidator) and one.func is parse_time for one in metadata
    )


def plainest(sent: Json) -> str:
    """The record as canonical as its sender can make it: no defaults, sorted keys."""
    return json.dumps(_without_defaults(sent, RECORD_TYPES[sent["type"]]), sort_keys=True)


def spelt(sent: Json, random: Random) -> str:
    """The same record as another sender may write it."""
    model = RECORD_TYPES[sent["type"]]
    made = _spelt(_without_defaults(sent, model), model, random)
    made["schema_version"] = random.choice([1, 2, 2.0])
    for name in EMPTY.get(model, ()):
        if name not in made and random.random() < 0.3:
            made[name] = EMPTY[model][name]
    return json.dumps(
        _shuffled(made, random), ensure_ascii=random.random() < 0.5, indent=random.choice([None, 1])
    )


def _models(hint: Any) -> list[type[Wire]]:
    if isinstance(hint, type) and issubclass(hint, Wire):
        return [hint]
    return [model for inside in get_args(hint) for model in _models(inside)]


def _empty(field: FieldInfo) -> Any:
    """The object or list of a record's field that says as much as its absence; None: there is
    none."""
    hints = [field.annotation, *get_args(field.annotation)]
    if any(get_origin(hint) is list for hint in hints):
        return []
    whole = [model for model in _models(field.annotation)
             if not any(inner.is_required() for inner in model.model_fields.values())]  # fmt: skip
    return {} if whole else None


EMPTY = {
    model: {
        name: _empty(field)
        for name, field in model.model_fields.items()
        if field.default is None and name not in MEANINGFUL_IF_EMPTY and _empty(field) is not None
    }
    for model in RECORD_TYPES.values()
}


def default_of(field: FieldInfo) -> Any:
    return field.get_default(call_default_factory=True)


def _without_defaults(sent: Json, model: type[Wire]) -> Json:
    plain = {}
    for name, value in sent.items():
        field = _fields(model).get(name)
        if field is None:
            plain[name] = value
            continue
        value = _inside(value, field, _without_defaults)
        if field.is_required() or not _equal(value, default_of(field)):
            plain[name] = value
    return plain


def _equal(value: Any, default: Any) -> bool:
    return value == default and isinstance(value, bool) is isinstance(default, bool)


def _inside(value: Any, field: FieldInfo, change: Callable[[Json, type[Wire]], Json]) -> Any:
    models = _models(field.annotation)
    if not models:
        return value
    if isinstance(value, list):
        return [change(one, models[0]) for one in value]
    return change(value, models[0]) if isinstance(value, dict) else value


def _spelt(plain: Json, model: type[Wire], random: Random) -> Json:
    made = {}
    for name, field in _fields(model).items():
        if name in plain:
            value = _inside(plain[name], field, lambda one, of: _spelt(one, of, random))
            made[name] = _time(value, random) if _is_time_or_none(field) else _number(value, random)
        elif not field.is_required() and random.random() < 0.5:
            made[name] = random.choice([None, _number(default_of(field), random)])
    for old, new in ALIASES.get(model, ()):
        if new in made and random.random() < 0.3 and old not in plain:
            made[old] = made.pop(new)
    return {**made, **{name: _number(plain[name], random) for name in plain if name not in made
                       and name not in {new for _, new in ALIASES.get(model, ())}}}  # fmt: skip


def _is_time_or_none(field: FieldInfo) -> bool:
    hints = [(field.annotation, field.metadata)]
    hints += [(one.__origin__, list(one.__metadata__)) for one in get_args(field.annotation)
              if hasattr(one, "__metadata__")]  # fmt: skip
    return any(is_time(hint, metadata) for hint, metadata in hints)


def _time(text: Any, random: Random) -> Any:
    """The same time in another zone, or with a fraction."""
    if not isinstance(text, str):
        return text
    local = format_time(parse_time(text) + 9 * HOUR + 30 * MINUTE).removesuffix("Z")
    return random.choice([text, f"{local}+09:30", f"{text[:-1]}.000Z", text.lower()])


def _number(value: Any, random: Random) -> Any:
    """Whole numbers, at any depth, as 2 or 2.0; 0 as -0.0, too."""
    if isinstance(value, dict):
        return {name: _number(one, random) for name, one in value.items()}
    if isinstance(value, list):
        return [_number(one, random) for one in value]
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
        return value
    return random.choice([value, float(value), -0.0 if value == 0 else value])


def _shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, dict):
        names = random.sample(sorted(value), len(value))
        return {name: _shuffled(value[name], random) for name in names}
    return [_shuffled(one, random) for one in value] if isinstance(value, list) else value
