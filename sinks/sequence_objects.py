"""Names of numbered objects, 00000001.json, …: writers create the next one on condition that it
does not exist. Imports only fast modules."""

import re
from collections.abc import Iterable

NAME = re.compile(r"([0-9]{8})\.json")


def name_of(number: int) -> str:
    """Name of the object with a number."""
    return f"{number:08}.json"


def newest(names: Iterable[str]) -> int:
    """Highest number among these names; 0 without a numbered name."""
    return max((int(match[1]) for name in names if (match := NAME.fullmatch(name))), default=0)
