"""How rules are tried: a clause fits a rule's pattern, and what it gives is a value worth keeping.

A rule is one line of a table (`english`, `chinese`, `japanese`): the words every match contains
(`cues`), a pattern of a whole clause, and an example. What is not the user's own statement is left
out (`own_words`, `guards`). Matching works on a copy in which letters are folded and quotations are
blanked; it has the length of the text, so that a match's span cuts the value from what the user
wrote.
"""

import re
from collections.abc import Callable, Iterator

from streams.extractors.clauses import Clause, Clauses
from streams.extractors.cues import Cues, Hits, rules_in
from streams.extractors.fixed_dates import FixDate, as_said
from streams.extractors.guards import MAX_SENTENCE, Guards
from streams.extractors.own_words import own_words
from streams.extractors.patterns import loops_atomic, spelled
from streams.extractors.rule import Finding, Rule
from streams.extractors.speaker import Speaker
from streams.extractors.values import MARKS, Values, trimmed

MAX_TEXT = 4000  # characters; a longer text is pasted rather than said
MAX_CLAUSE = 160
MAX_TRIES = 4_000
"""Patterns tried in one turn. Nobody's own words need as many; what follows is not read."""
APPOSED = ("a ", "an ")
AM = "i'm "
"""Before what is said of somebody who has just been introduced: "I'm Tom, a plumber from Cork"."""


