"""Bytes to a validated record, a dead letter, or nothing (withheld): the edge of both tiers.

The order matters (design 04, What is one event): `meta_request` is decided before anything else
is looked at, image bytes before validation. A dead letter keeps the original bytes, less images
and withheld text.
"""

import re
from hashlib import blake2b, sha256
from typing import Any, Literal, NamedTuple

import msgspec
from pydantic import ValidationError

from schemas.events import MAX_RECORD_BYTES, RECORD_TYPES, SCHEMA_VERSION, Record, Turn
from schemas.upcast import upcast
from streams.folds.rows import Input
from streams.runtime import plain

WITHHELD_SOURCE = "meta_request"
_MORE_LINES = r"(?:\s+[A-Za-z0-9+/_-]{28,})*(?:\s+[A-Za-z0-9+/_-]*={1,2}|={0,2})"  # of base64
IMAGE_URL = re.compile(
    rf"data:image\\?/[\w.+-][^,\s\"]{{0,256}}+,\s*[^\s\"']{{32,}}{_MORE_LINES}",
    re.IGNORECASE | re.ASCII,
)
IMAGE_STARTS = tuple(start.encode() for start in plain.IMAGE_STARTS)
_STARTS = "|".join(plain.IMAGE_STARTS)
IMAGE_BYTES = re.compile(rf"(?:{_STARTS})[A-Za-z0-9+/]{{28,}}{_MORE_LINES}")
_ESCAPED_STARTS = _STARTS.replace("/", r"\\?/")
ESCAPED_BYTES = re.compile(  # as JSON may write them, in text that is none
    rf"(?:{_ESCAPED_STARTS})"
    r"(?:[A-Za-z0-9+/=]|\\/|\\[nrt]|\\u00[0-9a-fA-F]{2}){28,}"
)
LAST_LINE = re.compile(r"\s+[A-Za-z0-9+/_-]{1,27}\s*")
IDS = frozenset({
    "event_id", "session_id", "user_id", "client_id", "task_id", "trace_id", "step_id", "plan_id",
    "signal_id", "state_id", "tool_call_id", "from_event_id", "to_event_id", "sandbox_id", "tenant",
})  # fmt: skip
MAX_ID = 128
"""Characters of an id: no picture. An id may well begin as one does."""
PYTHON_S = re.compile(r"^Value error, | or instance of \w+")  # words that only its users know
BASE64 = re.compile(r"[A-Za-z0-9+/_\-\s]{64,}={0,2}")
IMAGE_FIELD = re.compile(r"image|base64", re.IGNORECASE)
TOO_LONG = re.compile(" … \\[a line of (\\d+) bytes\\](?: meta_request)?\\Z".encode())
"""`too_long`, at a line's end."""
HUGE = re.compile(rb"[0-9]{19}")
TENANT = re.compile(r"[^\x00-\x1f\x7f-\x9f/]{1,128}")
LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
LEFT_OUT = {"recorded_at", "schema_version"}
LEFT_OUT_OF_DOC = {*LEFT_OUT, "image_summaries"}

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="sorted").encode
_VALIDATORS = {name: model.__pydantic_validator__ for name, model in RECORD_TYPES.items()}


class Dead(NamedTuple):
    """A record that cannot be read, with its reason and what may be kept of it."""

    reason: str
    detail: str
    payload: bytes
    tenant: str = "default"
    key: str | None = None
    occurred_at: int | None = None


Withheld = Literal["withheld"]


def too_long(length: int) -> bytes:
    """What a source puts after the first bytes of a line too long to be held."""
    return f" … [a line of {length} bytes]".encode()


