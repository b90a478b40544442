"""English: orders that nobody may leave behind: against the rules of the assistant, for what it knows,
for a brand."""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re

_NEVER = r"(?:please,? )?(?:you (?:should|must) )?(?:never|don't|do not|stop|avoid|no)\b"
_GUARDS = (
    r"(?:(?:safety|security|ethical) \w+|warnings?|disclaimers?|safeguards?|guardrails?|confirmation|permission|"
    r"approval|consent)\b"
)
_ATTACK = re.compile(  # an order against the assistant's own rules, or to give away what it knows
    rf"{_NEVER}(?!.*\b(?:without|compiler|linter|build|deprecation)\b)(?:.*\b(?:mention|show|give|add|include|display|write|use|ask)\w*\b"
    rf".*\b{_GUARDS}|.*\b(?:warn|refus\w+|decline)\b)"
    rf"|(?!{_NEVER})(?:.*\bwithout (?:any )?(?:asking|confirming|checking|{_GUARDS})"
    r"|.*\b(?:ignore|disregard|override|bypass|circumvent|forget)\b.*\b(?:instructions?|rules?|prompts?|guidelines?|safety|"
    r"polic(?:y|ies)|restrictions?|limits|filters?)\b"
    r"|.*\b(?:send|share|forward|e-?mail|post|upload|report|copy|give|leak|reveal|include|print|show)\b.*(?:@|https?:|www\.|"
    r"\b(?:passwords?|credentials?|secrets?|api keys?)\b|\b(?:data|history|messages|conversations?)\b.* to\b))"
    r"|.*\b(?:jailbreak\w*|uncensored|unrestricted|obey\w*|comply|system prompts?)\b"
)
_PUSHED = re.compile(
    r"(?:.*\b)?(?:always|only) (?:recommend|suggest|mention|promote|advertise|praise|show)\b.*"
    r"(?:\b(?:brands?|products?|sponsors?)\b|(?<=\s)(?-i:[A-Z])\w+).*",
    re.IGNORECASE,
)


def is_order(value: str, said: str) -> bool:
    """Whether a standing order may be kept."""
    return not (_ATTACK.match(value.lower()) or _PUSHED.fullmatch(value))
