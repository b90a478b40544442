"""A rule, and what it finds."""

from typing import NamedTuple

KINDS = frozenset(["preference", "constraint", "background", "task", "feeling", "end"])
"""What becomes of a finding: docs/extractors.md."""


class Rule(NamedTuple):
    """An entry of a table (`table`). The options of its head are the fields with a default.

    `cues`: texts of which every match contains one; `pattern`: of a whole clause; `example` and
    `finds`: its first sentence and that sentence's value; `examples`, `leaves`: all sentences that
    it matches, and must not match.
    `family`, `slot`, `polarity`: stored with the value; a slot may contain the pattern's groups
    `{topic}` and `{whose}`, and has one value at a time.
    `says`: text of the state; it may contain `{value}`, `{a }` (article), `{topic}`, `{whose}`.
    `accepts`: the entry of `[takes]` that checks the value; default: the slot's.
    `ends`: families of the facts that end; `whose`: the people, with `|` between them. The words
    of the group `old` (default: of the value) select the facts; `job*` ends that family for any
    value.
    `opens`: "wide": the pattern may match several clauses; "text": only the start of a turn.
    `lists`: the value may contain commas. `more`: later rules are tried on the same clause.
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
