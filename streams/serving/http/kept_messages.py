"""Messages that a session keeps as they were sent (`original` of `POST /v1/messages`): what of a
request memory reads, and the signals that keep the rest."""

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
"""Of each message of a request."""
FIELD = re.compile(r"^messages\[(\d+)\](.*)$")
IMAGES = "message as it was sent, with an image"
UNANSWERED = "result of a call that the session does not know"


class Read(NamedTuple):
    """What memory makes of a request's messages, places counted in all of them."""

    found: session_messages.Records
    made: list[Made]


def read(
    rows: Rows,
    request: session_messages.Request,
    originals: Originals,
    clock: Callable[[], int],
) -> Read:
    """Reads the messages that say something. A tool's result without its call, as a window that was
    cut off has it, is left out here and counted. Raises ImportFault."""
    said = _said(request.messages, originals)
    unanswered = Skipped()
    while True:
        part = request._replace(
            ids=[request.ids[at] for at in said],
            messages=[request.messages[at] for at in said],
        )
        try:
            found = session_messages.records(rows, part, clock)
        except ImportFault as fault:
            raise _placed(fault, said) from None
        if not found.unanswering:
            found.left_out.update(unanswered)
            return Read(found, [Made(said[place], record) for place, record in found.made])
        dropped = frozenset(_first_of(found.unanswering, part.messages))
        said = [at for place, at in enumerate(said) if place not in dropped]
        unanswered[UNANSWERED] += len(dropped)


def _placed(fault: ImportFault, said: Sequence[int]) -> ImportFault:
    """The fault, with the message's index in the whole request."""
    named = FIELD.match(fault.field or "")
    if named is None:
        return fault
    field = f"messages[{said[int(named[1])]}]{named[2]}"
    return ImportFault(fault.reason, item=fault.item, field=field)


def _first_of(unanswering: Sequence[int], messages: Sequence[JsonObject]) -> Sequence[int]:
    """Those before anybody speaks: who is the first to speak decides which turn goes on, and so
    which calls the others may answer. Else all."""
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
    """The indexes of the messages that memory reads. A system message says nothing at the end."""
    said = [at for at, message in enumerate(messages) if message.get("role") is not None]
    while said and messages[said[-1]]["role"] in ("system", "developer"):
        if originals[said[-1]] is None:
            break
        said.pop()
    return said


def without_images(original: str) -> str:
    """A message as it was sent, with a stand-in for the bytes of each image. A data URL stays one:
    frameworks check it when they read the message again."""
    if not images.may_hold(original) and "\\" not in original:
        return original
    for start, end in reversed(list(images.find(original))):
        image = original[start:end]
        scheme = "data:," if image[:5].lower() == "data:" else ""
        original = f"{original[:start]}{scheme}{images.stand_in(image.encode())}{original[end:]}"
    return original


def signals(
    rows: Rows, request: session_messages.Request, originals: Originals, now: int
) -> Iterator[Made]:
    """The signals that keep the originals, but for those that the session has."""
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
    """Whether the session has a signal of that id."""
    header = rows.get(HEADER)
    return (
        header is not None
        and find_id(rows, header.runs, short_hash("s" + signal_id))[0] is not None
    )
