"""Decodes bytes to a validated record, a dead letter, or a withheld record, for both backends.

The order matters (docs/rules.md, "One event"): `meta_request` is checked first, image bytes before
validation. A dead letter keeps the original bytes without images and withheld text.
"""

import re
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import msgspec
from pydantic import ValidationError

from schemas.dead_letters import Reason
from schemas.events import MAX_RECORD_BYTES, SCHEMA_VERSION, Record, Turn
from schemas.upcast import number, settled, upcast
from schemas.validation_text import faults
from streams.folds.effects import Input
from streams.pipeline import fast_decode, images, json_limits, number_limits, withheld
from streams.pipeline.withheld import means_withheld as means_withheld
from streams.record_kinds import KINDS, MODELS, kind_by_fields

Given = tuple[bytes, tuple[str, int, int]]
"""A record as bytes, and its position: topic (or path), partition, offset (or line, from 1)."""

IDS = frozenset({
    *(name for kind in KINDS for name in (kind.id, kind.owner)),
    "tenant", "client_id", "task_id", "step_id", "state_id", "from_event_id", "to_event_id",
    "sandbox_id",
})  # fmt: skip
MAX_ID = fast_decode.MAX_ID
"""Ids of up to so many characters are not checked for images: an id may start like one."""
TOO_LONG = re.compile(" … \\[a line of (\\d+) bytes\\](?: meta_request)?\\Z".encode())
"""`too_long`, at a line's end."""
TENANT = re.compile(r"[^\x00-\x1f\x7f-\x9f/]{1,128}")
LONE_SURROGATE = re.compile(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F][0-9a-fA-F]{2})"
)
"""Each alternative starts with a backslash, which Python finds in a tenth of the time."""
NAME = ", the name of a field in it"
LEFT_OUT = {"recorded_at", "schema_version"}
LEFT_OUT_OF_DOC = {*LEFT_OUT, "image_summaries"}

_decode = msgspec.json.Decoder(float_hook=number).decode
_encode = msgspec.json.Encoder(order="sorted").encode


@cache
def _validator(kind: str) -> Any:
    """Validator of a record type, built on first use (`defer_build`)."""
    MODELS[kind].model_rebuild()
    return MODELS[kind].__pydantic_validator__


class Dead(NamedTuple):
    """A record that cannot be applied, with its reason and the bytes that may be stored.

    `hidden`: it may have to be withheld, so its key and headers are not stored.
    """

    reason: Reason
    detail: str
    payload: bytes
    tenant: str = "default"
    key: str | None = None
    occurred_at: int | None = None
    hidden: bool = False


Withheld = Literal["withheld"]
Skipped = Literal["skipped"]
"""An event of another shape that does not become a record (`streams.mapping`)."""
Decoded = Input | Dead | Withheld | Skipped
Decode = Callable[[bytes, tuple[str, int, int]], Decoded]
"""What reads the lines of a file, each with its place."""


def too_long(length: int) -> bytes:
    """Replacement that a source adds after the first bytes of a line above the size limit."""
    return f" … [a line of {length} bytes]".encode()


def decode(line: bytes, source: tuple[str, int, int]) -> Input | Dead | Withheld:
    """Decodes one record; `source` is its topic (or path), partition and offset (or line)."""
    if len(line) > json_limits.SHORT and (reason := _too_much(line)):
        return _unread(line, *reason)
    if withheld.may_be_said(line) and withheld.is_said(line):
        return "withheld"
    quick = fast_decode.read(line)
    if quick is not None:
        turn, doc, metadata = quick
        return _given(turn, doc, metadata, None, source, is_plain=True)
    try:
        record = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return unreadable(line, error)
    if not isinstance(record, dict):
        return dead("not_an_object", "expected one JSON object", line, record)
    source_name = record.get("source")
    if isinstance(source_name, str) and means_withheld(source_name):
        return "withheld"
    if line.find(b"ase64") >= 0 and withheld.is_said(line):
        return "withheld"
    if _may_be_deep(line) and _depth(record) > fast_decode.MAX_DEPTH:
        return dead("too_deep", f"nested more than {fast_decode.MAX_DEPTH} deep", line, record)
    if _may_hold_image(line) and (removal := _Removal(record)).detail is not None:
        letter = Dead("image", removal.detail, line, *_whose(record))
        if withheld.is_mentioned(line):
            return hidden(letter)
        return letter._replace(payload=_encode(removal.record))
    return _validated(line, record, source)


