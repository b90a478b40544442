"""A rule, and what it finds."""

from typing import NamedTuple

KINDS = frozenset(["preference", "constraint", "background", "task", "feeling", "end"])
"""What becomes of a finding: docs/extractors.md."""


class Rule(NamedTuple):
    """One way to say something: an entry of a table (`table`).

    `cues`: each match contains one of these texts; `pattern`: matches a whole clause; `example`,
    `finds`: the first sentence that matches, and its value; `examples`, `leaves`: sentences that
    match, and that must not match. `slot`: the name of a fact with one value at a time; `{topic}`
    in it is the group `topic`. `says`: the text of the state. `ends`: families of the facts that
    end; the group `old`, or the value, selects them, except in families with `*`. `whose`: the
    people of these facts, separated by `|`. `accepts`: the kind of value, if it is not the slot's.
    `opens`: "text" if it matches only at the start of a turn. `more`: later rules are tried on the
    same clause.
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
"""Families of statements about the user alone: after others the next clause may be about a pet or a
child."""


def is_of_user(finding: Finding) -> bool:
    """Whether a finding is a statement about the user."""
    rule = finding.rule
    return "whose" not in rule.pattern and rule.family in OF_USER
