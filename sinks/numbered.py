"""Objects that are made one after the other, each on condition that nobody has made its number:
00000001.json, … Imports nothing slow."""

import re
from collections.abc import Iterable

NAME = re.compile(r"([0-9]{8})\.json")


def name_of(number: int) -> str:
    """What the object of a number is called."""
    return f"{number:08}.json"


def newest(names: Iterable[str]) -> int:
    """The highest number among these names; 0 where none is of such an object."""
    return max((int(found[1]) for one in names if (found := NAME.fullmatch(one))), default=0)
