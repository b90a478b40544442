"""English: what is said in a mood, or at somebody. It is how somebody feels, not what they like, must
keep to or mean to do."""

# ruff: noqa: E501 - a pattern that stands alone is one line

import re

from streams.extractors.english_lists import LISTS
from streams.extractors.patterns import any_of, words

_HARM = any_of(
    r"(?:kill|hurt|harm|starv|cut|hang|drown|shoot)\w* (?:myself|ourselves)",
    r"suicid\w+",
    r"end(?:ing)? (?:it all|my life)",
    r"overdos\w+",
)
_OATH = r"(?:f+u+c+k\w*|bull)?shit\w*|f+u+c+k\w*|wtf|crap|goddamn|freaking"
SAID_IN_A_MOOD = re.compile(rf"\b(?:{_HARM}|{_OATH})\b")
"""Anywhere in a like, limit, habit, decision, plan or goal."""

# --- likes -----------------------------------------------------------------------------------------
_ONESELF = words(
    "life, lives, body, self, face, brain, mind, existence, looks, depression, anxiety, weight, "
    "skin, reflection, voice, past, job right now, luck, consciousness, personality, moods?, "
    "emotions, feelings, thoughts, memories, situation, own company"
)
_STATES = words(
    "living, existence, everyone, everybody, humanity, depression, anxiety, apathy, loneliness, "
    "life, getting out, getting old, going to sleep, going to bed, falling, "
    "feeling, thinking of, thinking about, having no, having to, dealing with, disappointing, "
    "seeing people, watching people, pretending, trying to, lying, existing, doing things, "
    "the direction, the fact, free, cheap, ruining"
)
_PLACED = words(
    "in, on, at, around, near, by, with, surrounded, outdoors, outside, active, creative, part, able, alone in"
)
_WISE = words("is, are, was, were, can, will, has, does, makes, comes, never, always")
MOODY = re.compile(
    any_of(
        r"(?:myself|ourselves|me|us)\b.*|(?:waking|getting) up(?: in the morning| every day)?",
        rf"(?:my|our|the) (?:[\w-]+ )?{_ONESELF}\b.*",
        rf"(?:my|our) (?:[\w-]+ )?(?:{LISTS['kin']}|kids?|children|friends?|family)s?(?: .{{0,12}})?",
        rf"(?:the )?{_STATES}\b.*",
        rf"being (?!{_PLACED}\b).*",
        rf"(?:{_WISE}) .*",
        r".*\b(?:i'm|i've|i'll|i'd|it's|idk|because|whenever|(?:and|but|so) i|"
        r"it (?:is|was|sucks|makes|hurts|fuels))\b.*|.* (?:it|i)|.*(?<!ing )myself\b.*|.*\bmyself(?! (?:through|in|by|with|to)\b).*",
    )
)
"""A like or dislike of oneself, of one's people, of how one lives; or a sentence that went on."""

# --- limits ----------------------------------------------------------------------------------------
_NOT_BE = r"be (?!(?:around|near|exposed|outside|outdoors|away|without|in the|in [a-z]+ing|at|late|early|there|reached|on (?:a|the|call))\b).*"
_NOT_DO = r"do (?:this|that|it|anything|things?|nothing|much|everything|the whole|life|better|right|enough)\b.*"
_NOT_MAKE = r"make (?!(?:it )?(?:to )?(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:any )?(?:meetings?|calls?|appointments?|payments?|evenings?|mornings?)\b).*"
_NOT_TAKE = r"(?:take|handle|tolerate|stand|accept|bear) (?:being|this|that|how|life|what|my|the (?:fact|thought|idea|pain|stress|pressure|way)|another|a single|much)\b.*"
_NOT_PAY = (
    r"(?:pay|afford) (?:(?:my|our|the|any) )?(?:bills?|rent|to (?:lose|fail|miss|wait|make))\b.*"
)
DESPERATE = re.compile(
    any_of(
        _NOT_BE,
        _NOT_DO,
        _NOT_MAKE,
        _NOT_TAKE,
        _NOT_PAY,
        r"(?:eat|drink|sleep|work|have) (?:anything|properly|right|well|at all|now|today)",
        r"(?:do|use|work|eat|drink) (?:right )?now\b.*",
        r"(?:please )?(?:stop|wait|help|continue|go on|hurry)(?: now| here| it)?",
        r"sit (?:still|or|up|down|here)\b.*|(?:send|open|upload|share|install|use|change|store) (?:an?|the|my|this) (?:link|file|photo|picture|message|page|app|site|video|document|button)s?\b.*",
        r".*\b(?:any ?more|any longer|myself|ever|today|tonight|right now|those|these)\b.*",
        r"pay attention\b.*|(?:is|are|was|were|i|we|they|he|she|it|which|that|because)\b.*",
    )
)
"""What somebody "can't", which no one can keep to: "can't take this", "can't be happy"."""

# --- habits and plans ------------------------------------------------------------------------------
_ONCE = words(
    "chose, went, was, were, did, took, knew, came, gave, saw, found myself, felt, thought, "
    "told myself"
)
REFLECTED = re.compile(
    any_of(rf"{_ONCE} .*", r".*\b(?:myself (?:to|for|with|in|of|as|how)|the two|myself \w+ed)\b.*")
)
"""A habit told of the past, or of what somebody thinks of themselves."""

REGRETTED = re.compile(
    any_of(
        r"(?:hated|lost|found|felt|told|punched|hit|hid|cried|forgot|embarrassed|isolated)\b.*\bmyself\b.*",
        r"learn(?:ed|t) (?:to be|that|not to)\b.*",
        r"got (?:beaten|yelled at|screamed at|ignored|laughed at|drunk|high|wasted)\b.*",
    )
)
"""What befell somebody in their own eyes: "lost myself", "learned to be more guarded"."""
WISHED = re.compile(
    r"(?:now |just |only )*(?:to )?(?:be|feel|stay|become) (?:as |more |less |so )?(?:numb|happy|happier|normal|okay|ok|better|alone|dead|free|invisible|at peace|left)\b.*|(?:now |just )*to be .*"
)
"""A goal that is a wish to feel otherwise."""
