"""Validation errors for the sender of a record: pydantic's messages without Python's terms."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

PYTHON_TERMS = re.compile(r"^Value error, | or instance of \w+")
TEXT = r"^[^\x00-\x1f\x7f-\x9f]*$"
ID = r"^[^\x00-\x1f\x7f-\x9f]+$"
TENANT = r"^[^\x00-\x1f\x7f-\x9f/]+$"
CHOICES = re.compile(r"\^\(([\w|]+)\)(\(,\(\1\)\)\*)?\$")
"""Matches the patterns of `one_of` and `list_of`."""
REASONS = {
    TEXT: "must not contain control characters",
    ID: "must not contain control characters",
    TENANT: "must not contain control characters or a slash",
}
"""Error messages for the patterns of schemas/base.py."""
BRANCH = re.compile(r"(constrained-)?(str|int|float|bool)|list\[.*\]")
"""Pydantic's name of one type of a union, as it appears in the location of an error."""
EXPECTED = "Input should be "
MAX_ERRORS = 16
"""Limit of reported errors: a record may have one for each of its values."""


class Fault(NamedTuple):
    """Why a value is invalid; `place` is its path in the record."""

    place: tuple[int | str, ...]
    reason: str


def faults(error: ValidationError) -> list[Fault]:
    """Converts the first `MAX_ERRORS` errors of a ValidationError, without the values.

    A value that matches no type of a union is one fault. If it matches one type in part, only the
    faults inside it are returned.
    """
    errors = error.errors(include_url=False, include_input=False)[:MAX_ERRORS]
    return [fault for _, group in groupby(errors, _field) for fault in _of_field(list(group))]


def _field(error: ErrorDetails) -> tuple[int | str, ...]:
    """Location of an error, up to the first type of a union."""
    place = error["loc"]
    return place[: next((at for at, part in enumerate(place) if _is_branch(part)), len(place))]


def _is_branch(part: int | str) -> bool:
    return isinstance(part, str) and BRANCH.fullmatch(part) is not None


def _of_field(errors: list[ErrorDetails]) -> Iterator[Fault]:
    field = _field(errors[0])
    inner = [error for error in errors if len(error["loc"]) > len(field) + 1]
    if inner or len(errors) == 1:
        for error in inner or errors:
            yield Fault(tuple(part for part in error["loc"] if not _is_branch(part)), reason(error))
    else:
        first, *rest = map(reason, errors)
        yield Fault(field, " or ".join([first, *(text.removeprefix(EXPECTED) for text in rest)]))


def one_of(names: Iterable[str]) -> str:
    """Pattern that matches one of the names."""
    return f"^({'|'.join(names)})$"


def list_of(names: Iterable[str]) -> str:
    """Pattern that matches one or more of the names, comma-separated."""
    choice = f"({'|'.join(names)})"
    return f"^{choice}(,{choice})*$"


def reason(error: ErrorDetails) -> str:
    """Message of one error of a ValidationError, without the value; needs the error's context."""
    if error["type"] == "string_unicode":
        return "must not contain half of a surrogate pair"
    pattern = error.get("ctx", {}).get("pattern")
    if pattern in REASONS:
        return REASONS[pattern]
    if pattern and (choices := CHOICES.fullmatch(pattern)):
        repeated = "or more, comma-separated, " if choices[2] else ""
        return f"must be one {repeated}of {choices[1].replace('|', ', ')}"
    return PYTHON_TERMS.sub("", error["msg"]).replace("a valid dictionary", "an object")
