"""Fold constants of a memory, stored in its markers.

A worker continues only under the same constants: a memory folded partly under others would match no
set of rules.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from streams.errors import ConfigurationError
from streams.folds.constants import Number, Rules

CONSTANTS = "constants"


def to_note(rules: Rules) -> dict[str, Any]:
    """Entries for a marker's note: name and value of each constant that differs from its default.
    Pairs, since a repartition adds up objects of numbers (`repartition_places.merged`)."""
    changed = sorted(rules.changed().items())
    return {CONSTANTS: [list(pair) for pair in changed]} if changed else {}


def of_note(note: Mapping[str, Any]) -> Rules:
    """Rules that a marker's rows were folded under.

    Raises ConfigurationError for constants that this version does not know or allow.
    """
    return _of_pairs(tuple((str(name), value) for name, value in note.get(CONSTANTS, ())))


@lru_cache(64)
def _of_pairs(pairs: tuple[tuple[str, Number], ...]) -> Rules:
    try:
        return Rules.of(dict(pairs))
    except ValueError as error:
        raise ConfigurationError(
            f"memory was folded under constants that this version does not support ({error}); use "
            "the version that folded it, or fold the topics again under another --app-id"
        ) from None


def check(note: Mapping[str, Any], rules: Rules) -> None:
    """Raises ConfigurationError if an existing memory was folded under other constants."""
    if note and (noted := of_note(note)) != rules:
        raise ConfigurationError(
            f"memory was folded under {noted.shown()}, and this worker has {rules.shown()}; "
            f"continue it {_options(noted)}, or rebuild it under other constants: turnfold "
            "kafka worker --generation NAME --set CONSTANT=VALUE"
        )


def _options(rules: Rules) -> str:
    changed = [f"--set {name}={value:g}" for name, value in sorted(rules.changed().items())]
    return f"with {' '.join(changed)}" if changed else "without --set"