def _tell(says: str, parts: dict[str, str]) -> str:
    return says.format_map(parts)


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
        clauses: Clauses,
        guards: Guards,
        values: Values,
        key: Callable[[str, bool], str],
        fold: Callable[[str], str],
        tell: Callable[[str, dict[str, str]], str] = _tell,
        head: Callable[[str], str] = str,
        fix_date: FixDate = as_said,
        label: Callable[[str], str] | None = None,
        booking: str = "(?!)",
        company: str = "(?!)",
        called: str = "{value} called {name}",
        introduced: str = "(?!)",
        joins: tuple[str, ...] = ("and ", "but "),
        subject: str = "i ",
        goes_on: str = "(?!)",
        speaker: Speaker | None = None,
    ) -> None:
        self.rules = rules
        self.tell = tell  # a rule's `says` and its parts -> a sentence about the user
        self.fix_date = fix_date  # a text and a date in it -> the text as it may be read later
        self.head = head  # what is over -> the words by which it is recognised
        self.fold = fold
        self._called = called  # a thing and the name that the next sentence gives it, as a value
        self._joins = joins  # where a clause goes on without its subject, before or in it
        self._subject = subject  # which that is: "I'm 42 and want to learn the violin"
        self._label = label or fold  # a topic, or whose something is -> how it is written
        self.key = key  # a task's text, whether it is done -> what it is recognised by
        self._lead = re.compile(loops_atomic(rf"(?:{lead})*[\s\W_]*"))
        self._clauses = clauses
        self._guards = guards
        self._booking = re.compile(booking)
        self._company = re.compile(company)  # of a clause, at the end of what stands before it
        self._goes_on = re.compile(loops_atomic(goes_on))  # before a clause without its own subject
        self._introduced = re.compile(loops_atomic(introduced))
        self._values = values
        self._speaker = speaker or Speaker()
        self._patterns = [re.compile(spelled(rule.pattern + tail, words)) for rule in rules]
        self._wide = {n for n, rule in enumerate(rules) if clauses.is_wide(rule.example)}
        self._cues = Cues(rules, border)

    def find(self, text: str) -> list[Finding]:
        """What the user says of themselves in a text, in order."""
        if len(text) > MAX_TEXT:
            return []
        said = self.fold(text)
        hits = self._cues.hits(said)
        if not hits:
            return []
        said = own_words(said)
        found = list(self._findings(text, said, hits))
        if any(one.rule.passing for one in found) and self._booking.search(said):
            found = [one for one in found if not one.rule.passing]
        if not found:
            return []
        own = self._guards.own_part(said)
        return found if len(own) == len(said) else list(self._findings(text, own, hits))

    def _findings(self, text: str, said: str, hits: Hits) -> Iterator[Finding]:
        """A clause with the one or two after it, where a rule spans so many, or else alone."""
        clauses = list(self._clauses.of(said))
        taken = tried = 0
        for number, clause in enumerate(clauses):
            # a longer sentence is foreign, and each of its clauses would look at all of it
            if clause.stop - clause.begin > MAX_SENTENCE:
                continue
            near = clauses[number : number + 3]
            place = clause.start
            joined = said.startswith(self._joins, place) or said.endswith(self._joins, 0, place)
            apposed = said.startswith(APPOSED, place)
            if place < taken or not (joined or apposed or rules_in(hits, place, near[-1].end)):
                continue
            lead = self._lead.match(said, clause.start, clause.end)
            start = lead.end() if lead else clause.start
            if start == clause.end:  # "yesterday," is no statement, but a rule may begin with it
                start = clause.start
            for last in reversed(near):
                rules = rules_in(hits, clause.start, last.end)
                if last is not clause:
                    rules &= self._wide
                tried += len(rules)
                if tried > MAX_TRIES:
                    return
                found = self._match(text, said, start, clause, last, rules) if rules else None
                if not found and last is clause and (joined or apposed):
                    subject = self._own_subject(said, clause.begin, start, apposed=apposed)
                    if subject:
                        rules |= self._cues.opening(subject + said[start : clause.end])
                        tried += len(rules)
                        found = self._match(text, said, start, clause, last, rules, subject)
                if found:
                    taken = last.end
                    yield found
                    break

    def _own_subject(self, said: str, begin: int, start: int, *, apposed: bool) -> str:
        """The subject of a clause that has none, by what stands before it in its sentence."""
        if self._goes_on.fullmatch(said, begin, start):
            return self._subject
        return AM if apposed and self._introduced.fullmatch(said, begin, start) else ""

    def _match(
        self,
        text: str,
        said: str,
        start: int,
        first: Clause,
        last: Clause,
        rules: set[int],
        subject: str = "",
    ) -> Finding | None:
        if last.end - first.start > MAX_CLAUSE:
            return None
        clause = subject + said[start : last.end].rstrip(MARKS)
        opening = self._lead.fullmatch(said, first.begin, first.start) is not None
        for number in sorted(rules):
            if self.rules[number].opens and not opening:
                continue
            match = self._patterns[number].fullmatch(clause)
            if match and not self._speaker.says(self.rules[number].family, said, first, last):
                continue
            if match and not self._guards.is_foreign(said, first, last):
                if self.rules[number].ends and self._guards.is_undone(said, first, last):
                    return None
                sentence = text[first.begin : last.stop].strip()
                found = self._finding(subject + text[start:], match, self.rules[number], sentence)
                if found:
                    who = self._company.search(text[first.begin : start])
                    return found._replace(company=who["company"]) if who else found
        return None

    def _finding(
        self, written: str, match: re.Match[str], rule: Rule, sentence: str
    ) -> Finding | None:
        """None where the value is no value ("it", "the second one"), says nothing ("had a big
        moment") or spans two clauses."""
        parts = {
            name.rstrip("0123456789"): trimmed(written[slice(*match.span(name))])
            for name, given in match.groupdict().items()
            if given is not None
        }
        value, why = parts.get("value", ""), parts.get("why")
        if "name" in parts:
            value = self._called.format(value=value, name=parts["name"])
        said = self.fold(value)
        clause = written[: match.end()]
        if not self._values.takes(rule, value, said, clause):
            return None
        if not (why or self._values.worth(rule, value, said)):
            if not rule.ends:
                return None
            rule = rule._replace(kind="end")  # over, even where that is not worth a line
        if not rule.lists and self._clauses.falls_apart(said):
            return None
        if rule.kind == "correction" and "old" in parts and not self._values.was(parts["old"]):
            return None
        if rule.ends and not self._values.ends(self.fold(parts.get("old", value))):
            return None
        topic, whose = (self._label(parts.get(name, "")) for name in ("topic", "whose"))
        return Finding(
            rule, value, sentence, parts.get("old"), why, topic, whose, parts.get("company", "")
        )
