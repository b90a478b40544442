"""Messages that a session keeps as they were sent (`original` of `POST /v1/messages`): selects the
messages that memory reads, and creates the signals that store the originals."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from schemas.base import JsonObject, format_time
from schemas.events import SCHEMA_VERSION
from streams.folds.effects import Rows
from streams.folds.ids import short_hash
from streams.folds.seen_ids import find_id
from streams.folds.session_state import HEADER
from streams.importers import session_messages
from streams.importers.base import ImportFault, Skipped
from streams.importers.turns import Made
from streams.pipeline import images

Originals = Sequence[str | None]
"""The original of each message of a request."""
FIELD = re.compile(r"^messages\[(\d+)\](.*)$")
IMAGES = "message as it was sent, with an image"
UNANSWERED = "result of a call that the session does not know"


class MemoryRecords(NamedTuple):
    """The records of a request's messages; positions count all messages of the request."""

    records: session_messages.Records
    turns: list[Made]


def read(
    rows: Rows,
    request: session_messages.Request,
    originals: Originals,
    clock: Callable[[], int],
) -> MemoryRecords:
    """Reads the messages with content. A tool result without its call, as in a truncated window, is
    omitted and counted. Raises ImportFault."""
    indexes = _said(request.messages, originals)
    unanswered = Skipped()
    while True:
        part = request._replace(
            ids=[request.ids[at] for at in indexes],
            messages=[request.messages[at] for at in indexes],
        )
        try:
            records = session_messages.records(rows, part, clock)
        except ImportFault as fault:
            raise _placed(fault, indexes) from None
        if not records.unanswering:
            records.left_out.update(unanswered)
            return MemoryRecords(
                records, [Made(indexes[place], record) for place, record in records.made]
            )
        dropped = frozenset(_first_of(records.unanswering, part.messages))
        indexes = [at for place, at in enumerate(indexes) if place not in dropped]
        unanswered[UNANSWERED] += len(dropped)


def _placed(fault: ImportFault, indexes: Sequence[int]) -> ImportFault:
    """The fault, with the message's index in the whole request."""
    named = FIELD.match(fault.field or "")
    if named is None:
        return fault
    field = f"messages[{indexes[int(named[1])]}]{named[2]}"
    return ImportFault(fault.reason, item=fault.item, field=field)


def _first_of(unanswering: Sequence[int], messages: Sequence[JsonObject]) -> Sequence[int]:
    """Results before the first message of a speaker, because that message decides which turn
    continues and so which calls later results answer. Otherwise all results."""
    results = frozenset(unanswering)
    silent = ("system", "developer")
    speaks = (
        at
        for at, message in enumerate(messages)
        if at not in results and message.get("role") not in silent
    )
    first = next(speaks, len(messages))
    return [at for at in unanswering if at < first] or unanswering


def _said(messages: Sequence[JsonObject], originals: Originals) -> list[int]:
    """Indexes of the messages that memory reads. A trailing system message is skipped."""
    indexes = [at for at, message in enumerate(messages) if message.get("role") is not None]
    while indexes and messages[indexes[-1]]["role"] in ("system", "developer"):
        if originals[indexes[-1]] is None:
            break
        indexes.pop()
    return indexes


def without_images(original: str) -> str:
    """A message as it was sent, with placeholders for image bytes. A data URL remains one:
    frameworks validate it when they load the message."""
    if not images.may_hold(original):
        return original
    for start, end in reversed(list(images.find(original))):
        image = original[start:end]
        scheme = "data:," if image[:5].lower() == "data:" else ""
        original = f"{original[:start]}{scheme}{images.stand_in(image.encode())}{original[end:]}"
    return original


def signals(
    rows: Rows, request: session_messages.Request, originals: Originals, now: int
) -> Iterator[Made]:
    """The signals that store originals, except originals that the session already has."""
    times = session_messages.given_times(request.messages)
    for at, original in enumerate(originals):
        signal_id = request.ids[at]
        if original is None or is_known(rows, signal_id):
            continue
        moment = times[at]
        yield Made(
            at,
            {
                "type": "signal",
                "schema_version": SCHEMA_VERSION,
                "signal_id": signal_id,
                "scope": "session",
                "session_id": request.session_id,
                "user_id": request.user_id,
                "occurred_at": format_time(now + at if moment is None else moment),
                "message": original,
            },
        )


def is_known(rows: Rows, signal_id: str) -> bool:
    header = rows.get(HEADER)
    return (
        header is not None
        and find_id(rows, header.runs, short_hash("s" + signal_id))[0] is not None
    )