def decode(line: bytes, source: tuple[str, int, int]) -> Input | Dead | Withheld:
    """One record as bytes; `source` is its topic (or path), partition and offset (or line)."""
    quick = plain.read(line) if len(line) <= MAX_RECORD_BYTES else None
    if quick is not None:
        turn, doc, metadata = quick
        return _given(turn, doc, metadata, None, source, is_plain=True)
    try:
        record = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _unreadable(line, error)
    if not isinstance(record, dict):
        return Dead("not_an_object", "expected one JSON object", _kept(line, record))
    said = record.get("source")
    if isinstance(said, str) and means_withheld(said):
        return "withheld"
    if len(line) > MAX_RECORD_BYTES:
        detail = f"{len(line)} bytes, at most {MAX_RECORD_BYTES}"
        return Dead("too_large", detail, _kept(line, record), *_whose(record))
    if _may_be_deep(line) and _depth(record) > plain.MAX_DEPTH:
        detail = f"nested more than {plain.MAX_DEPTH} deep"
        return Dead("too_deep", detail, _kept(line, record), *_whose(record))
    if _may_hold_image(line) and (found := _image_field(record)):
        detail = f"{found}: image bytes are not kept; send a description in image_summaries"
        return Dead("image", detail, _kept(line, record), *_whose(record))
    return _validated(line, record, source)


def _may_be_deep(line: bytes) -> bool:
    return line.count(b"[") + line.count(b"{") > plain.MAX_DEPTH


def _depth(value: Any) -> int:
    """How deep objects and lists lie in one another, without recursion."""
    depth, level = 0, [value]
    while level:
        inside = [one for one in level if isinstance(one, dict | list)]
        level = [
            one
            for outer in inside
            for one in (outer.values() if isinstance(outer, dict) else outer)
        ]
        depth += bool(inside)
    return depth


def _validated(line: bytes, record: dict[str, Any], source: tuple[str, int, int]) -> Input | Dead:
    kind = record.get("type")
    validator = _VALIDATORS.get(kind) if isinstance(kind, str) else None
    if validator is None:
        known = ", ".join(RECORD_TYPES)
        said = "is missing" if kind is None else f"{str(kind)[:80]!r} is not known"
        return Dead("unknown_type", f"type: {said}; use one of {known}", line, *_whose(record))
    whose = _whose(record)
    if HUGE.search(line) and (name := _huge_integer(record)):
        return Dead("invalid", f"{name}: an integer beyond 64 bits; send it as text", line, *whose)
    try:
        model: Record = validator.validate_python(upcast(record))
    except ValidationError as error:
        return Dead("invalid", explain(error), line, *whose)
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
    """What the record says, without defaults: equal for two records that say the same."""
    content = model.model_dump(mode="json", exclude=LEFT_OUT_OF_DOC, exclude_defaults=True)
    return content | {"type": model.type}


def _given(
    model: Record | plain.PlainTurn,
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
        None,
        is_plain,
    )


def _huge_integer(record: dict[str, Any]) -> str | None:
    """The first field with an integer that the fold's rows could not hold; metadata stays text."""
    for name, value in record.items():
        inside = [value] if name != "metadata" else []
        while inside:
            one = inside.pop()
            if isinstance(one, int) and not -(2**63) <= one < 2**64:
                return name
            if isinstance(one, dict | list):
                inside.extend(one.values() if isinstance(one, dict) else one)
    return None


def explain(error: ValidationError) -> str:
    """Field and reason of each fault, without the values."""
    faults = []
    for fault in error.errors(include_url=False, include_input=False, include_context=False)[:8]:
        field = ".".join(str(part) for part in fault["loc"]) or "record"
        said = PYTHON_S.sub("", fault["msg"]).replace("a valid dictionary", "an object")
        faults.append(f"{field}: {said}")
    if any(fault.startswith("schema_version") for fault in faults):
        faults.append(f"this Turnstone reads schema versions 1 to {SCHEMA_VERSION}")
    return "; ".join(faults)


# --- what may not be kept ---------------------------------------------------------------------


def means_withheld(source: str) -> bool:
    """Whether a record of this source is not to be kept, however it is spelt."""
    return source.strip().lower().replace("-", "_") == WITHHELD_SOURCE


def _unreadable(line: bytes, error: Exception) -> Dead:
    if len(line) > MAX_RECORD_BYTES:
        cut = TOO_LONG.search(line)
        length = int(cut[1]) if cut else len(line)
        detail = f"{length} bytes, at most {MAX_RECORD_BYTES}"
        return Dead("too_large", detail, _kept(line, None))
    if isinstance(error, RecursionError):
        return Dead("too_deep", f"nested more than {plain.MAX_DEPTH} deep", _kept(line, None))
    try:
        line.decode()
    except UnicodeDecodeError as wrong:
        return Dead(
            "bad_utf8",
            f"not UTF-8: 0x{line[wrong.start]:02x} (byte {wrong.start})",
            _kept(line, None),
        )
    if lone := LONE_SURROGATE.search(line):
        detail = f"half of a surrogate pair (byte {lone.start()})"
        return Dead("bad_json", detail, _kept(line, None))
    return Dead("bad_json", str(error), _kept(line, None))


