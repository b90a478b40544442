"""Chinese: what is worth keeping of what was said. It is read alone, months later."""

import re

_POINTING = re.compile(
    r".*(?:这[家个条款种里边]|那[家个条款种里边]).*|也?只能这样.*|(?:就)?(?:选|用|要|去)(?:这|那|它).*"
)
_MOOD = re.compile(  # how somebody feels about themselves or their life
    r"(?:我)?自己.{0,4}|活着.*|人生|生活|世界|所有人|一切|上班|起床|现在的(?:自己|生活)|.*(?:去死|自杀|了结).*"
)
_FELT = frozenset(["like", "dislike", "plan", "decision", "limit", "habit", "goal"])


def worth(family: str, value: str, fold: str) -> bool:
    """Whether it says something by itself."""
    return family not in _FELT or not (_POINTING.fullmatch(fold) or _MOOD.fullmatch(fold))
