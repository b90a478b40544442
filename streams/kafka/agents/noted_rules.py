"""The constants that a memory is folded under, as its markers keep them.

A worker folds on under the same constants or not at all: half of a memory under other constants
would be one that no rules make.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from streams.errors import ConfigurationError
from streams.folds.rules import Number, Rules

CONSTANTS = "constants"


def to_note(rules: Rules) -> dict[str, Any]:
    """What a marker's note says of them: name and value of each that is not the default. Pairs,
    for a repartition adds up what is an object of numbers (`repartition_places.merged`)."""
    changed = sorted(rules.changed().items())
    return {CONSTANTS: [list(pair) for pair in changed]} if changed else {}


def of_note(note: Mapping[str, Any]) -> Rules:
    """The rules that a marker's rows were folded under.

    Raises ConfigurationError for constants that this version does not know or allow.
    """
    return _of_pairs(tuple((str(name), value) for name, value in note.get(CONSTANTS, ())))


@lru_cache(64)
def _of_pairs(pairs: tuple[tuple[str, Number], ...]) -> Rules:
    try:
        return Rules.of(dict(pairs))
    except ValueError as error:
        raise ConfigurationError(
            f"memory was folded under constants that this version does not take ({error}); use the "
            "version that folded it, or fold the topics anew under another --app-id"
        ) from None


def check(note: Mapping[str, Any], rules: Rules) -> None:
    """Raises ConfigurationError where a memory that has begun was folded under other constants."""
    if note and (noted := of_note(note)) != rules:
        raise ConfigurationError(
            f"memory was folded under {noted.shown()}, and this worker has {rules.shown()}; "
            f"continue it {_options(noted)}, or fold it anew under other constants: turnfold "
            "kafka worker --generation NAME --set CONSTANT=VALUE"
        )


def _options(rules: Rules) -> str:
    changed = [f"--set {name}={value:g}" for name, value in sorted(rules.changed().items())]
    return f"with {' '.join(changed)}" if changed else "without --set"
