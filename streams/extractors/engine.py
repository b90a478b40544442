"""How rules are tried: a text falls into sentences, a sentence into clauses, a clause fits a rule.

A rule is one line of a table (`english`, `chinese`, `japanese`): the words every match contains, a
pattern of a whole clause, and an example. What is not the user's own statement (a question, a
condition, somebody else's words, a quotation, code, a text to be worked on) is left out before any
rule is tried. Matching works on a copy in which letters are folded and quotations are blanked; it
has the length of the text, so that a match's span cuts the value from what the user wrote.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain, count
from typing import Literal, NamedTuple

Kind = Literal[
    "preference", "constraint", "background", "decision", "task", "task_done", "correction",
    "feeling",
]  # fmt: skip

MAX_TEXT = 4000  # characters; a longer text is pasted rather than said
MAX_SENTENCE = 240
MAX_CLAUSE = 160
MAX_VALUE = 90
BLANK = "\ua66e"  # a letter that nobody writes
MARKS = " \t\r\n\"'“”‘’「」『』《》()（）*_`-–—:：,，、.。!！~～…"

_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|^[ \t]*(?:>|\|).*?$|`[^`\n]{1,200}`"
    r"|(?<=\")[^\"\n]{1,200}(?=\")|(?<=“)[^”\n]{1,200}|(?<=「)[^」\n]{1,200}|(?<=『)[^』\n]{1,200}"
    r"|(?<![\w'])'[^'\n]{2,200}'(?!\w)|(?<=《)[^》\n]{1,200}",
    re.DOTALL | re.MULTILINE,
)
_INTRODUCED = re.compile(r"[:：][ \t]*\n")  # a line that ends so shows what follows it
_WORD = re.compile(r"(?<!P)<([a-z]+)\d*>")
_GROUP = re.compile(r"\(\?P<([a-z]+)\d*>")
_MAY_QUOTE = re.compile(r"[`\"“「『《>'|]")


class Rule(NamedTuple):
    """One way to say something. `<value>`, `<old>`, `<why>` and the language's words stand for
    groups; `cues` are texts of which every match contains one, with `|` between them.

    `slot` names what has one value at a time ("" where each value stands for itself); `{topic}` in
    it is what the pattern's group `topic` holds. `says` is the state's text. A feeling's slot is
    its label.
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


class Finding(NamedTuple):
    """What a rule found, in the user's words; `sentence` is the evidence."""

    rule: Rule
    value: str
    sentence: str
    old: str | None = None
    why: str | None = None
    topic: str = ""


class Clause(NamedTuple):
    """Where a clause lies in the text, and the sentence it is of."""

    start: int
    end: int
    begin: int
    stop: int


