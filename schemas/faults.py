"""Why a value is refused, in words for who sent it: pydantic's, without the terms of Python."""

import re
from collections.abc import Iterable

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


def one_of(names: Iterable[str]) -> str:
    """The pattern of one of the names."""
    return f"^({'|'.join(names)})$"


def list_of(names: Iterable[str]) -> str:
    """The pattern of one or more of the names, comma-separated."""
    one = f"({'|'.join(names)})"
    return f"^{one}(,{one})*$"


def reason(fault: ErrorDetails) -> str:
    """One fault of a ValidationError; needs its context, and does not quote the value."""
    pattern = fault.get("ctx", {}).get("pattern")
    if pattern in MEANT:
        return MEANT[pattern]
    if pattern and (names := NAMES.fullmatch(pattern)):
        many = "or more, comma-separated, " if names[2] else ""
        return f"must be one {many}of {names[1].replace('|', ', ')}"
    return PYTHON_S.sub("", fault["msg"]).replace("a valid dictionary", "an object")
