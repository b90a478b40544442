"""What a pack's budget is counted with: a function of the platform's, or an estimate."""

import os
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, ImportString, TypeAdapter, ValidationError

from schemas.faults import reason
from streams import configuration
from streams.context.tokens import Count, estimated
from streams.errors import ConfigurationError

VARIABLE = configuration.variable("", "tokenizer")


def _counts(count: Count) -> Count:
    """Tried once, so that a wrong one is told at the start and not by a question."""
    try:
        found = count("How many tokens?")
    except Exception as error:
        raise ValueError(f"cannot count a text: {type(error).__name__}: {error}") from None
    if type(found) is not int or found < 0:
        raise ValueError(f"returned {found!r} for a text; expected a number of tokens")
    return count


_NAMED: TypeAdapter[Count] = TypeAdapter(Annotated[ImportString[Count], AfterValidator(_counts)])


def named(name: str) -> Count:
    """The function that MODULE:NAME names. Raises ValueError, which says what is wrong with it."""
    try:
        return _NAMED.validate_python(name)
    except ValidationError as error:
        fault = reason(error.errors(include_input=False)[0])
        raise ValueError(fault.replace("Invalid python path", "expected MODULE:NAME")) from None


@lru_cache(1)
def tokenizer() -> Count:
    """Of this process. Raises ConfigurationError."""
    given = os.environ.get(VARIABLE)
    try:
        return named(given) if given else estimated
    except ValueError as error:
        raise ConfigurationError(f"{configuration.name_of(VARIABLE)}: {error}") from None
