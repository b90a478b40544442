"""English: its rules, and what is not the user's own statement."""

# ruff: noqa: E501 - a list of words is one line, however long

import re

from streams.extractors import english_ahead as ahead
from streams.extractors import english_circle as circle
from streams.extractors import english_corrections as corrections
from streams.extractors import english_daily as daily
from streams.extractors import english_ends as ends
from streams.extractors import english_events as events
from streams.extractors import english_feelings as feelings
from streams.extractors import english_life as life
from streams.extractors import english_likes as likes
from streams.extractors import english_limits as limits
from streams.extractors import english_making as making
from streams.extractors import english_matters as matters
from streams.extractors import english_over as over
from streams.extractors import english_retracted as retracted
from streams.extractors import english_slots as slots
from streams.extractors import english_tasks as tasks
from streams.extractors import english_traits as traits
from streams.extractors import fixed_dates
from streams.extractors.clauses import Clauses
from streams.extractors.engine import Language
from streams.extractors.english_bookings import BOOKING
from streams.extractors.english_deeds import PARTS as DEEDS
from streams.extractors.english_empty import EMPTY, ENDLESS, VAGUE
from streams.extractors.english_errands import PARTS as ERRANDS
from streams.extractors.english_foreign import AS_THEY, FOREIGN
from streams.extractors.english_lists import LISTS
from streams.extractors.english_matters import PARTS as MATTERS
from streams.extractors.english_pursuits import PARTS as PURSUITS
from streams.extractors.english_requests import REQUEST, SHOWN
from streams.extractors.english_tell import tell
from streams.extractors.english_words import WORDS
from streams.extractors.english_worth import worth
from streams.extractors.guards import Guards
from streams.extractors.patterns import either
from streams.extractors.speaker import Speaker
from streams.extractors.values import Values

RULES = (
    *circle.RULES,
    *corrections.RULES,
    *ends.RULES,
    *likes.RULES,
    *limits.RULES,
    *life.RULES,
    *making.RULES,
    *traits.RULES,
    *ahead.RULES,
    *tasks.RULES,
    *daily.RULES,
    *events.RULES,
    *matters.RULES,
    *feelings.RULES,
    *over.RULES,
)
"""Tried in this order; the first that fits a clause wins."""

NAMED = {
    **LISTS,
    **WORDS,
    **DEEDS,
    **PURSUITS,
    **ERRANDS,
    **MATTERS,
    **traits.PARTS,
    **circle.PARTS,
    **making.PARTS,
    **ahead.PARTS,
    **daily.PARTS,
    **over.PARTS,
}
"""What `<name>` in a pattern stands for."""

_EMOJI = "\u2600-\u27bf\U0001f300-\U0001faff\ufe0f\u200d"


_TICK = re.compile(r"(?<=\w)`(?=(?:s|m|ve|re|ll|d|t)\b)")  # "I`m"


def _fold(text: str) -> str:
    low = text.lower()
    low = low if len(low) == len(text) else text
    low = low.replace("\u2019", "'") if "\u2019" in low else low
    return _TICK.sub("'", low) if "`" in low else low


_NOT_KEY = re.compile(
    r"\b(?:the|my|our|an?|that|this|all|to|on|by|before|until|at|in|tomorrow|today|tonight|"
    rf"next|week|month|year|{WORDS['day']}|morning|evening|afternoon|weekend)\b|[^\w\s]"
)


def _key(task: str, done: bool) -> str:
    """The thing to do, without verb, articles and dates: "submit the report by May" -> "report"."""
    words = _NOT_KEY.sub(" ", _fold(task)).split()
    return " ".join(words if done else words[1:] or words)


_OPENINGS = (  # what may stand before a statement
    "ok", "okay", "well", "so", "and", "but", "also", "plus", "oh", "hi", "hi there", "hey",
    "hello", "actually", "ugh", "by the way", "btw", "fyi", "tbh", "imo", "honestly", "to be honest",
    "personally", "for the record", "for what it's worth", "just so you know", "yes", "yeah",
    "yep", "no,", "no.", "nope", "sorry", "correction", "note:", "note that", "please note",
    "please note that", "remember", "remember that", "please remember", "please remember that",
    "keep in mind", "keep in mind that", "bear in mind", "bear in mind that", "because", "since",
    "though", "although", "while", "then", "still", "as you know", "as you may know", "anyway",
    "right", "sure", "thanks", "thank you", "great", "good news", "update", "as for me", "for me",
    "unfortunately", "sadly", "luckily", "turns out", "wait", "heads up", "quick note",
    "to clarify", "reminder", "typo", "i mean", "in general", "usually", "these days", "nowadays",
    "lately", "currently", "at work", "at home", "frankly", "let me correct that", "let me clarify",
    "let me correct myself", "scratch that", "small correction", "one more thing", "first",
    "today", "yesterday", "this morning", "this week", "as a rule", "as of today", "as of now",
    "important", "ps", "p.s", "next topic",
    "especially", "yup", "wow", "cool", "nice", "awesome", "haha", "guess what",
    "on another note", "on a different note", "in the meantime", "oh yeah", "yeah,", "big news",
    "um", "umm", "uh", "uhm", "uhh", "er", "erm", "hmm", "mm", "basically", "like", "alright",
    "look", "listen", "you see", "see", "so anyway", "now", "right now", "okay then", "let's see", "yeah no",
    "great news", "omg", "man", "woah", "i wanted to let you know", "i wanted to let you know that",
    "i just wanted to let you know", "i just wanted to let you know that", "wanted to let you know",
    "just wanted to let you know", "i wanted to tell you", "i wanted to tell you that",
)  # fmt: skip
_LEAD = (
    rf"[\s\W_]*(?:{either(_OPENINGS)}(?![\w'])|after (?=(?:i|we)\b)|after (?:the|a|some|much|long|last) [\w ]{{3,30}}?"
    r"(?=,? (?:i|we)\b))[\s,:;.!…-]*"
)

