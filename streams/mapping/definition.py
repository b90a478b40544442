"""What a mapping file says (docs/mapping.md): source topic -> rules -> fields of our records.

Read strictly: an unknown name, a wrong type, a bad expression or a missing field is refused with
the file, the line and the path.
"""

from copy import deepcopy
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from schemas.faults import reason
from schemas.upcast import TURN_ALIASES, upcast
from streams.kinds import ID_FIELDS, MODELS
from streams.mapping.expressions import BadExpression, compiled
from streams.mapping.times import RFC_3339, BadTimeFormat, converter
from streams.mapping.yaml_file import Document, Place
from streams.pipeline import withheld
from streams.topology import TOPICS

Said = Literal["timestamp", "key", "topic"]
"""What the Kafka message says beside its value."""
Format = Literal["json", "cloudevents", "debezium"]
OURS = frozenset(topic.name for topic in TOPICS)
TIMES = frozenset({"occurred_at", "recorded_at"})
TOPIC = r"^[A-Za-z0-9._-]{1,249}$"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=False)


class FieldRule(_Part):
    """Where a field's value comes from: an expression, a constant or the message."""

    from_: str | None = Field(default=None, alias="from", description="JMESPath expression.")
    value: Any = Field(default=None, description="A constant.")
    message: Said | None = Field(default=None, description="A property of the Kafka message.")
    as_: Literal["text"] | None = Field(
        default=None, alias="as", description="`text`: a number or true becomes text."
    )
    time: str | None = Field(
        default=None, description="Format of a time: rfc3339, epoch_s, epoch_ms, epoch_us, or %Y…"
    )
    zone: str | None = Field(default=None, description="Zone of times that do not say theirs.")
    default: Any = Field(default=None, description="A constant where there is no value.")
    default_message: Said | None = Field(
        default=None, description="A property of the message where there is no value."
    )


class RecordRule(_Part):
    """What one kind of event becomes."""

    type: str = Field(description="Type of our record.")
    when: str | None = Field(default=None, description="Which events: JMESPath. Default: all.")
    fields: dict[
        str,
        Annotated[
            FieldRule,
            BeforeValidator(lambda said: {"from": said} if isinstance(said, str) else said),
        ],
    ]


class SourceRule(_Part):
    """How the events of a topic, or of files, are read."""

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


def _no_truth(said: Any) -> Any:
    """Python takes true for 1."""
    return str(said) if isinstance(said, bool) else said


class Definition(_Part):
    """A mapping file."""

    version: Annotated[Literal[1], BeforeValidator(_no_truth)] = Field(
        description="Version of this format: 1."
    )
    sources: dict[Annotated[str, Field(pattern=TOPIC)], SourceRule] = Field(
        min_length=1, description="Topic -> how its events are read."
    )

    def source_of(self, file: str) -> str | None:
        """The source whose patterns fit a file; a mapping of one source without patterns fits
        every file."""
        path = Path(file)
        names = {file, path.name, str(path.resolve())}
        for topic, source in self.sources.items():
            if any(fnmatchcase(name, one) for one in source.files for name in names):
                return topic
        only = next(iter(self.sources)) if len(self.sources) == 1 else None
        return only if only and not self.sources[only].files else None


def owner_of(topic: str) -> str | None:
    """Whose topic it is by its name, where not a platform's. A mapping of what Turnfold writes
    would read what it makes, and not end."""
    if topic in OURS:
        return "Turnfold's own"
    if topic.endswith("-changelog"):
        return "a worker's own, a changelog, by its name"
    return "Kafka itself" if topic.startswith("__") else None


def like_a_generations(topic: str) -> bool:
    """Whether a generation's topic may have this name, where names have no prefix."""
    return topic.partition(".")[0] in OURS


def load(path: Path) -> Definition:
    """A file's definition, checked. Raises ConfigurationError."""
    document = Document(path)
    try:
        definition = Definition.model_validate(document.value)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        place = tuple(part for part in fault["loc"] if part != "[key]")
        why = "is not known here" if fault["type"] == "extra_forbidden" else reason(fault)
        if fault["type"] == "string_pattern_mismatch":
            why = "is no name of a topic: letters, digits, dots, dashes and underscores"
        raise document.refusal(place, why) from None
    for topic, source in definition.sources.items():
        at: Place = ("sources", topic)
        if whose := owner_of(topic):
            raise document.refusal(at, f"is a topic of {whose}; it is not mapped")
        if source.deletes == "map" and source.format != "debezium":
            raise document.refusal((*at, "deletes"), "is for format debezium only")
        for number, rule in enumerate(source.records):
            _check(document, (*at, "records", number), rule)
            if rule.when is None and number + 1 < len(source.records):
                raise document.refusal(
                    (*at, "records", number + 1),
                    "is never reached: the rule before it has no `when`, and takes every event",
                )
    return definition


