"""A rule, and what it finds."""

from typing import NamedTuple

KINDS = frozenset(["preference", "constraint", "background", "task", "feeling", "end"])
"""What becomes of a finding: docs/extractors.md."""


class Rule(NamedTuple):
    """One way to say something: an entry of a table (`table`).

    `cues`: texts of which every match contains one; `pattern`: of a whole clause; `example` and
    `finds`: the first sentence that it takes, and its value; `examples`, `leaves`: all that it
    takes, and what it must not take. `slot` names what has one value at a time; `{topic}` in it is
    the group `topic`. `says`: the text of the state. `ends`: families in which what the group
    `old`, else the value, names is over, with `*` those that are over whatever it names;
    `whose`: the people whose, with `|` between them.
    `accepts`: the kind of value, if that is not the slot's. `opens`: "text" where it stands only
    at the beginning of a turn. `more`: the rules after it are tried on the same clause, too.
    """

    kind: str
    cues: str
    pattern: str
    example: str
    finds: str
    examples: tuple[str, ...]
    leaves: tuple[str, ...]
    says: str = ""
    slot: str = ""
    family: str = ""
    polarity: str = ""
    ends: tuple[str, ...] = ()
    whose: str = ""
    accepts: str = ""
    opens: str = ""
    more: str = ""
    lists: str = ""
    confidence: str = "0.9"


class Finding(NamedTuple):
    """What a rule found, in the user's words; `sentence` is the evidence. `name`: what a pet is
    called; `condition`: when an instruction holds; `slot`: what has one value at a time."""

    rule: Rule
    value: str
    sentence: str
    old: str | None = None
    topic: str = ""
    whose: str = ""
    name: str = ""
    condition: str = ""


OF_USER = frozenset(
    ["name", "age", "home", "origin", "work", "study", "diet", "health", "partner", "identity"]
)
"""Families of what is said of the user alone; the next clause may be about a pet or a child."""


def is_of_user(finding: Finding) -> bool:
    """Whether the subject of what was found is the user."""
    rule = finding.rule
    return "whose" not in rule.pattern and rule.family in OF_USER
