"""Selects the token counter of pack budgets: a function of the platform, or an estimate."""

import math
import os
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, ImportString, TypeAdapter, ValidationError

from schemas.validation_text import reason
from streams import configuration
from streams.errors import ConfigurationError

Count = Callable[[str], int]
"""Text -> tokens. It must not count more for a text than for its lines together."""
ASCII, DIGITS, EAST, OTHER = 4.0, 2.0, 1.25, 2.0
"""Characters per token: ASCII without digits; digits (dates and citations); Chinese, Japanese and
Korean; all others. Ratio to o200k: 0.94 for packs in English, 0.97 for talk in English, Chinese and
Japanese, 1.3 to 1.5 for Russian, Hindi and Arabic."""
_EAST = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


VARIABLE = configuration.variable("", "tokenizer")


def estimated(text: str) -> int:
    """Estimates the tokens of a text by its characters (docs/context.md, "The budget")."""
    ascii = text.encode("ascii", "ignore")
    digits = len(ascii) - len(ascii.translate(None, b"0123456789"))
    tokens = (len(ascii) - digits) / ASCII + digits / DIGITS
    if non_ascii := len(text) - len(ascii):
        east = non_ascii - len(_EAST.sub("", text)) + len(ascii)
        tokens += east / EAST + (non_ascii - east) / OTHER
    return math.ceil(tokens)


def _checked(count: Count) -> Count:
    """Calls the function once, so that a fault is reported at the start, not by a request."""
    try:
        tokens = count("How many tokens?")
    except Exception as error:
        raise ValueError(f"cannot count a text: {type(error).__name__}: {error}") from None
    if type(tokens) is not int or tokens < 0:
        raise ValueError(f"returned {tokens!r} for a text; expected a number of tokens")
    return count


_IMPORT: TypeAdapter[Count] = TypeAdapter(Annotated[ImportString[Count], AfterValidator(_checked)])


def load(name: str) -> Count:
    """Imports the function MODULE:NAME. Raises ValueError with the reason."""
    try:
        return _IMPORT.validate_python(name)
    except ValidationError as error:
        fault = reason(error.errors(include_input=False)[0])
        raise ValueError(fault.replace("Invalid python path", "expected MODULE:NAME")) from None


@lru_cache(1)
def tokenizer() -> Count:
    """Returns the token counter of this process. Raises ConfigurationError."""
    name = os.environ.get(VARIABLE)
    try:
        return load(name) if name else estimated
    except ValueError as error:
        raise ConfigurationError(f"{configuration.name_of(VARIABLE)}: {error}") from None