def _check(document: Document, at: Place, rule: RecordRule) -> None:
    model = MODELS.get(rule.type)
    if model is None:
        known = ", ".join(MODELS)
        raise document.refusal((*at, "type"), f"{rule.type!r} is no type; use one of {known}")
    for name, field in rule.fields.items():
        here = (*at, "fields", name)
        if name not in model.model_fields or name in SAID_ELSEWHERE:
            raise document.refusal(here, _no_field(rule.type, name))
        _check_field(document, here, name, field)
        for place, constant in (("value", field.value), ("default", field.default)):
            if place in field.model_fields_set:
                _check_constant(document, (*here, place), rule.type, name, constant)
        if name == ID_FIELDS[rule.type] and field.from_ is None and field.message != "key":
            raise document.refusal(here, "is the same in every event: an id needs `from`")
    needed = [name for name, field in model.model_fields.items() if field.is_required()]
    if missing := [name for name in needed if name not in rule.fields]:
        raise document.refusal((*at, "fields"), f"{missing[0]} is missing: a {rule.type} needs it")
    if rule.when is not None:
        _compile(document, (*at, "when"), rule.when)


SAID_ELSEWHERE = {
    "type": "stands beside `fields`, not in them",
    "schema_version": "is not mapped: what a mapping makes is always of the newest version",
}


def _no_field(kind: str, name: str) -> str:
    """Why a name cannot be mapped."""
    newer = dict(TURN_ALIASES).get(name) if kind == "turn" else None
    if newer:
        return f"is an older name, which a mapping does not use; write {newer}"
    return SAID_ELSEWHERE.get(name, f"a {kind} has no such field; docs/records.md lists them")


def _check_constant(document: Document, at: Place, kind: str, name: str, value: Any) -> None:
    """Raises for what the record's model would refuse, in each event."""
    model = MODELS[kind]
    if value is None:
        if at[-1] == "value" and model.model_fields[name].is_required():
            raise document.refusal(at, f"is nothing: a {kind} needs {name}")
        return
    record = {"type": kind, name: deepcopy(value)}
    if withheld.says(record):
        raise document.refusal(at, "says that every such event is to be withheld")
    try:
        model.model_validate(upcast(record))
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_input=False):
            if fault["loc"][:1] == (name,):
                inner = tuple(part for part in fault["loc"][1:] if isinstance(part, int | str))
                raise document.refusal((*at, *inner), reason(fault)) from None


def _check_field(document: Document, at: Place, name: str, field: FieldRule) -> None:
    given = field.model_fields_set
    origins = [one.rstrip("_") for one in ("from_", "value", "message") if one in given]
    if not origins:
        raise document.refusal(at, "needs one of `from`, `value` and `message`")
    if len(origins) > 1:
        what = " and ".join(f"`{one}`" for one in origins)
        hint = "; a constant where there is no value is `default`" if "value" in origins else ""
        raise document.refusal(at, f"has {what}; keep one{hint}")
    if {"default", "default_message"} <= given:
        raise document.refusal(at, "has two defaults; remove one")
    if "from_" not in given and given & {"default", "default_message", "as_", "time", "zone"}:
        raise document.refusal(at, "defaults, `as`, `time` and `zone` go with `from`")
    if field.from_ is not None:
        _compile(document, (*at, "from"), field.from_)
    if given & {"time", "zone"}:
        if name not in TIMES:
            raise document.refusal(at, "`time` is for occurred_at and recorded_at")
        try:
            converter(field.time or RFC_3339, field.zone)
        except BadTimeFormat as error:
            raise document.refusal(at, str(error)) from None


def _compile(document: Document, at: Place, expression: str) -> None:
    try:
        compiled(expression)
    except BadExpression as error:
        raise document.refusal(at, str(error)) from None
