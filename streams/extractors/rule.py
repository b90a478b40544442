"""A rule, and what it finds."""

from typing import Literal, NamedTuple

Kind = Literal[
    "preference", "constraint", "background", "decision", "task", "task_done", "correction",
    "feeling", "end",
]  # fmt: skip

LOOSE = frozenset(
    ["event", "habit", "plan", "goal", "value", "like", "dislike", "decision", "study", "people"]
)
"""Families whose values may be any words, and so words that say nothing."""


class Rule(NamedTuple):
    """One way to say something. `<value>`, `<old>`, `<why>` and the language's words stand for
    groups; what a group `name` holds is put behind the value ("a cat called Luna"); `cues` are
    texts of which every match contains one, with `|` between them.

    `slot` names what has one value at a time ("" where each value stands for itself); `{topic}` in
    it is what the pattern's group `topic` holds. A rule spans several clauses if its example does.
    `says` is the state's text; `family` tells states that ends may name. `ends`: the families in
    which what the rule replaces (`<old>`, else `<value>`) is over, with `|` between them; `whose`:
    the people whose. `passing`: among the words of a booking it says what that wants, no more.
    `opens`: it has no subject, and so stands at the beginning of a sentence only. `takes`: the kind
    of value that it takes, if that is not its slot (`Language.fits`), "stated" if it says by
    itself that it is to be kept ("Final decision: …"); `lists`: a value of it may
    have commas. A feeling's slot is its label.
    """

    kind: Kind
    cues: str
    pattern: str
    example: str
    finds: str
    says: str = ""
    slot: str = ""
    polarity: Literal["like", "dislike", ""] = ""
    confidence: float = 0.9
    family: str = ""
    ends: str = ""
    whose: str = ""
    passing: bool = False
    opens: bool = False
    takes: str = ""
    lists: bool = False


class Finding(NamedTuple):
    """What a rule found, in the user's words; `sentence` is the evidence; `company`: who did it
    with the user ("my sister" of "my sister and I went")."""

    rule: Rule
    value: str
    sentence: str
    old: str | None = None
    why: str | None = None
    topic: str = ""
    whose: str = ""
    company: str = ""
