"""Whether a process answers, or reads on."""

from typing import NamedTuple


class Readiness(NamedTuple):
    """`done` of `total` rows or bytes are restored, where a restore is under way; `about` says it
    in words."""

    ready: bool
    about: str
    done: int = 0
    total: int = 0
