"""How rules are tried: a text falls into sentences, a sentence into clauses, a clause fits a rule.

A rule is one line of a table (`english`, `chinese`, `japanese`): the words every match contains, a
pattern of a whole clause, and an example. What is not the user's own statement (a question, a
condition, somebody else's words, a quotation, code, a text to be worked on) is left out before any
rule is tried. Matching works on a copy in which letters are folded and quotations are blanked; it
has the length of the text, so that a match's span cuts the value from what the user wrote.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Literal, NamedTuple

from streams.extractors.patterns import either, loops_atomic, spelled

Kind = Literal[
    "preference", "constraint", "background", "decision", "task", "task_done", "correction",
    "feeling", "end",
]  # fmt: skip

MAX_TEXT = 4000  # characters; a longer text is pasted rather than said
MAX_SENTENCE = 240
MAX_CLAUSE = 160
MAX_VALUE = 90
BLANK = "\ua66e"  # a letter that nobody writes
LOOSE = frozenset(
    ["event", "habit", "plan", "goal", "value", "like", "dislike", "decision", "study", "people"]
)
"""Families whose values may be any words, and so words that say nothing."""
MARKS = " \t\r\n\"'„“”‘’«»「」『』《》()（）*_`-–—:：,，、.。!！~～…"

_UNCLOSED = r"(?:[^\n]|\n(?![ \t]*\n))*+"  # to the end of the paragraph
_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|^[ \t]*(?:>|\|).*?$|`[^`\n]+`"
    # a mark between a space and a letter opens, and so does not close what is open
    rf"|\"(?:(?:[^\"]|(?<=\s)\"(?=\w))*+\"|{_UNCLOSED})"
    + "".join(
        rf"|{one}(?:[^{end}]*+{end}|{_UNCLOSED})"
        for one, end in ("„“", "“”", "«»", "»«", "「」", "『』", "《》")
    )
    + r"|(?<![\w'])'(?:[^'\n]|(?<=\w)'(?=\w))++'(?!\w)",
    re.DOTALL | re.MULTILINE,
)
_INTRODUCED = re.compile(r"[:：][ \t]*\n")  # a line that ends so shows what follows it
_MAY_QUOTE = re.compile(r"[`\"„“«»「『《>'|]")


class Rule(NamedTuple):
    """One way to say something. `<value>`, `<old>`, `<why>` and the language's words stand for
    groups; `cues` are texts of which every match contains one, with `|` between them.

    `slot` names what has one value at a time ("" where each value stands for itself); `{topic}` in
    it is what the pattern's group `topic` holds. A rule spans several clauses if its example does.
    `says` is the state's text; `family` tells states that ends may name. `ends`: the families in
    which what the rule replaces (`<old>`, else `<value>`) is over, with `|` between them; `whose`:
    the people whose. `passing`: among the words of a booking it says what that wants, no more. A
    feeling's slot is its label.
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


class Finding(NamedTuple):
    """What a rule found, in the user's words; `sentence` is the evidence."""

    rule: Rule
    value: str
    sentence: str
    old: str | None = None
    why: str | None = None
    topic: str = ""
    whose: str = ""


class Clause(NamedTuple):
    """Where a clause lies in the text, and the sentence it is of. `asked`: it ends a question."""

    start: int
    end: int
    begin: int
    stop: int
    asked: bool


def _tell(says: str, parts: dict[str, str]) -> str:
    return says.format_map(parts)


Hits = list[tuple[int, tuple[int, ...]]]  # where a cue stands, and the rules that have it


