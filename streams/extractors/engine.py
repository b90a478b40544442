"""How rules are tried: a clause is brought to one wording, and fits a rule's pattern.

`reworded` writes out contractions and leaves out what says nothing of its own: adverbs, dates,
the speech around a statement. So a pattern names verb and slots alone ("i live in <value>"), and a
date may stand anywhere. A map from its characters to those of the text keeps values as they were
written. What is not the user's own statement is left out (`own_words`, `guards`).
"""

import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

from streams.dates import Span, resolve
from streams.extractors.clauses import Clause, Clauses
from streams.extractors.cues import Cues, Hits, rules_in
from streams.extractors.guards import MAX_SENTENCE, NOTHING, Guards
from streams.extractors.patterns import Late, either
from streams.extractors.quoted_text import BLANK, own_words
from streams.extractors.rule import Finding, Rule, is_of_user
from streams.extractors.table import Table
from streams.extractors.values import MARKS, Values, trimmed

MAX_TEXT = 4000  # characters; a longer text is pasted rather than said
MAX_CLAUSE = 160
MAX_LEAD = 40  # characters before an introduction ("Hi there, I'm Ann"), and of one
MAX_INTRODUCTION = 26
MAX_TAIL = 6  # words of what may follow a statement
MAX_TRIES = 4_000
"""Patterns tried in one turn. Nobody's own words need as many; of a turn with more nothing is found
(`OverBudget`)."""
OF_WORDING, OF_MATCH = 10, 50
"""What takes as long as so many tries: to bring a clause to one wording; to check what matched, and
to fold what comes of it."""
MAX_FAMILIES = 16
"""Of one end (`schemas.plans.EndUpdate`)."""
TOPIC = "forget-"
"""Before the families in the names of guards: of what is named, and not stated ("my address")."""
FORGOTTEN = Rule("end", "", "", "", "", (), ())
"""What a user asks to forget: the families are those of what was found in it."""


class OverBudget(Exception):  # noqa: N818 - what happened, not an error of the program
    """A turn takes more tries than the rules make of one."""


class Budget:
    """The tries of one turn, however often a part of it is read."""

    def __init__(self) -> None:
        self._room = MAX_TRIES

    def spend(self, tries: int) -> None:
        """Raises OverBudget."""
        self._room -= tries
        if self._room < 0:
            raise OverBudget(f"its text takes more than {MAX_TRIES} tries of the rules' patterns")


class Wording(NamedTuple):
    """A clause in one wording; `places`: of each character, where it stands in the text."""

    text: str
    places: list[int]

    def cut(self, text: str, start: int, stop: int) -> str:
        """What a match of the wording is in the text."""
        return text[self.places[start] : self.places[stop - 1] + 1] if start < stop else ""