def _kept(line: bytes, record: Any) -> bytes:
    """The bytes less images; of bytes that may be a withheld request, only hash and length."""
    text = line.decode("utf-8", "surrogateescape")
    unescaped = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    unescaped = unescaped.replace("\0", "")  # UTF-16, read as what it is not
    if not isinstance(record, dict) and re.search(r"meta[_-]request", unescaped, re.IGNORECASE):
        return _encode({"bytes": len(line), "sha256": sha256(line).hexdigest()})
    is_deep = _may_be_deep(line) and _depth(record) > plain.MAX_DEPTH
    if isinstance(record, dict | list) and not is_deep:
        if not _may_hold_image(line) or not _image_field(record):
            return line
        return _encode(_without_images(record))
    cut = ESCAPED_BYTES.sub(lambda found: _stand_in(found[0]), text)
    return _cut_images(cut).encode("utf-8", "surrogateescape")


def _may_hold_image(line: bytes) -> bool:
    """Whether a closer look is worth it: a hint, or an escape that may hide one."""
    if b"\\" in line:
        return True
    for start in IMAGE_STARTS:  # a generator takes thrice as long
        if start in line:
            return True
    lower = line.lower()
    return b"image" in lower or b"base64" in lower


def _is_image(name: str, value: str) -> bool:
    if name in IDS and len(value) <= MAX_ID:
        return False
    if IMAGE_URL.search(value) or IMAGE_BYTES.match(value.lstrip(plain.SPACES)):
        return True
    return bool(IMAGE_FIELD.search(name) and len(value) >= 64 and BASE64.fullmatch(value))


def _image_field(value: Any, name: str = "", path: str = "") -> str | None:
    """The path of the first field that holds image bytes; `name` is the last field's."""
    if isinstance(value, str):
        return path if _is_image(name, value) else None
    if isinstance(value, dict):
        if any(_is_image("", key) for key in value):
            return f"{path or 'record'}, the name of a field in it"
        inside = ((key, f"{path}.{key}" if path else key, one) for key, one in value.items())
    elif isinstance(value, list):
        inside = ((name, path, one) for one in value)
    else:
        return None
    return next((found for key, at, one in inside if (found := _image_field(one, key, at))), None)


def _without_images(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {_cut_images(key): _without_images(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_images(one, name) for one in value]
    if isinstance(value, str) and _is_image(name, value):
        return _without_image(value)
    return value


def _without_image(text: str) -> str:
    """A text that holds an image: the last line of its base64 may be short, and like a word."""
    found = IMAGE_URL.search(text) or IMAGE_BYTES.search(text)
    if found is None or BASE64.fullmatch(text):
        return _stand_in(text)
    if LAST_LINE.fullmatch(text, found.end()):
        return text[: found.start()] + _stand_in(text[found.start() :])
    return _cut_images(text)


def _cut_images(text: str) -> str:
    for pattern in (IMAGE_URL, IMAGE_BYTES):
        text = pattern.sub(lambda found: _stand_in(found[0]), text)
    return text


def _stand_in(image: str) -> str:
    raw = image.encode("utf-8", "surrogateescape")
    return f"[image removed: {len(raw)} bytes, sha256 {sha256(raw).hexdigest()}]"


def _whose(record: dict[str, Any]) -> tuple[str, str | None]:
    """The tenant of a record that cannot be read, as far as it names one, and its key:
    tenant/session_id, or tenant/user_id for what is keyed by the user."""
    tenant = record.get("tenant", plain.TENANT)
    if not (isinstance(tenant, str) and TENANT.fullmatch(tenant)):
        return plain.TENANT, None
    by_user = record.get("type") == "write_plan" or record.get("scope") == "user"
    owner = record.get("user_id" if by_user else "session_id")
    return tenant, f"{tenant}/{owner}"[:300] if isinstance(owner, str) else None