def decode_again(line: bytes, source: tuple[str, int, int]) -> Input | Dead:
    """Decodes a stored record (`streams.files.stored_records`) for a rebuild.

    Limits and forbidden content were checked on arrival. The canonical form may be longer than the
    original (1e15 is written out), so the limits are not checked again.
    """
    quick = fast_decode.read(line)
    if quick is not None:
        turn, doc, metadata = quick
        return _given(turn, doc, metadata, None, source, is_plain=True)
    try:
        record: dict[str, Any] = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return unreadable(line, error)
    return _modelled(line, record, _validator(record["type"]), source)


def _too_much(line: bytes) -> tuple[Reason, str] | None:
    """Reason why a line exceeds the limits, or None if it does not."""
    if len(line) > MAX_RECORD_BYTES:
        return "too_large", f"{_length(line)} bytes, at most {MAX_RECORD_BYTES}"
    detail = json_limits.too_many_values(line)
    return None if detail is None else ("too_large", detail)


def _length(line: bytes) -> int:
    cut = TOO_LONG.search(line, len(line) - 100)
    return int(cut[1]) if cut else len(line)


def _unread(line: bytes, reason: Reason, detail: str) -> Dead | Withheld:
    """Result for a line above the limits: only its head is parsed."""
    try:
        head = json_limits.head(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return unreadable(line, error)
    source = head.get("source")
    if isinstance(source, str) and means_withheld(source):
        return "withheld"
    return _less_images(Dead(reason, detail, line, *_whose(head)), None)


def _may_be_deep(line: bytes) -> bool:
    return line.count(b"[") + line.count(b"{") > fast_decode.MAX_DEPTH


def _depth(value: Any) -> int:
    """Depth of nested objects and lists, without recursion."""
    depth, level = 0, [value]
    while level:
        inside = [part for part in level if isinstance(part, dict | list)]
        level = [
            part
            for outer in inside
            for part in (outer.values() if isinstance(outer, dict) else outer)
        ]
        depth += bool(inside)
    return depth


def _validated(line: bytes, record: dict[str, Any], source: tuple[str, int, int]) -> Input | Dead:
    kind = record.get("type")
    if not isinstance(kind, str) or kind not in MODELS:
        types = ", ".join(MODELS)
        reason = "is missing" if kind is None else f"{str(kind)[:80]!r} is not known"
        return dead("unknown_type", f"type: {reason}; use one of {types}", line, record)
    is_huge = number_limits.has_digits(line, number_limits.HUGE_DIGITS)
    if is_huge and (path := number_limits.huge_integer(record)):
        detail = f"{_named(path, line, kind)}: an integer beyond 64 bits; send it as text"
        return dead("invalid", detail, line, record)
    ordered = _decode(_encode(record))  # keys as in the doc: free form is kept as it comes
    return _modelled(line, ordered, _validator(kind), source)


def _named(path: str, line: bytes, kind: Any) -> str:
    """Path of a field; if the record may have to be withheld, only our own field names."""
    if not withheld.is_mentioned(line):
        return path
    name = path.partition(".")[0]
    return name if name in MODELS[kind].model_fields else "a field"


def _modelled(
    line: bytes, record: dict[str, Any], validator: Any, source: tuple[str, int, int]
) -> Input | Dead:
    owner = _whose(record)  # `upcast` changes the record
    try:
        model: Record = validator.validate_python(upcast(record))
    except ValidationError as error:
        return guarded(Dead("invalid", explain(error), line, *owner), line)
    content = content_of(model)
    metadata = content.get("metadata")
    return _given(
        model,
        _encode(content),
        _encode(metadata).decode() if metadata else None,
        model.__pydantic_extra__,
        source,
    )


def content_of(model: Record) -> dict[str, Any]:
    """Content of a record without defaults: equal for equivalent records."""
    content = model.model_dump(mode="json", exclude=LEFT_OUT_OF_DOC, exclude_defaults=True)
    return settled(model, content) | {"type": model.type}


def _given(
    model: Record | fast_decode.PlainTurn,
    doc: bytes,
    metadata: str | None,
    extra: Any,
    source: tuple[str, int, int],
    is_plain: bool = False,
) -> Input:
    digest = blake2b(doc, digest_size=4)
    if type(model) is Turn and model.image_summaries:
        digest.update(_encode(model.image_summaries))
    return Input(
        model,  # type: ignore[arg-type]  # a plain turn has a turn's names
        (int.from_bytes(digest.digest(), "big") & ~1).to_bytes(4, "big"),
        doc.decode(),
        model.occurred_at if model.recorded_at is None else model.recorded_at,
        metadata,
        _encode(extra).decode() if extra else None,
        source,
        is_plain,
    )


def explain(error: ValidationError) -> str:
    """Field and reason of each fault, without the values."""
    reasons = [
        f"{'.'.join(map(str, fault.place)) or 'record'}: {fault.reason}"
        for fault in faults(error)[:8]
    ]
    if any(fault.startswith("schema_version") for fault in reasons):
        reasons.append(f"this Turnfold reads schema versions 1 to {SCHEMA_VERSION}")
    return "; ".join(reasons)


# --- what may not be kept ---------------------------------------------------------------------


def dead(reason: Reason, detail: str, line: bytes, record: Any = None) -> Dead:
    """Returns the dead letter of a line; `record` is its JSON, if it could be parsed."""
    letter = Dead(reason, detail, line, *(_whose(record) if isinstance(record, dict) else ()))
    return _less_images(letter, record)


def foreign(
    reason: Reason, detail: str, line: bytes, event: Any = None, record: Any = None
) -> Dead:
    """Returns the dead letter of a mapped event (`streams.mapping`) with the event's bytes.
    `record` is the mapped record, if the mapping got that far."""
    letter = Dead(reason, detail, line, *(_whose(record) if record else ()))
    return _less_images(letter, event)


def _less_images(letter: Dead, document: Any) -> Dead:
    """Removes images from the dead letter; replaces content that may have to be withheld by its
    hash. `document` is the payload's JSON, if it could be parsed."""
    if withheld.is_mentioned(letter.payload):
        return hidden(letter)
    return letter._replace(payload=_kept(letter.payload, document))


def guarded(letter: Dead, *sent: bytes | None) -> Dead:
    """Returns the letter; if `sent` mentions `meta_request`, only with hash and length of its
    bytes."""
    return hidden(letter) if any(map(withheld.is_mentioned, filter(None, sent))) else letter


def hidden(letter: Dead) -> Dead:
    """Returns the letter with only hash and length of its bytes."""
    is_quoting = letter.reason not in QUOTES_NOTHING
    detail = "may be a withheld record: its text is not kept" if is_quoting else letter.detail
    payload = withheld.hash_of(letter.payload)
    return letter._replace(detail=detail, payload=payload, key=None, hidden=True)


QUOTES_NOTHING: frozenset[Reason] = frozenset(
    {"bad_json", "bad_utf8", "not_an_object", "too_large", "too_deep", "invalid"}
)
"""Reasons with details that only name Turnfold's fields, positions and sizes, and do not quote the
record."""


def half_of_a_pair(match: re.Match[bytes]) -> str:
    """Describes a lone surrogate."""
    return f"half of a surrogate pair (byte {match.start()})"


def unreadable(line: bytes, error: Exception) -> Dead:
    """Returns the dead letter of bytes that are invalid JSON or exceed the limits."""
    if len(line) > MAX_RECORD_BYTES:
        return dead("too_large", f"{_length(line)} bytes, at most {MAX_RECORD_BYTES}", line)
    if isinstance(error, RecursionError):
        return dead("too_deep", f"nested more than {fast_decode.MAX_DEPTH} deep", line)
    try:
        line.decode()
    except UnicodeDecodeError as wrong:
        place = f"not UTF-8: 0x{line[wrong.start]:02x} (byte {wrong.start})"
        return dead("bad_utf8", place, line)
    if lone := LONE_SURROGATE.search(line):
        return dead("bad_json", half_of_a_pair(lone), line)
    is_long = number_limits.has_digits(line, number_limits.MOST_DIGITS + 1)
    if is_long and (path := number_limits.long_integer(line)):
        path = path if not withheld.is_mentioned(line) else "a field"
        detail = (
            f"{path}: an integer of more than {number_limits.MOST_DIGITS} digits; send it as text"
        )
        return dead("invalid", detail, line)
    detail = str(error)
    if "out of range" in detail and not withheld.is_mentioned(line):
        path = number_limits.beyond_floats(line)
        detail = f"{path}: number out of range, at most 1.7e308" if path else detail
    return dead("bad_json", detail, line)


def kept(line: bytes) -> bytes:
    """Returns the bytes of an event that a dead letter may store. The record has no image, but the
    rest of the event may."""
    try:
        return _kept(line, _decode(line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _kept(line, None)


def _kept(line: bytes, record: Any) -> bytes:
    """Returns the bytes without images."""
    is_deep = _may_be_deep(line) and _depth(record) > fast_decode.MAX_DEPTH
    if isinstance(record, dict | list) and not is_deep:
        if not _may_hold_image(line) or (removal := _Removal(record)).detail is None:
            return line
        return _encode(removal.record)
    if len(line) >= images.LEAST and images.is_image(line):
        return images.stand_in(line).encode()
    if not _may_hold_image(line):
        return line
    text = line.decode("utf-8", "surrogateescape")
    return images.cut(text).encode("utf-8", "surrogateescape")


def _may_hold_image(line: bytes) -> bool:
    """Whether a line needs a full search for images; a hint, including escapes."""
    return images.may_hold(line.decode("utf-8", "replace"))


class _Removal:
    """A record without its images, in one search. `detail`: field of the first one, and why it is
    removed, or None without one."""

    def __init__(self, record: Any) -> None:
        self._search = images.Search()
        self.detail: str | None = None
        self.record = self._cut(record, ())

    def _cut(self, value: Any, path: tuple[str, ...]) -> Any:
        if isinstance(value, dict):
            return {
                self._without(key, path, NAME): self._cut(part, (*path, key))
                for key, part in value.items()
            }
        if isinstance(value, list):
            return [self._cut(part, path) for part in value]
        if not isinstance(value, str) or (path and path[-1] in IDS and len(value) <= MAX_ID):
            return value
        return self._without(value, path)

    def _without(self, text: str, path: tuple[str, ...], of: str = "") -> str:
        """`of`: the part of the field that `text` is."""
        remainder = self._search.cut(text)
        if self.detail is None and remainder != text:
            names = (name if len(name) <= MAX_ID else "…" for name in path if name)
            self.detail = f"{'.'.join(names) or 'record'}{of}: {_why_image(self._search)}"
        return remainder


def _why_image(search: images.Search) -> str:
    if search.is_over:
        return f"more than {images.MOST} places in the record begin as an image does"
    return "image bytes are not kept; send a description in image_summaries"


def _whose(record: dict[str, Any]) -> tuple[str, str | None]:
    """Returns tenant and key of an invalid record, as far as it has them: tenant/session_id, or
    tenant/user_id for records keyed by user."""
    tenant = record.get("tenant", fast_decode.TENANT)
    if not (isinstance(tenant, str) and TENANT.fullmatch(tenant)) or images.is_in(tenant):
        return fast_decode.TENANT, None
    kind, scope = kind_by_fields(record.get("type"), record.get("scope")), record.get("scope")
    by_user = (kind is not None and kind.table == "users") or scope == "user"
    owner = record.get("user_id" if by_user else "session_id")
    if not isinstance(owner, str) or images.is_in(owner):
        return tenant, None
    return tenant, f"{tenant}/{owner}"[:300]
