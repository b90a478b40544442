"""Selects the token counter of pack budgets: a function of the platform, or an estimate."""

import os
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, ImportString, TypeAdapter, ValidationError

from schemas.validation_text import reason
from streams import configuration
from streams.context.tokens import Count, estimated
from streams.errors import ConfigurationError

VARIABLE = configuration.variable("", "tokenizer")


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