class Language:
    """The tables of one language, compiled. Most turns hold no cue and cost one search."""

    def __init__(
        self,
        rules: tuple[Rule, ...],
        *,
        words: dict[str, str],
        border: str,
        lead: str,
        tail: str,
        sentence: str,
        clause: str,
        foreign: str,
        doubt: str,
        asks: str,
        request: str,
        empty: str,
        vague: str = "(?!)",
        key: Callable[[str, bool], str],
        fold: Callable[[str], str],
        tell: Callable[[str, dict[str, str]], str] = _tell,
        head: Callable[[str], str] = str,
        label: Callable[[str], str] | None = None,
        booking: str = "(?!)",
    ) -> None:
        self.rules = rules
        self.tell = tell  # a rule's `says` and its parts -> a sentence about the user
        self.head = head  # what is over -> the words by which it is recognised
        self.fold = fold
        self._label = label or fold  # a topic, or whose something is -> how it is written
        self.key = key  # a task's text, whether it is done -> what it is recognised by
        self._lead = re.compile(loops_atomic(rf"(?:{lead})*[\s\W_]*"))
        self._split = re.compile(f"(?P<end>{sentence})|{clause}")
        self._clause = re.compile(clause)
        self._foreign = re.compile(loops_atomic(foreign))
        self._doubt = re.compile(loops_atomic(doubt))
        self._asks = re.compile(loops_atomic(asks))
        self._request = re.compile(loops_atomic(request))
        self._booking = re.compile(booking)
        self._empty = re.compile(loops_atomic(empty))
        self._vague = re.compile(loops_atomic(vague))
        self._patterns = [re.compile(spelled(rule.pattern + tail, words)) for rule in rules]
        self._wide = {n for n, rule in enumerate(rules) if self._split.search(rule.example[:-1])}
        self._by_cue = _rules_by_cue(rules)
        self._cues = re.compile(border + either(self._by_cue))

    def find(self, text: str) -> list[Finding]:
        """What the user says of themselves in a text, in order."""
        if len(text) > MAX_TEXT:
            return []
        said = self.fold(text)
        first = self._cues.search(said)
        if first is None:
            return []
        hits = list(self._hits(said, first))
        if _MAY_QUOTE.search(said):
            said = _QUOTED.sub(lambda match: BLANK * len(match[0]), said)
        if shown := _INTRODUCED.search(said):
            said = said[: shown.start()]
        found = list(self._findings(text, said, hits))
        if any(one.rule.passing for one in found) and self._booking.search(said):
            found = [one for one in found if not one.rule.passing]
        return [] if found and self._request.search(said) else found

    def _hits(
        self, said: str, match: re.Match[str] | None
    ) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Where cues stand (they may overlap), and the numbers of the rules that have them."""
        while match:
            yield match.start(), self._by_cue[match[0]]
            match = self._cues.search(said, match.start() + 1)

    def _findings(self, text: str, said: str, hits: Hits) -> Iterator[Finding]:
        """A clause with the one or two after it, where a rule spans so many, or else alone."""
        clauses = list(self._clauses(said))
        taken = 0
        for number, clause in enumerate(clauses):
            near = clauses[number : number + 3]
            if clause.start < taken or not _rules_in(hits, clause.start, near[-1].end):
                continue
            lead = self._lead.match(said, clause.start, clause.end)
            start = lead.end() if lead else clause.start
            if start == clause.end:  # "yesterday," is no statement, but a rule may begin with it
                start = clause.start
            for last in reversed(near):
                rules = _rules_in(hits, clause.start, last.end)
                if last is not clause:
                    rules &= self._wide
                found = self._match(text, said, start, clause, last, rules) if rules else None
                if found:
                    taken = last.end
                    yield found
                    break

    def _clauses(self, said: str) -> Iterator[Clause]:
        """All clauses of all sentences."""
        begin = start = 0
        ends: list[tuple[int, int]] = []
        for match in chain(self._split.finditer(said), (None,)):
            end, after = match.span() if match else (len(said), len(said))
            if start < end:
                ends.append((start, end))
            start = after
            if match is None or match["end"] is not None:
                asked = match is not None and ("?" in match[0] or "？" in match[0])
                for one in ends:
                    yield Clause(*one, begin, after, asked and one is ends[-1])
                begin, ends = after, []

    def _match(
        self, text: str, said: str, start: int, first: Clause, last: Clause, rules: set[int]
    ) -> Finding | None:
        if last.end - first.start > MAX_CLAUSE:
            return None
        clause = said[start : last.end].rstrip(MARKS)
        for number in sorted(rules):
            match = self._patterns[number].fullmatch(clause)
            if match and not self._is_foreign(said, first, last):
                sentence = text[first.begin : last.stop].strip()
                found = self._finding(text[start:], match, self.rules[number], sentence)
                if found:
                    return found
        return None

    def _is_foreign(self, said: str, first: Clause, last: Clause) -> bool:
        """Whether the clause asks, or its sentence is not the user's own statement."""
        if last.asked and not self._asks.match(said, last.start):
            return True
        if last.stop - first.begin > MAX_SENTENCE or self._foreign.search(
            said, first.begin, last.stop
        ):
            return True
        clause = said[first.start : last.end].strip()
        return self._doubt.search(clause) is not None and not self._asks.match(clause)

    def _finding(
        self, written: str, match: re.Match[str], rule: Rule, sentence: str
    ) -> Finding | None:
        """None where the value is no value ("it", "the second one"), says nothing ("had a big
        moment") or spans two clauses."""
        parts = {
            name.rstrip("0123456789"): _trimmed(written[slice(*match.span(name))])
            for name, given in match.groupdict().items()
            if given is not None
        }
        value = parts.get("value", "")
        said = self.fold(value)
        if rule.finds and (not 0 < len(value) <= MAX_VALUE or self._empty.fullmatch(said)):
            return None
        if rule.family in LOOSE and self._vague.fullmatch(said):
            return None
        if self._clause.search(said):
            return None
        topic, whose = (self._label(parts.get(name, "")) for name in ("topic", "whose"))
        old, why = parts.get("old"), parts.get("why")
        return Finding(rule, value, sentence, old, why, topic, whose)


def _trimmed(text: str) -> str:
    """Without marks around it, but for a quotation that ends with it."""
    short = text.strip(MARKS)
    closed = f'{short}"'
    return closed if short.count('"') % 2 and closed in text else short


def _rules_by_cue(rules: tuple[Rule, ...]) -> dict[str, tuple[int, ...]]:
    """The numbers of the rules of each cue, with those of the cues it begins with: a search finds
    the longest one only."""
    own: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        for cue in rule.cues.split("|"):
            own.setdefault(cue, []).append(number)
    return {
        cue: tuple(sorted({n for other in own if cue.startswith(other) for n in own[other]}))
        for cue in own
    }


def _rules_in(hits: Hits, start: int, end: int) -> set[int]:
    """The numbers of the rules that have a cue between two places."""
    near = hits[bisect_left(hits, (start,)) : bisect_left(hits, (end,))]
    return {number for _, numbers in near for number in numbers}
