"""Maps events to input records: a pure function of the message, without clock.

A mapped record is decoded as JSON by `streams.pipeline.decode`, like every record, with the same
validation as if it had been sent in this form.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from jmespath.exceptions import JMESPathError

from schemas.time import format_time
from streams.errors import ConfigurationError
from streams.mapping import embedded_json
from streams.mapping.definition import Definition, FieldRule, MessageProperty, RecordRule, load
from streams.mapping.envelopes import Message, NotAnEvent, unwrapper
from streams.mapping.expressions import Read, compiled, failure, is_true
from streams.mapping.times import RFC_3339, converter
from streams.pipeline import withheld
from streams.pipeline.decode import Dead, Decoded, decode, foreign, hidden, too_long, unreadable
from streams.topology import INPUT_BYTES

if TYPE_CHECKING:
    from streams.mapping.schema_registry import Registry

Place = tuple[str, int, int]
HEAD = 65_536
OWNERS = ("tenant", "session_id", "user_id", "scope")
"""Fields that are mapped first, so that a rejected event still has its owner."""

FRAME, FRAMED = b"\0", 5
"""Prefix of JSON under a schema registry: byte 0 and the schema's id, 5 bytes."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Mapped(NamedTuple):
    """Outcome of an event; `line` is its record as JSON, if it has one."""

    found: Decoded
    line: bytes = b""


WITHHELD, SKIPPED = Mapped("withheld"), Mapped("skipped")


class _Withheld(Exception):  # noqa: N818 - what it is
    """Data decoded by a schema registry must be withheld."""


class _Unmappable(Exception):  # noqa: N818 - what happened
    """A field has no valid value; the text is the reason."""


class Source:
    """Maps the events of one topic, or of files, by the rules of a mapping."""

    def __init__(
        self, topic: str, definition: Definition, registry: "Registry | None" = None
    ) -> None:
        source = definition.sources[topic]
        self.topic = topic
        self._is_json = source.encoding == "json"
        if self._is_json:
            self._unwrap = unwrapper(source)
        else:
            assert registry is not None, "encoding confluent needs it"
            self._unwrap = unwrapper(source, _guarded(registry.read))
        self._rules = [_Rule(number, rule) for number, rule in enumerate(source.records, 1)]
        self._of_files = Message(topic)

    def decode(self, line: bytes, place: Place) -> Decoded:
        """Maps a line of a file."""
        return self.map(line, place, self._of_files).found

    def map(self, value: bytes | None, place: Place, message: Message) -> Mapped:
        """Maps a message's value; `place` is its topic, partition and offset."""
        if value is not None and self._is_withheld(value):
            return WITHHELD
        if message.headers and withheld.in_headers(message.headers):
            return WITHHELD
        if value is not None and len(value) > INPUT_BYTES:
            detail = f"{len(value)} bytes, at most {INPUT_BYTES}"
            return Mapped(foreign("too_large", detail, _cut(value)))
        try:
            if value is not None and _is_packed(value):
                return WITHHELD
            event = self._unwrap(value, message)
        except _Withheld:
            return WITHHELD
        except embedded_json.TooMuch as error:  # it may contain data to withhold
            return Mapped(hidden(Dead("too_large", str(error), value or b"")))
        except NotAnEvent as error:
            return Mapped(foreign(error.reason, str(error), value or b""))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return Mapped(unreadable(value or b"", error))
        if event is None:
            return SKIPPED
        return self._by_rules(event, value or b"", place, message)

    def _is_withheld(self, value: bytes) -> bool:
        """Whether the raw bytes contain the marker, which decoding may drop: a name may be there
        twice."""
        if not withheld.may_be_said(value):
            return False
        framed = not self._is_json and value[:1] == FRAME and withheld.is_said(value[FRAMED:])
        return framed or withheld.is_said(value)

    def _by_rules(
        self, event: dict[str, Any], value: bytes, place: Place, message: Message
    ) -> Mapped:
        for rule in self._rules:
            record: dict[str, Any] = {}
            try:
                if not rule.fits(event):
                    continue
                rule.fill(record, event, message)
                line = _encode(record)
            except _Unmappable as error:
                return Mapped(foreign("invalid", rule.said(str(error)), value, event, record))
            except RecursionError:
                detail = rule.said("nested too deep")
                return Mapped(foreign("too_deep", detail, value, event, record))
            decoded = decode(line, place)
            if isinstance(decoded, Dead):
                decoded = foreign(decoded.reason, rule.said(decoded.detail), value, event, record)
            return Mapped(decoded, line)
        return SKIPPED