class Language:
    """The tables of one language, compiled."""

    def __init__(
        self,
        rules: tuple[Rule, ...],
        *,
        words: dict[str, str],
        lead: str,
        tail: str,
        sentence: str,
        clause: str,
        joins: str,
        foreign: str,
        doubt: str,
        asks: str,
        request: str,
        empty: str,
        key: Callable[[str, bool], str],
        fold: Callable[[str], str],
    ) -> None:
        self.rules = rules
        self.fold = fold
        self.key = key  # a task's text, whether it is done -> what it is recognised by
        self._lead = re.compile(rf"(?:{lead})*[\s\W_]*")
        self._sentence = re.compile(sentence)
        self._clause = re.compile(clause)
        self._joins = re.compile(joins)
        self._foreign = re.compile(foreign)
        self._doubt = re.compile(doubt)
        self._asks = re.compile(asks)
        self._request = re.compile(request)
        self._empty = re.compile(empty)
        self._patterns = [re.compile(_spelled(rule.pattern + tail, words)) for rule in rules]
        by_cue: dict[str, list[int]] = {}
        for number, rule in enumerate(rules):
            for cue in rule.cues.split("|"):
                by_cue.setdefault(cue, []).append(number)
        self._by_cue = list(by_cue.items())
        self._cues = re.compile("|".join(map(re.escape, sorted(by_cue))))

    def find(self, text: str) -> list[Finding]:
        """What the user says of themselves in a text, in order."""
        if len(text) > MAX_TEXT:
            return []
        said = self.fold(text)
        if self._cues.search(said) is None or self._request.search(said):
            return []
        if _MAY_QUOTE.search(said):
            said = _QUOTED.sub(lambda match: BLANK * len(match[0]), said)
        if shown := _INTRODUCED.search(said):
            said = said[: shown.start()]
        return list(self._findings(text, said))

    def _findings(self, text: str, said: str) -> Iterator[Finding]:
        """A clause alone, or with the one or two after it where it wants them."""
        clauses = list(self._clauses(said))
        taken = 0
        for number, clause in enumerate(clauses):
            if clause.start < taken:
                continue
            if self._lead.fullmatch(said, clause.start, clause.end):
                continue
            near = clauses[number : number + 3]
            wide = 3 if self._joins.search(said, clause.start, near[-1].end) else 1
            for last in reversed(near[:wide]):
                found = self._match(text, said, clause, last)
                if found:
                    taken = last.end
                    yield found
                    break

    def _clauses(self, said: str) -> Iterator[Clause]:
        """The clauses of the sentences that are the user's own; a question has its last one."""
        start = 0
        for match in chain(self._sentence.finditer(said), (None,)):
            end, stop = (match.start(), match.end()) if match else (len(said), len(said))
            begin, start = start, stop
            if end - begin > MAX_SENTENCE or self._foreign.search(said, begin, end):
                continue
            ends = [(one.start(), one.end()) for one in self._clause.finditer(said, begin, end)]
            at = ends[-1][1] if ends else begin
            if not (match and ("?" in match[0] or "？" in match[0])) or self._asks.match(said, at):
                ends.append((end, stop))
            at = begin
            for upto, after in ends:
                if not self._doubt.search(said, at, upto):
                    yield Clause(at, upto, begin, stop)
                at = after

    def _match(self, text: str, said: str, first: Clause, last: Clause) -> Finding | None:
        if last.end - first.start > MAX_CLAUSE:
            return None
        lead = self._lead.match(said, first.start, last.end)
        start = lead.end() if lead else first.start
        clause = said[start : last.end].rstrip(MARKS)
        fitting = {number for cue, numbers in self._by_cue if cue in clause for number in numbers}
        for number in sorted(fitting):
            if match := self._patterns[number].fullmatch(clause):
                found = self._finding(
                    text[start : last.end],
                    match,
                    self.rules[number],
                    text[first.begin : last.stop].strip(),
                )
                if found:
                    return found
        return None

    def _finding(
        self, written: str, match: re.Match[str], rule: Rule, sentence: str
    ) -> Finding | None:
        """None where the value is no value ("it", "the second one") or spans two clauses."""
        parts = {
            name.rstrip("0123456789"): written[slice(*match.span(name))].strip(MARKS)
            for name, given in match.groupdict().items()
            if given is not None
        }
        value = parts.get("value", rule.finds)
        said = self.fold(value)
        if rule.finds and (not 0 < len(value) <= MAX_VALUE or self._empty.fullmatch(said)):
            return None
        if self._clause.search(said):
            return None
        topic = self.fold(parts.get("topic", ""))
        return Finding(rule, value, sentence, parts.get("old"), parts.get("why"), topic)


def _spelled(pattern: str, words: dict[str, str]) -> str:
    """The pattern with its `<words>` written out, and groups numbered so that no two are alike."""
    while (written := _WORD.sub(lambda match: words[match[1]], pattern)) != pattern:
        pattern = written
    seen = count(1)
    return _GROUP.sub(lambda match: f"(?P<{match[1]}{next(seen)}>", pattern)