class Language:
    """The table of one language, compiled. Most turns hold no cue and cost one search."""

    def __init__(self, code: str, table: Table, fold: Callable[[str], str]) -> None:
        words, guards = table.words, table.guards

        def late(name: str) -> Late:
            return Late(guards.get(name, NOTHING), words)

        self.code = code
        self.rules = table.rules
        self.fold = fold
        self.called = guards.get("called", "{value} called {name}")
        self._noise = Late("(?i)" + guards.get("noise", NOTHING), words)
        self._clauses = Clauses(guards["sentence"], guards["clause"])
        self._guards = Guards(late)
        self._values = Values(table.takes, words)
        self._literals = table.literals
        literals = rf"(?<![\w'])({either(table.literals)})(?![\w'])" if table.literals else "(?!)()"
        self._rewrites = ["", *[replacement.strip("'") for _, replacement in table.rewrites]]
        self._rewrite = Late(
            "|".join([literals, *(f"({pattern})" for pattern, _ in table.rewrites)]), words
        )
        self._lead, self._tail, self._when = late("lead"), late("tail"), late("when")
        self._forget, self._bare, self._own = late("forget"), late("bare"), late("own")
        self._dropped = late("dropped")
        self._before_date, self._after_date = late("before-date"), late("after-date")
        self._introduces = Late(guards.get("introduces", ""), words)
        self._topics = [
            (tuple(name.removeprefix(TOPIC).split("|")), late(name))
            for name in guards
            if name.startswith(TOPIC)
        ]
        families = list(dict.fromkeys(rule.family for rule in table.rules if rule.family))
        self._forgets_all = [
            FORGOTTEN._replace(ends=tuple(part))
            for part in (families[:MAX_FAMILIES], families[MAX_FAMILIES:])
            if part
        ]
        self._subjects = [subject for subject in guards.get("subject", "").split("|") if subject]
        self._joins = late("joins")
        border = guards.get("border", "")
        self._spaced = border != ""
        ending = guards.get("ending", "")
        self._patterns = [Late(rule.pattern + ending, words) for rule in table.rules]
        self._wide = {n for n, rule in enumerate(table.rules) if rule.opens == "wide"}
        self._opening = {n for n, rule in enumerate(table.rules) if rule.opens == "text"}
        forgets = FORGOTTEN._replace(cues=guards["forgets"])  # its number follows the rules'
        self._cues = Cues((*table.rules, forgets), border, words)

    def head(self, text: str) -> str:
        """What an end is about, without what only says how: "my old piano" -> "piano"."""
        return " ".join(self._noise.sub(" ", text).split()) or text

    def find(self, text: str, at: int = 0, budget: Budget | None = None) -> list[Finding]:
        """What the user says of themselves in a text said at a time (microseconds), in order.

        Raises OverBudget.
        """
        if len(text) > MAX_TEXT:
            return []
        folded = self.fold(text)
        hits = self._cues.hits(folded)
        if not hits or not any(self._may_open(folded, place, numbers) for place, numbers in hits):
            return []
        folded = own_words(folded)
        budget = budget or Budget()
        forgotten: list[Finding] = []
        if any(numbers[-1] == len(self.rules) for _, numbers in hits):
            forgotten = self._forgotten(text, folded, at, budget)
            if not forgotten and (bare := self._bare.fullmatch(folded)):
                old = text[slice(*_spans(bare)["old"])]
                return [Finding(rule, old, text.strip(), old) for rule in self._forgets_all]
            folded = self._forget.sub(lambda match: BLANK * len(match[0]), folded)
        findings = list(self._findings(text, folded, hits, at, budget))
        if not (findings or forgotten):
            return []
        own_text = self._guards.own_part(folded)
        if len(own_text) < len(folded):
            findings = list(self._findings(text, own_text, hits, at, budget))
        return forgotten + findings

    def _may_open(self, folded: str, place: int, numbers: tuple[int, ...]) -> bool:
        """Whether a cue is of more than a rule for how a turn begins, or the turn begins so."""
        return (
            not self._opening.issuperset(numbers)
            or self._introduces.match(folded, place) is not None
        )

    def _forgotten(self, text: str, folded: str, at: int, budget: Budget) -> list[Finding]:
        """What sentences ask to forget, as ends: what is stated there, or else named."""
        ends = []
        for match in self._forget.finditer(folded):
            parts = _spans(match)
            start, stop = parts["what"]
            sentence = text[match.start() : match.end()].strip()
            order = ("what", "verb", "rest") if "verb" in parts else ("what",)
            stated = " ".join(text[slice(*parts[name])] for name in order)
            first = next(self._clauses.of(self.fold(stated)), None)
            for finding in self.find(stated, at, budget):
                families = dict.fromkeys(filter(None, (finding.rule.family, finding.rule.slot)))
                # what is said behind it is no longer asked: "delete that mail, I live in Oslo"
                is_asked = first is not None and stated.find(finding.value) < first.end
                if is_asked and finding.rule.kind != "end":
                    rule = FORGOTTEN._replace(ends=tuple(families))
                    ends.append(finding._replace(rule=rule, old=finding.value, sentence=sentence))
            budget.spend(len(self._topics))
            ends += self._named(text, folded, start, stop, sentence)
        return ends

    def _named(self, text: str, folded: str, start: int, stop: int, sentence: str) -> list[Finding]:
        """The ends of what is named in a sentence that asks to forget it."""
        ends = []
        for families, pattern in self._topics:
            match = pattern.fullmatch(folded, start, stop)
            if match is None:
                continue
            parts = _spans(match)
            old, person = (text[slice(*parts.get(name, (0, 0)))] for name in ("old", "whose"))
            rule = FORGOTTEN._replace(ends=families)
            ends.append(Finding(rule, old, sentence, old, whose=self.fold(person)))
        return ends

    def _findings(
        self, text: str, folded: str, hits: Hits, at: int, budget: Budget
    ) -> Iterator[Finding]:
        """A clause with the one or two after it, where a rule spans so many, or else alone."""
        clauses = list(self._clauses.of(folded))
        dates: list[tuple[int, int]] | None = None
        resume = 0
        goes_on = False  # whether the clause before has the user as its subject
        border = 0  # where that clause ends
        for number, clause in enumerate(clauses):
            # a longer sentence is foreign, and each of its clauses would look at all of it
            if clause.stop - clause.begin > MAX_SENTENCE or clause.start < resume:
                continue
            near = clauses[number : number + 3]
            before = goes_on and self._is_joined(folded, border, clause)
            goes_on, border = self._is_own(folded, clause), clause.end
            for last in reversed(near):
                rules = rules_in(hits, clause.start, last.end) - {len(self.rules)}
                if last is not clause:
                    rules &= self._wide
                if clause.start > MAX_LEAD or last.end - clause.start > MAX_INTRODUCTION:
                    rules -= self._opening
                if not rules or last.end - clause.start > MAX_CLAUSE:
                    continue
                if self._guards.is_asked(folded, last):
                    continue
                if dates is None:
                    dates = [
                        self._with_particles(folded, span) for span in resolve(text, at, self.code)
                    ]
                findings = self._match(
                    text, folded, clause, last, rules, dates, goes_on or before, budget
                )
                if findings:
                    resume = border = last.end
                    goes_on = goes_on or any(is_of_user(finding) for finding in findings)
                    yield from findings
                    break

    def _with_particles(self, folded: str, span: Span) -> tuple[int, int]:
        """Where a date begins and stops with the words that belong to it: "since May 2023"."""
        before = self._before_date.search(folded, max(0, span.begin - MAX_LEAD), span.begin)
        after = self._after_date.match(folded, span.stop)
        return before.start() if before else span.begin, after.end() if after else span.stop

    def _is_joined(self, folded: str, border: int, clause: Clause) -> bool:
        """Whether "and" or a comma joins a clause to the one before, which ends at a border."""
        inside = clause.begin <= border <= clause.start
        return inside and self._joins.fullmatch(folded, border, clause.start) is not None

    def _is_own(self, folded: str, clause: Clause) -> bool:
        """Whether a clause plainly has the user as its subject: "I …", or "Moved …"."""
        if self._own.match(folded, clause.start, clause.end):
            return True
        opens = clause.start == clause.begin
        return opens and self._dropped.match(folded, clause.start, clause.end) is not None

    def _match(
        self,
        text: str,
        folded: str,
        first: Clause,
        last: Clause,
        rules: set[int],
        dates: list[tuple[int, int]],
        goes_on: bool,
        budget: Budget,
    ) -> list[Finding]:
        """What the first rule that fits finds; ends of all families add up."""
        findings: list[Finding] = []
        for wording in self._wordings(folded, first, last, dates, goes_on):
            budget.spend(OF_WORDING + len(rules))
            for number in sorted(rules):
                rule = self.rules[number]
                if findings and rule.kind != "end" and not findings[-1].rule.more:
                    continue
                if rule.opens == "text" and not self._lead.fullmatch(folded, 0, first.start):
                    continue
                match = self._patterns[number].fullmatch(wording.text)
                if match is None:
                    continue
                budget.spend(OF_MATCH)
                if self._guards.is_foreign(folded, first, last, rule):
                    return []
                if rule.ends and self._guards.is_undone(folded, first, last):
                    return []
                finding = self._finding(text, wording, match, rule, first, last)
                if finding:
                    findings.append(finding)
                    if rule.kind != "end" and not rule.more:
                        return findings
            if findings:
                return findings
        return findings

    def _wordings(
        self, folded: str, first: Clause, last: Clause, dates: list[tuple[int, int]], goes_on: bool
    ) -> Iterator[Wording]:
        """The clause without dates, with dates, and with the subject of the clause before."""
        inside = [span for span in dates if first.start <= span[0] and span[1] <= last.end]
        wordings = [self.reworded(folded, first.start, last.end, inside)]
        if inside:
            wordings.append(self.reworded(folded, first.start, last.end, []))
        yield from wordings
        if not goes_on:
            return
        for wording, subject in product(wordings, self._subjects):
            if wording.text and not self._own.match(wording.text):
                yield Wording(
                    subject + wording.text, [wording.places[0]] * len(subject) + wording.places
                )

    def reworded(
        self, folded: str, start: int, stop: int, left_out: list[tuple[int, int]]
    ) -> Wording:
        """The clause [start, stop) in one wording, without the spans that are left out."""
        edits = [(begin, end, "") for begin, end in left_out]
        for match in self._rewrite.finditer(folded, start, stop):
            number = match.lastindex or 1
            written = self._literals[match[0]] if number == 1 else self._rewrites[number - 1]
            edits.append((*match.span(), written))
        edits.sort()
        letters: list[str] = []
        places: list[int] = []
        place = start
        for begin, end, written in [*edits, (stop, stop, "")]:
            if begin < place:
                continue
            letters.extend(folded[place:begin])
            places.extend(range(place, begin))
            letters.extend(written)
            places.extend([begin] * (len(written) - 1) + [end - 1] * bool(written))
            place = end
        text = "".join(letters)
        if "  " in text:
            positions = [n for n, sign in enumerate(text) if sign != " " or text[n - 1 : n] != " "]
            text, places = "".join(text[n] for n in positions), [places[n] for n in positions]
        lead = self._lead.match(text)
        begin = lead.end() if lead and lead.end() < len(text) else 0
        end = len(text.rstrip(MARKS))
        place, words = end, 0
        while words < MAX_TAIL and (place := self._mark_before(text, begin, place)) > begin:
            words += 1
            if self._tail.match(text, place, end):
                place = end = len(text[:place].rstrip(MARKS))
                words = 0
        return Wording(text[begin:end], places[begin:end])

    def _mark_before(self, text: str, begin: int, place: int) -> int:
        """Where the word before a place begins, with the space before it; each sign is one where
        words have no spaces."""
        return text.rfind(" ", begin, place) if self._spaced else place - 1

    def _finding(
        self,
        text: str,
        wording: Wording,
        match: re.Match[str],
        rule: Rule,
        first: Clause,
        last: Clause,
    ) -> Finding | None:
        """None where the value is no value ("it", "the second one") or spans two clauses."""
        parts: dict[str, str] = {}
        for name, group in match.groupdict().items():
            if group is not None:
                parts[name.rstrip("0123456789")] = trimmed(wording.cut(text, *match.span(name)))
        value = parts.get("value", "")
        clause = wording.cut(text, 0, len(wording.text))
        if not self._values.takes(rule, value, self.fold(value), clause):
            return None
        if not rule.lists and self._clauses.falls_apart(self.fold(value)):
            return None
        if rule.ends and not self._values.ends(self.fold(parts.get("old", value))):
            return None
        sentence = text[first.begin : last.stop].strip()
        condition = ""
        if rule.accepts == "order":
            when = self._when.search(self.fold(sentence))
            condition = self.fold(sentence)[slice(*when.span())].strip(MARKS) if when else ""
        return Finding(
            rule,
            value,
            sentence,
            parts.get("old"),
            self.fold(parts.get("topic", "")),
            self.fold(parts.get("whose", "")),
            parts.get("name", ""),
            condition,
        )


def _spans(match: re.Match[str]) -> dict[str, tuple[int, int]]:
    """Where each named group of a pattern matched, without the number of its name."""
    return {
        name.rstrip("0123456789"): match.span(name)
        for name, text in match.groupdict().items()
        if text
    }
