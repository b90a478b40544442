"""Definition in a mapping file (docs/mapping.md): source topic -> rules -> fields of records.

Validation is strict: an unknown name, a wrong type, a bad expression or a missing field is rejected
with file, line and path.
"""

from copy import deepcopy
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from schemas.upcast import TURN_ALIASES, upcast
from schemas.validation_text import reason
from streams.mapping.expressions import BadExpression, compiled
from streams.mapping.times import RFC_3339, BadTimeFormat, converter
from streams.mapping.yaml_file import Document, Place
from streams.pipeline import withheld
from streams.record_kinds import ID_FIELDS, MODELS
from streams.topology import TOPICS

MessageProperty = Literal["timestamp", "key", "topic"]
"""Properties of a Kafka message besides its value."""
Format = Literal["json", "cloudevents", "debezium"]
OURS = frozenset(topic.name for topic in TOPICS)
TIMES = frozenset({"occurred_at", "recorded_at"})
TOPIC = r"^[A-Za-z0-9._-]{1,249}$"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)


class FieldRule(_Part):
    """Source of a field's value: an expression, a constant or the message."""

    from_: str | None = Field(default=None, alias="from", description="JMESPath expression.")
    value: Any = Field(default=None, description="A constant.")
    message: MessageProperty | None = Field(
        default=None, description="A property of the Kafka message."
    )
    as_: Literal["text"] | None = Field(
        default=None, alias="as", description="`text`: a number or true becomes text."
    )
    time: str | None = Field(
        default=None, description="Format of a time: rfc3339, epoch_s, epoch_ms, epoch_us, or %Y…"
    )
    zone: str | None = Field(default=None, description="Zone of times that do not say theirs.")
    default: Any = Field(default=None, description="A constant where there is no value.")
    default_message: MessageProperty | None = Field(
        default=None, description="A property of the message where there is no value."
    )


class RecordRule(_Part):
    """Record of one kind of event."""

    type: str = Field(description="Type of our record.")
    when: str | None = Field(default=None, description="Which events: JMESPath. Default: all.")
    fields: dict[
        str,
        Annotated[
            FieldRule,
            BeforeValidator(lambda rule: {"from": rule} if isinstance(rule, str) else rule),
        ],
    ]


class SourceRule(_Part):
    """Format and rules of the events of a topic, or of files."""

    files: list[str] = Field(
        default_factory=list, description="Patterns of the names of files with such events."
    )
    format: Format = Field(default="json", description="What is around an event.")
    encoding: Literal["json", "confluent"] = Field(
        default="json",
        description="`confluent`: a schema's id and data in Avro, Protobuf or JSON, by the schema "
        "registry.",
    )
    deletes: Literal["skip", "map"] = Field(
        default="skip", description="What becomes of a row that was deleted (format debezium)."
    )
    records: list[RecordRule] = Field(
        min_length=1, description="Rules, in their order; the first that fits makes the record."
    )


def _reject_bool(version: Any) -> Any:
    """Rejects true as version 1, which Python considers equal."""
    return str(version) if isinstance(version, bool) else version


class Definition(_Part):
    """A mapping file."""

    version: Annotated[Literal[1], BeforeValidator(_reject_bool)] = Field(
        description="Version of this format: 1."
    )
    sources: dict[Annotated[str, Field(pattern=TOPIC)], SourceRule] = Field(
        min_length=1, description="Topic -> how its events are read."
    )

    def source_of(self, file: str) -> str | None:
        """The source with a pattern that matches a file; the only source matches every file if it
        has no patterns."""
        path = Path(file)
        names = {file, path.name, str(path.resolve())}
        for topic, source in self.sources.items():
            if any(fnmatchcase(name, pattern) for pattern in source.files for name in names):
                return topic
        only = next(iter(self.sources)) if len(self.sources) == 1 else None
        return only if only and not self.sources[only].files else None


def owner_of(topic: str) -> str | None:
    """Owner of a topic by its name, or None for the platform. A mapping of Turnfold's output would
    be an infinite loop."""
    if topic in OURS:
        return "Turnfold's own"
    if topic.endswith("-changelog"):
        return "a worker's own, a changelog, by its name"
    return "Kafka itself" if topic.startswith("__") else None


def like_a_generations(topic: str) -> bool:
    """Whether the name may be a generation's topic, without prefix."""
    return topic.partition(".")[0] in OURS


