"""When it was, of what the rules find: the dates of a sentence (docs/extractors.md, "Dates")."""

import re
from typing import NamedTuple

from schemas.base import JsonObject, format_time
from schemas.time import DAY
from streams.dates import Span, resolve
from streams.extractors.absolute_dates import SHIFTED, YEAR, Named, fixed
from streams.extractors.rule import Finding

WEEK = 7 * DAY
SEASON = 90 * DAY
_OF_A_TIME = frozenset(["task"])
"""Families and kinds of what happens on a date, if its sentence has one."""
_BEGINS = frozenset(["home", "study", "diet", "health"])
"""Families of what may begin before it is told. What ends without being named (work, a partner) is
not among them: an end that was told meanwhile would close it."""
_ANY_WEEK = frozenset(["weekday", "weekend", "day_of_month"])
"""Forms of dates that come again, unless they say of which week."""
_BEGAN = re.compile(  # of what is said to have begun on a date, or to have been since then
    r"\b(?:since|moved|started|began|joined|became|got|bought|adopted|married|enrolled|switched|"
    r"took up|hired|signed up|diagnosed)\b|搬|开始|開始|起|以来|加入|入职|买了|领养|结婚|换了|"
    r"から|引っ越|始め|入社|入学|買い|買った|結婚|転職|になりました|になった",
    re.IGNORECASE,
)


class Dates(NamedTuple):
    """The dates of a turn, its time (microseconds), and what was found in it."""

    text: str
    at: int
    spans: list[Span]
    found: list[Finding]

    @classmethod
    def of(cls, text: str, at: int, findings: list[Finding]) -> "Dates":
        """Those of a turn in which something was found."""
        return cls(text, at, resolve(text, at), findings)

    def annotations(self) -> JsonObject:
        """`event_annotations`: the first date of what was found, else of the turn."""
        dated = [span for finding in self.found if (span := self._about(finding))]
        return _shown(next(iter([*dated, *self.spans]), None))

    def payload(self, finding: Finding) -> JsonObject:
        """`about_start` and `about_end` of a state, if its sentence has a date of it."""
        return _shown(self._about(finding))

    def fixed(self, finding: Finding, language: str) -> str:
        """The value of what was found with its dates as they stand in a text that is read months
        later: those that are in it once, in the words of the text, and of a task that which
        follows it."""
        value = self._with_its_date(finding)
        for span in self._in(finding.sentence):
            phrase = self.text[span.begin : span.stop]
            if YEAR.search(phrase) or _may_recur(finding, span, phrase):
                continue
            if value.count(phrase) == 1:
                begin = value.index(phrase)
                named = Named.of(span.start, span.end, span.lasting)
                value = fixed(language, value, begin, begin + len(phrase), named)
        return value

    def _with_its_date(self, finding: Finding) -> str:
        """The value, and of a task the date that follows it: it is no part of the wording."""
        value, span = finding.value, self._about(finding)
        if span is None or finding.rule.kind != "task":
            return value
        begin = self.text.find(value, self.text.find(finding.sentence))
        between = self.text[begin + len(value) : span.begin]
        return self.text[begin : span.stop] if begin >= 0 and between == " " else value

    def begins(self, finding: Finding, slotted: bool) -> list[int]:
        """The `valid_from` of a state: the date on which its sentence says that it began, else the
        turn's time.

        What has one value at a time has it for certain from the end of the day or week on in which
        it began, and from the turn on if the date is wider: an end that was told meanwhile would
        close it. What is so since a long time is so from then on, and again from the turn on.
        """
        span = self._about(finding)
        if span is None or finding.rule.family not in _BEGINS or self._is_ended(finding):
            return [self.at]
        if not span.lasting and span.end > self.at:
            return [self.at]
        if not slotted:
            return [span.start]
        if span.lasting:
            return [span.start, self.at] if self.at - span.start > SEASON else [self.at]
        return [self.at if span.end - span.start > WEEK else span.end]

    def ended(self, finding: Finding) -> list[int]:
        """The times of the ends that a sentence tells of: the end of its date, and the turn's
        time, as what was told in between is over as well."""
        spans = self._in(finding.sentence)
        if len(spans) != 1 or spans[0].end > self.at:
            return [self.at]
        return [spans[0].end, self.at]

    def _about(self, finding: Finding) -> Span | None:
        """The one date of its sentence, if it is of what was found there."""
        spans, rule = self._in(finding.sentence), finding.rule
        if len(spans) != 1:
            return None
        if not _OF_A_TIME.isdisjoint((rule.kind, rule.family)):
            return spans[0]
        alone = [item.sentence for item in self.found].count(finding.sentence) == 1
        return spans[0] if alone and _BEGAN.search(finding.sentence) else None

    def _is_ended(self, finding: Finding) -> bool:
        """Whether what is over by this turn may be this very state, if it began before."""
        names = {finding.rule.family, finding.rule.kind, finding.rule.slot} - {""}
        ends = {name.removesuffix("*") for item in self.found for name in item.rule.ends}
        return not names.isdisjoint(ends)

    def _in(self, sentence: str) -> list[Span]:
        begin = self.text.find(sentence)
        stop = begin + len(sentence)
        return [span for span in self.spans if begin <= span.begin and span.stop <= stop]


def _may_recur(finding: Finding, span: Span, phrase: str) -> bool:
    """Whether what was found may be of each such day: "plays tennis on Sunday"."""
    if span.lasting or span.form not in _ANY_WEEK or SHIFTED.search(phrase):
        return False
    return _OF_A_TIME.isdisjoint((finding.rule.kind, finding.rule.family))


def _shown(span: Span | None) -> JsonObject:
    if span is None:
        return {}
    return {"about_start": format_time(span.start), "about_end": format_time(span.end)}
