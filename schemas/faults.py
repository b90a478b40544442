"""Why a value is refused, in words for who sent it: pydantic's, without the terms of Python."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

PYTHON_S = re.compile(r"^Value error, | or instance of \w+")
TEXT = r"^[^\x00-\x1f\x7f-\x9f]*$"
ID = r"^[^\x00-\x1f\x7f-\x9f]+$"
TENANT = r"^[^\x00-\x1f\x7f-\x9f/]+$"
NAMES = re.compile(r"\^\(([\w|]+)\)(\(,\(\1\)\)\*)?\$")
"""The patterns that `one_of` and `list_of` make."""
MEANT = {
    TEXT: "must not contain control characters",
    ID: "must not contain control characters",
    TENANT: "must not contain control characters or a slash",
}
"""What the patterns of schemas/base.py ask for."""
BRANCH = re.compile(r"(constrained-)?(str|int|float|bool)|list\[.*\]")
"""Pydantic's name of a form of a field that may have several, in the place of a fault."""
FORM = "Input should be "
MOST = 16
"""Errors of a value that are read. A record may have one for each of its values, and a reader wants
the first few."""


class Fault(NamedTuple):
    """What is wrong with a value, and where it is."""

    place: tuple[int | str, ...]
    reason: str


def faults(error: ValidationError) -> list[Fault]:
    """Those of a ValidationError's first `MOST` errors, without the values. What has none of the
    forms that a field may have is one fault; where it has the one form in part, that is wrong which
    is inside."""
    found = error.errors(include_url=False, include_input=False)[:MOST]
    return [fault for _, some in groupby(found, _field) for fault in _of_field(list(some))]


def _field(fault: ErrorDetails) -> tuple[int | str, ...]:
    """The place, up to where it names a form."""
    place = fault["loc"]
    return place[: next((at for at, part in enumerate(place) if _is_branch(part)), len(place))]


def _is_branch(part: int | str) -> bool:
    return isinstance(part, str) and BRANCH.fullmatch(part) is not None


def _of_field(some: list[ErrorDetails]) -> Iterator[Fault]:
    field = _field(some[0])
    inside = [one for one in some if len(one["loc"]) > len(field) + 1]
    if inside or len(some) == 1:
        for one in inside or some:
            yield Fault(tuple(part for part in one["loc"] if not _is_branch(part)), reason(one))
    else:
        first, *others = map(reason, some)
        yield Fault(field, " or ".join([first, *(other.removeprefix(FORM) for other in others)]))


def one_of(names: Iterable[str]) -> str:
    """The pattern of one of the names."""
    return f"^({'|'.join(names)})$"


def list_of(names: Iterable[str]) -> str:
    """The pattern of one or more of the names, comma-separated."""
    one = f"({'|'.join(names)})"
    return f"^{one}(,{one})*$"


def reason(fault: ErrorDetails) -> str:
    """One fault of a ValidationError; needs its context, and does not quote the value."""
    if fault["type"] == "string_unicode":
        return "must not contain half of a surrogate pair"
    pattern = fault.get("ctx", {}).get("pattern")
    if pattern in MEANT:
        return MEANT[pattern]
    if pattern and (names := NAMES.fullmatch(pattern)):
        many = "or more, comma-separated, " if names[2] else ""
        return f"must be one {many}of {names[1].replace('|', ', ')}"
    return PYTHON_S.sub("", fault["msg"]).replace("a valid dictionary", "an object")