def load(path: Path) -> Definition:
    """Loads and validates a mapping file. Raises ConfigurationError."""
    document = Document(path)
    try:
        definition = Definition.model_validate(document.value)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = tuple(part for part in fault["loc"] if part != "[key]")
        problem = "is not known here" if fault["type"] == "extra_forbidden" else reason(fault)
        if fault["type"] == "string_pattern_mismatch":
            problem = "is no name of a topic: letters, digits, dots, dashes and underscores"
        raise document.refusal(place, problem) from None
    for topic, source in definition.sources.items():
        source_place: Place = ("sources", topic)
        if owner := owner_of(topic):
            raise document.refusal(source_place, f"is a topic of {owner}; it is not mapped")
        if source.deletes == "map" and source.format != "debezium":
            raise document.refusal((*source_place, "deletes"), "is for format debezium only")
        for number, rule in enumerate(source.records):
            _check(document, (*source_place, "records", number), rule)
            if rule.when is None and number + 1 < len(source.records):
                raise document.refusal(
                    (*source_place, "records", number + 1),
                    "is never reached: the rule before it has no `when`, and takes every event",
                )
    return definition


def _check(document: Document, place: Place, rule: RecordRule) -> None:
    model = MODELS.get(rule.type)
    if model is None:
        types = ", ".join(MODELS)
        raise document.refusal((*place, "type"), f"{rule.type!r} is no type; use one of {types}")
    for name, field in rule.fields.items():
        field_place = (*place, "fields", name)
        if name not in model.model_fields or name in UNMAPPED_FIELDS:
            raise document.refusal(field_place, _no_field(rule.type, name))
        _check_field(document, field_place, name, field)
        for key, constant in (("value", field.value), ("default", field.default)):
            if key in field.model_fields_set:
                _check_constant(document, (*field_place, key), rule.type, name, constant)
        if name == ID_FIELDS[rule.type] and field.from_ is None and field.message != "key":
            raise document.refusal(field_place, "is the same in every event: an id needs `from`")
    required = [name for name, field in model.model_fields.items() if field.is_required()]
    if missing := [name for name in required if name not in rule.fields]:
        raise document.refusal(
            (*place, "fields"), f"{missing[0]} is missing: a {rule.type} needs it"
        )
    if rule.when is not None:
        _compile(document, (*place, "when"), rule.when)


UNMAPPED_FIELDS = {
    "type": "stands beside `fields`, not in them",
    "schema_version": "is not mapped: what a mapping makes is always of the newest version",
}


def _no_field(kind: str, name: str) -> str:
    """Reason why a name cannot be mapped."""
    newer = dict(TURN_ALIASES).get(name) if kind == "turn" else None
    if newer:
        return f"is an older name, which a mapping does not use; write {newer}"
    return UNMAPPED_FIELDS.get(name, f"a {kind} has no such field; docs/records.md lists them")


def _check_constant(document: Document, place: Place, kind: str, name: str, value: Any) -> None:
    """Raises ConfigurationError for a constant that the record's model would reject in each
    event."""
    model = MODELS[kind]
    if value is None:
        if place[-1] == "value" and model.model_fields[name].is_required():
            raise document.refusal(place, f"is nothing: a {kind} needs {name}")
        return
    record = {"type": kind, name: deepcopy(value)}
    if withheld.says(record):
        raise document.refusal(place, "says that every such event is to be withheld")
    try:
        model.model_validate(upcast(record))
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            if fault["loc"][:1] == (name,):
                inner = tuple(part for part in fault["loc"][1:] if isinstance(part, int | str))
                raise document.refusal((*place, *inner), reason(fault)) from None


def _check_field(document: Document, place: Place, name: str, field: FieldRule) -> None:
    keys = field.model_fields_set
    origins = [key.rstrip("_") for key in ("from_", "value", "message") if key in keys]
    if not origins:
        raise document.refusal(place, "needs one of `from`, `value` and `message`")
    if len(origins) > 1:
        names = " and ".join(f"`{key}`" for key in origins)
        hint = "; a constant where there is no value is `default`" if "value" in origins else ""
        raise document.refusal(place, f"has {names}; keep one{hint}")
    if {"default", "default_message"} <= keys:
        raise document.refusal(place, "has two defaults; remove one")
    if "from_" not in keys and keys & {"default", "default_message", "as_", "time", "zone"}:
        raise document.refusal(place, "defaults, `as`, `time` and `zone` go with `from`")
    if field.from_ is not None:
        _compile(document, (*place, "from"), field.from_)
    if keys & {"time", "zone"}:
        if name not in TIMES:
            raise document.refusal(place, "`time` is for occurred_at and recorded_at")
        try:
            converter(field.time or RFC_3339, field.zone)
        except BadTimeFormat as error:
            raise document.refusal(place, str(error)) from None


def _compile(document: Document, place: Place, expression: str) -> None:
    try:
        compiled(expression)
    except BadExpression as error:
        raise document.refusal(place, str(error)) from None