_SINCE_WHEN = (  # at the end of a statement: "since then", "in 2019", "for two years"
    r"already|since then|for now|for a while|(?:last|this) (?:year|month|week|summer|spring|autumn|fall|winter)|"
    r"in \d{4}|recently|(?:a|two|three|\d+|a few) (?:days?|weeks?|months?|years?) ago|"
    r"for (?:\w+ ){1,2}(?:years|months)|at the moment|right now|currently|nowadays|now|these days|lately"
)
_FILLERS = (  # the same: "a lot", "to be honest"
    r"a lot|very much|so much|too|as well|also|anyways?|though|actually|by the way|btw|in general|the most|"
    r"more than anything|please|instead|again|of course|honestly|tbh|okay|ok|thanks|thank you|overall|coming up|"
    r"you know|so yeah|yes|yeah|yep|and stuff|and all that|and everything|to be honest|originally|normally|especially|at all|ever|lol|haha"
)
_ASIDE = (  # the same: how it was
    r"and (?:had|have|we had) (?:such |so )?(?:an? |much )?(?:(?:really |super )?(?:great|good|amazing|awesome|lovely|wonderful|nice) )*(?:fun|time|blast|day)\b.*|"
    r"and the [\w-]+ (?:is|are|was|were) .*|and (?:loved|enjoyed) (?:it|every)\b.*"
)
_NEXT = (  # after "and": a clause of its own
    r"i\b|i'|i?'?ve\b|my\b|we\b|our\b|please\b|don't\b|never\b|always\b|(?:would|have|want|need|should|am|was|"
    r"will|could|can|is|are|it|they|he|she|there|also|then|work|live|speak|moved|grew|used to|who|this|that|now|honestly|nothing|use)\b"
)
_CLAUSE = (
    r"[;:()]\s*(?!\d)|\s[-–—]+\s|(?<=\w)[-–—]+\s|(?<!\d)[–—](?!\d)|,(?!\d)\s*| but | because | 'cause | cuz | as (?=it\b|they\b|we\b|i\b)| although | though | while | which | except |"
    r" whereas | especially | since (?=we|i\b|it|there|they|the)| when (?=i\b|it\b|you\b|we\b)|"
    r"(?<!'m)(?<! am)(?<!feel)(?<!was)(?<!'s)(?<! is)(?<! are) so (?!far|much|many|that i can)"
    rf"| and (?={_NEXT})"
)

_NOBODY = r"You|She|He|They|It|Yesterday|Today|Tomorrow|Work|Life|Well|So|But|Yes|Yeah|Oh|Okay|Ok|Hey|Hi|Hello|Thanks|Wow|Sure|Cool|Great|Nice|Guess"
_COMPANY = (
    r"(?:^\s*|[,.!?:–-]\s+)(?P<company>(?:[Mm]y|[Oo]ur) (?![\w ]*\b(?:is|are|was|were|has|have|had|do|does|did)\b)[\w ]{2,25}?|"
    rf"(?!(?:{_NOBODY})\b)[A-Z]\w+(?: [A-Z]\w+)?) and $"
)
"""Who did something with the user, before "I": "Samantha and I moved in together"."""

ENGLISH = Language(
    RULES,
    words=NAMED,
    border=r"\b",
    lead=_LEAD,
    tail=rf"(?:,? (?:{_FILLERS}|{_SINCE_WHEN}))*(?: (?:{_ASIDE}))?",
    clauses=Clauses(
        sentence=rf"(?=[.!?])(?:(?<![ .][a-z])(?<!\bst)(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bmrs)(?<!\bprof)|(?=\.\s+(?:i|we|my|our)\b|\.\s*$))[.!?]+(?=[\s\"')]|$)|\n+|…|[{_EMOJI}]+\s*",
        clause=_CLAUSE,
    ),
    guards=Guards(
        foreign=FOREIGN,
        doubt=r"\?|\bnot (?:only|just|merely|simply|because|necessarily|unheard|uncommon)\b",
        asks=r"\s*(?:(?:hey|hi|please|ok|also|and|so),? )*(?:can|could|would|will) you (?:please )?(?:remind me to|add|put|call me|mark|cross)",
        request=REQUEST,
        shown=SHOWN,
        revoked=retracted.REVOKED,
        undone=retracted.UNDONE,
        once=retracted.ONCE,
    ),
    values=Values(
        empty=EMPTY,
        vague=VAGUE,
        endless=ENDLESS,
        fits=slots.fits,
        worth=worth,
    ),
    key=_key,
    fold=_fold,
    tell=tell,
    booking=BOOKING,
    company=_COMPANY,
    goes_on=rf"(?:{_LEAD})*(?:i|we)(?:'m|'re|'ve)?\b(?!.*\b(?:(?<!moved )(?<!relocated )to|would|will|can|could|should|must|if|you|he|she|they|it|{LISTS['kin']})\b)(?!.*'(?:ll|d)\b).*\b(?:and|but)\s+",
    introduced=rf"(?:{_LEAD})*(?:i'm|i am|im|my name(?:'s| is)|this is|it's) (?!not\b|an?\b|so\b|in\b|at\b)[\w'’-]+(?: [\w'’-]+)?,\s*",
    head=ends.head,
    fix_date=fixed_dates.english,
    speaker=Speaker(
        frozenset(["identity", "work"]), me=r"\b(?:i|im|we|my|our)\b", implied=".*", others=AS_THEY
    ),
)
