"""English dates."""

# ruff: noqa: E501 - a form is one line, however long

from streams.dates.grammar import Form, Language
from streams.dates.meaning import FEW

MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
         "august aug", "september sept sep", "october oct", "november nov", "december dec"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
LONG = "january|february|march|april|may|june|july|august|september|october|november|december"
_SAFE = "january|february|march|july|september|october|november|december"
"""Months that are not first names."""
_TIME = r"(?: (?:early |late )?(?:morning|afternoon|evening|night))?"
_PART = r"(?:(?:early|mid|late)[ -]|(?:the )?(?:start|beginning|middle|end|first week) of )?"
_CONTINUES = (  # after a number that is a date, not a quantity
    r"(?= ?(?:[.,!?;:)…]|$)| (?:and|but|so|at|i|i'm|i've|we|we're|he|she|they|it|to|for|with|because|"
    r"when|if|or|please|was|is|will|as|though|after|before|until|this|that|my|our|then)\b)"
)
_COUNTS = (
    r"(?! ?%| (?:people|men|women|children|percent|miles|feet|bucks|grand|more|or so|different|\d)\b)"
    r"(?! (?!(?:was|is|has|as|this|his|its|us|does|always|things|she's|he's|it's|that's)\b)[a-z']+s\b)"
    r"(?![-–/:]?\d)(?![.,]\d)"
)

_AHEAD = r"(?:(?:got )?(?:to|an?|my|our|another|two|three)\b)"
"""After "have": the future ("have to", "have got an exam"), not a participle."""

