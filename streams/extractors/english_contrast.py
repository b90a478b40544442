"""English: "it is one thing, not another" as a correction, and not as an opinion."""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re

from streams.extractors.english_kinds import KINDS
from streams.extractors.patterns import words

_MOODS = words(KINDS["moods"]) + r"(?!\w)"
_OPINION = re.compile(  # of "it is …, not …": what somebody holds, not which of two things it is
    rf"(?:really|very|so|too|also|all|only|always|never|more|better|worse) .*|\w+ly\b.*|{_MOODS}.*"
    r"|(?:she|he|it|they|we|you|i)(?:'|\b).*|(?:def|hard|easy|normal|fair|true|right|wrong|possible|fine|ok|okay|best|better|worth|cool|nice|great|bad|good|ok|sad|"
    r"get|do|go|make|take|stop|literally|just|about|because|time|up|how|what|why|when|where|who)\b.*",
    re.IGNORECASE,
)
_ARGUED = re.compile(
    r"\bnot (?:to|your|for|that|even|really|in my|at all|because|as|my|the (?:issue|point|problem|reason)|\w+ing|so|very|too|"
    r"always|something|everything|anything|nothing|worth|fair|right|normal|easy|good|bad|hard)\b|, or\b",
    re.IGNORECASE,
)
_LONGEST_CONTRAST = 60
"""Characters of a clause that says which of two things it is."""


def is_contrast(value: str, said: str) -> bool:
    """Of "it is …, not …": one of two things, in few words; not an opinion."""
    return (
        len(said) <= _LONGEST_CONTRAST
        and not _OPINION.fullmatch(value)
        and not _ARGUED.search(said)
    )