def _is_packed(value: bytes) -> bool:
    """Whether encoded content within JSON must be withheld."""
    try:
        is_likely = withheld.may_be_said(value) or embedded_json.may_be_said(value)
        return is_likely and embedded_json.says(_decode(value))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def _guarded(reader: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Wraps a reader: raises _Withheld for data that contain the marker."""

    def guarded(value: bytes) -> Any:
        data = reader(value)
        if withheld.says(data) or embedded_json.says(data):
            raise _Withheld
        return data

    return guarded


class _Rule:
    """Compiled rule of one kind of event: condition, and fields of the record."""

    def __init__(self, number: int, rule: RecordRule) -> None:
        self.name = f"rule {number} ({rule.type})"
        self._when = None if rule.when is None else compiled(rule.when)
        self._constants: dict[str, Any] = {"type": rule.type}
        self._fields: list[tuple[str, Read, Callable[[Any, Message], Any] | None]] = []
        self._expressions = {
            name: field.from_ for name, field in rule.fields.items() if field.from_ is not None
        }
        order = sorted(rule.fields.items(), key=lambda item: item[0] not in OWNERS)
        for name, field in order:
            if field.from_ is None and field.message is None:
                if field.value is not None:
                    self._constants[name] = field.value
            elif field.from_ is None:
                self._fields.append((name, _nothing, _finish(field)))
            else:
                self._fields.append((name, compiled(field.from_), _finish(field)))

    def fits(self, event: dict[str, Any]) -> bool:
        """Whether the rule applies to an event. Raises _Unmappable."""
        try:
            return self._when is None or is_true(self._when(event))
        except JMESPathError as error:
            raise _Unmappable(f"when: {failure(error)}") from None

    def fill(self, record: dict[str, Any], event: dict[str, Any], message: Message) -> None:
        """Sets the fields with a value. Raises _Unmappable; `record` is then incomplete."""
        record.update(self._constants)
        name = ""
        try:
            for name, expression, finish in self._fields:
                value = expression(event)
                if finish is not None:
                    value = finish(value, message)
                if value is not None:
                    record[name] = value
        except JMESPathError as error:
            raise _Unmappable(f"{name}: {failure(error)}") from None
        except ValueError as error:
            raise _Unmappable(f"{name}: {error}") from None

    def said(self, detail: str) -> str:
        """Detail of a dead letter, with the expression of each field."""
        return f"{self.name}: " + "; ".join(map(self._with_origin, detail.split("; ")))

    def _with_origin(self, fault: str) -> str:
        path, colon, problem = fault.partition(":")
        expression = self._expressions.get(path.partition(".")[0])
        return f"{path} (from `{expression}`){colon}{problem}" if colon and expression else fault


def _cut(value: bytes) -> bytes:
    """First bytes of a very long value, with its length, as the value may not fit into a topic."""
    hint = b" meta_request" if withheld.is_spelt_out(value) else b""
    return value[:HEAD] + too_long(len(value)) + hint


def _nothing(event: Any) -> Any:
    return None


def _finish(field: FieldRule) -> Callable[[Any, Message], Any] | None:
    """Conversion of an expression's value, or None without one."""
    convert = converter(field.time or RFC_3339, field.zone)
    if field.as_ == "text":
        convert = _as_text
    default, message_field = field.default, field.message or field.default_message
    if convert is None and default is None and message_field is None:
        return None

    def finish(value: Any, message: Message) -> Any:
        if value is None:
            return default if message_field is None else _MESSAGE_PROPERTIES[message_field](message)
        return value if convert is None else convert(value)

    return finish


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return _encode(value).decode()
    raise ValueError("expected text, a number, true or false")


def _key(message: Message) -> str | None:
    try:
        return None if message.key is None else message.key.decode()
    except UnicodeDecodeError:
        raise ValueError("the message's key is not UTF-8") from None


def _timestamp(message: Message) -> str | None:
    return None if message.timestamp is None else format_time(message.timestamp * 1000)


_MESSAGE_PROPERTIES: Mapping[MessageProperty, Callable[[Message], str | None]] = {
    "timestamp": _timestamp,
    "key": _key,
    "topic": lambda message: message.topic,
}


# --- a whole file ---------------------------------------------------------------------------------


class Mapper:
    """The sources of a mapping file, by topic."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.definition = load(path)
        sources = self.definition.sources
        registry = None
        if any(source.encoding == "confluent" for source in sources.values()):
            from streams.mapping.schema_registry import Registry, RegistrySettings

            registry = Registry(RegistrySettings.load())
        self.sources = {topic: Source(topic, self.definition, registry) for topic in sources}

    def of_place(self, topic: str) -> Source | None:
        """Source of an event by its topic, or by the path of its file."""
        name = self.definition.source_of(topic) if "/" in topic else topic
        return None if name is None else self.sources.get(name)

    def for_file(self, file: str) -> Source:
        """Source of a file's events. Raises ConfigurationError if none matches."""
        topic = self.definition.source_of(file)
        if topic is None:
            raise ConfigurationError(
                f"{self.path}: no source takes {file}; name it, or a pattern such as *.ndjson, in "
                "the list `files` of a source"
            )
        return self.sources[topic]