ENGLISH = Language(
    (
        Form("half_year", r"half a year ago"),
        Form("ago", r"<n> <unit>s? (?:ago|back)(?P<exact> (?:to the day|today))?"),
        Form("day", r"(?<!edge of )(?<!of )<day>" + _TIME + r"(?! never| land)(?!'s (?:world|society|kids|youth|standards|age)\b)"),
        Form("unit", r"(?:on )?(?:the )?<d>(?:st|nd|rd|th)? of (?P<shift>last|this|next) (?P<unit>month)"),
        Form("unit", r"(?<!the )(?P<shift>last|this|next|this past|this coming|this upcoming|previous) <unit>(?! of\b)(?!-)"),
        Form("unit", r"(?:the )?<unit> <shift2>"),
        Form("season", r"(?:the )?" + _PART + r"<season>(?: of|,)?(?: in)? <year>"),
        Form("season", r"(?<!the )<shift> <season>(?! of\b)"),
        Form("weekday_of_week", r"(?:on )?(?:the )?<weekday>" + _TIME + r"(?: of)? <shift> week"),
        Form("weekday_of_week", r"<shift> week(?:,? on)? <weekday>" + _TIME),
        Form("weekday", r"(?<!the )<shift> <weekday>" + _TIME),
        Form("month", r"(?:on )?(?:the )?(?P<d>\d{1,2})(?:st|nd|rd|th)?(?: of)?[ -]<month>(?! be\b| have\b| not\b| need\b)(?:,? (?:of )?<year>)?"),
        Form("month", r"(?:on )?<month>\.? (?:the )?(?P<d>\d{1,2})(?:st|nd|rd|th)?(?:,? <year>)?(?! ?(?:am|pm|a\.m|p\.m|%|km)\b)(?![:/%-]\d|[.,]\d)" + r"(?! (?:miles|times|people|percent|minutes|hours|weeks|months)\b)"),
        Form("month", _PART + r"<month>(?: of|,)? <year>(?![-–/:]\d)"),
        Form("month", rf"(?<!the )<shift> (?P<month>{LONG})(?! of\b| on\b)"),
        Form("month", rf"(?P<month>{LONG}) (?:of )?(?P<yearshift>last|this|next) year"),
        Form("month", rf"(?:in|since|until|till|during) {_PART}(?P<month>{LONG})(?! of (?:the|my)\b|'s\b)", by_tense=True),
        Form("month", rf"(?:by|before|after|from|through|around|early|mid|late|back in|(?:start|beginning|middle|end) of)[ -]{_PART}(?P<month>{_SAFE})(?! of (?:the|my)\b|'s\b)", by_tense=True),
        Form("day_of_month", r"(?:on|by|until|till|before|since) the (?P<d>\d{1,2})(?:st|nd|rd|th)" + _CONTINUES, by_tense=True),
        Form("weekday", r"(?:on|by|until|till|before|since|from|see you|due|coming|after) (?:the )?<weekday>" + _TIME + r"(?! (?:of the|the 13|in love|prayers)\b)", by_tense=True),
        Form("weekday", r"(?<!every )(?<!each )(?<!on )(?<!black )(?<!most )<weekday> (?:morning|afternoon|evening|night)(?! (?:live|fever|football|lights|club)\b)", by_tense=True),
        Form("weekend", r"(?:over|on|at|during) the <unit>(?<=weekend)", by_tense=True),
        Form("ahead", r"(?<!once )(?<!twice )(?<!times )(?<!time )(?<!all )(?<!only )(?<!within )(?<!done )in (?:just |about |only )?<n> <unit>s?(?:' time)?(?! of\b| or\b| to\b)"),
        Form("year", r"(?:in|since|until|till|by|before|after|during|around|circa|year|early|mid|late|class of|of)[ -](?:early |mid |late |the year )?(?<![$€£])<year>" + _COUNTS),
    ),
    tables={
        "day": {
            "the day before yesterday": -2, "day before yesterday": -2, "yesterday": -1,
            "last night": -1, "today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0,
            "this evening": 0, "earlier today": 0, "later today": 0, "tomorrow": 1, "tmrw": 1,
            "the day after tomorrow": 2, "day after tomorrow": 2,
        },
        "n": {
            "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
            "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
            "fifteen": 15, "twenty": 20, "thirty": 30, "a couple of": 2, "a couple": 2,
            "couple of": 2, "a few": FEW, "few": FEW, "several": FEW,
        },
        "unit": {"day": "day", "week": "week", "weekend": "weekend", "month": "month",
                 "year": "year"},
        "shift": {"last": -1, "this past": -1, "past": -1, "previous": -1, "this": 0,
                  "this coming": 0, "this upcoming": 0, "coming": 0, "next": 1},
        "shift2": {"before last": -2, "after next": 2},
        "yearshift": {"last": -1, "this": 0, "next": 1},
        "weekday": {
            "monday": 0, "tuesday": 1, "wednesday": 2, "thursday": 3, "friday": 4,
            "saturday": 5, "sunday": 6,
        },
        "month": MONTHS,
        "season": {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12},
    },
    past=r"\b(?:was|were|wasn't|weren't|did|didn't|had|hadn't|haven't|hasn't|went|"
    rf"(?:have|has|i've|we've)(?! {_AHEAD})|(?<!'ve )(?<!have )(?<!has )got|came|saw|met|made|took|left(?! to\b)|said|told|bought|found|gave|felt|knew|thought|ran|won|lost|began|"
    r"broke|wrote|read|drove|flew|slept|ate|drank|heard|spoke|fell|kept|held|taught|caught|paid|sold|"
    r"spent|beat|swam|sang|became|grew|built|cut|hurt|led|rode|woke|chose|drew|hit|sent|put|quit|"
    r"(?!(?:need|feed|seed|speed|bed|red|wed|hundred|indeed|embed|exceed|proceed|married|excited|tired|bored|interested|scheduled|booked|supposed)\b)[a-z]{2,}ed)\b",
    future=r"\b(?:will|won't|shall|going to|gonna|plan|plans|planning|planned|want|wants|wanna|need|needs|"
    rf"(?:have|has|i've|we've) {_AHEAD}|must|should|can|could|let's|remind|due|book|schedule|scheduled|appointment|deadline|"
    r"(?:starts|begins|opens|ends|closes|finishes|leaves|departs|arrives|expires|(?:i|we) (?:start|begin|finish|leave))(?! of\b)|takes place|"
    r"upcoming|looking forward|can't wait|(?:i|we|you|they|he|she|it)'ll|"
    r"(?:i'm|we're|he's|she's|they're|you're|am|are|is) (?:\w+ )?\w+ing)\b",
    habit=r"\b(?:every|each|always|usually|normally|typically)\b",
    yearly=r"\b(?:birthday is|birthday's|born|anniversary is|every year|each year)\b",
    since=r"\b(?:ever )?since (?:(?:early|mid|late|the|back in|about|around|at least) )*",
    next_week=True,
)  # fmt: skip
