"""English: its rules, and what is not the user's own statement."""

# ruff: noqa: E501 - a list of words is one line, however long

import re

from streams.extractors import english_corrections as corrections
from streams.extractors import english_ends as ends
from streams.extractors import english_events as events
from streams.extractors import english_feelings as feelings
from streams.extractors import english_life as life
from streams.extractors import english_likes as likes
from streams.extractors import english_limits as limits
from streams.extractors import english_tasks as tasks
from streams.extractors.engine import Language
from streams.extractors.english_tell import tell
from streams.extractors.english_words import WORDS
from streams.extractors.patterns import either

RULES = (
    *corrections.RULES,
    *ends.RULES,
    *likes.RULES,
    *limits.RULES,
    *life.RULES,
    *tasks.RULES,
    *events.RULES,
    *feelings.RULES,
)
"""Tried in this order; the first that fits a clause wins."""

_EMOJI = "\u2600-\u27bf\U0001f300-\U0001faff\ufe0f\u200d"
_HEDGES = (
    " if ", "if i ", "if you ", "if we ", "if it ", "unless", "suppose", "supposing", "imagine",
    "pretend", "assume", "assuming", "hypothetical", "in case", "whether", "wish", "maybe",
    "perhaps", " might ", "not sure", "i guess", "wonder ", "wondering", "someday", "one day", "probably",
    "possibly", " said", " say ", " says", "saying", " told ", " tells ", " asked ", " asks ",
    "thinks", " claim", "wrote", " writes", "according to", " heard", "you said", "you mention",
    "you told", "you think", "you know", "you remember", "you noted", "you listed", "you showed",
    "apparently", "when i was", "when i turned", "when i first", "as a kid", "as a child", "as a teenager", "back then", "back when",
    "would have", "wouldn't have", " lol", "lmao", "kidding", "the song", "the movie", "the book",
    "the film", "the line ", "not that", "it's not like", "don't you", "yeah right", "oh sure",
    "lyrics", "supposedly", "i think ", "i thought",
)  # fmt: skip


def _fold(text: str) -> str:
    low = text.lower()
    low = low if len(low) == len(text) else text
    return low.replace("\u2019", "'") if "\u2019" in low else low


_NOT_KEY = re.compile(
    r"\b(?:the|my|our|an?|that|this|all|to|on|by|before|until|at|in|tomorrow|today|tonight|"
    rf"next|week|month|year|{WORDS['day']}|morning|evening|afternoon|weekend)\b|[^\w\s]"
)


def _key(task: str, done: bool) -> str:
    """The thing to do, without verb, articles and dates: "submit the report by May" -> "report"."""
    words = _NOT_KEY.sub(" ", _fold(task)).split()
    return " ".join(words if done else words[1:] or words)


_TEXTS = (
    r"(?:story|poem|monolog|dialog|song|scene|essay|letter|e-?mail|tweet|script|character|speech|joke"
    r"|haiku|limerick|post|bio|message|review|caption|sentence|play|chapter|reply|ad\b|slogan|"
    r"conversation|lyrics|toast|sketch|novel|diary|quote)"
)
_LABOURS = (
    "translat", "proofread", "proof-read", "rewrite", "rephrase", "paraphras", "summarise",
    "summarize", "role-play", "roleplay", "role play", "pretend", "act as a", "act as my",
    "act as if", "act like", "grammar", "how do you say", "how do i say", "in character",
    "example sentence", "the sentence", "the phrase", "following text", "following sentence",
    "following paragraph", "following email", "following message", "play the role",
    "play the part", "you are a ", "you are an ", "you are now", "you're my ", "you're a ",
    "you're an ", "be my ", "from the perspective", "subtitle", "in this scenario", "my character", "the quote",
)  # fmt: skip
_WRITE = (
    "write",
    "compose",
    "draft",
    "create",
    "make up",
    "tell",
    "finish",
    "continue",
    "generate",
)
_REQUEST = (
    rf"\b(?:{either(_LABOURS)}|what does .{{1,80}} mean|{either(_WRITE)} (?:me )?"
    rf"(?:an?|the|some|this|my|our|two|three|\d+) (?:\w+ ){{0,3}}?{_TEXTS})|🙄|🙃| /s\b"
)
_ANAPHORA = (  # what begins so points at something else
    "i", "we", "okay", "ok", "right now", "it", "that", "this", "these", "those", "them", "him",
    "her", "you", "your", "his", "their", "its", "me", "us", "one", "what", "how", "when", "where",
    "who", "why", "both", "either", "neither", "all", "everything", "nothing", "something",
    "anything", "any", "to know", "to see", "to hear", "to ask", "to think", "to get", "to have",
    "to book", "to find", "to be", "to go", "to say", "to make", "to do", "knowing", "being able",
    "here", "there", "same", "another", "each", "some", "so", "none", "either way", "help",
    "on one", "on my own", "up", "out", "to",
)  # fmt: skip
_SHOWN = (
    "first", "second", "third", "last", "next", "other", "one", "idea", "way", "sound", "look",
    "option", "answer", "result", "new", "same", "latest", "suggestion", "response", "example",
    "previous", "above", "plan", "design", "name", "title", "tone", "style", "ending", "part",
    "fact", "color scheme",
)  # fmt: skip
_EMPTY = (
    rf"{either(_ANAPHORA)}\b.*|the {either(_SHOWN)}\b.*|.* (?:one|ones|option)"
    r"|done|more|less|good|great|fine|well|.|.* (?:for|an?|the|to|of|with|and|or|that|which|my|our|as|from|by|few|some|while|when|new|like|wow|am|is|are|was|were|be)|.* (?:this|that|these|those|them|here|there)"
)
_LIGHT = (  # words that say nothing unless others stand beside them
    "a", "an", "the", "some", "any", "my", "our", "own", "more", "most", "much", "many", "few",
    "several", "another", "other", "others", "new", "first", "next", "in", "on", "at", "of", "for",
    "to", "with", "and", "or", "from", "by", "about", "into", "out", "so", "very", "really",
    "just", "also", "too", "again", "then", "on my way home", "on the way home", "all",
    "go", "going", "went", "be", "being", "been", "have", "having", "had", "get", "getting", "got",
    "make", "making", "made", "take", "taking", "took", "do", "doing", "did", "find", "finding",
    "found", "try", "trying", "give", "giving", "gave", "keep", "keeping", "work", "working",
    "hard", "play", "playing", "feel", "feeling", "start", "starting", "started", "create",
    "creating", "bring", "bringing", "live", "living", "become", "becoming", "hope", "hoping",
    "plan", "planning", "looking", "forward", "excited", "ready", "considering", "think",
    "thinking", "want", "challenge", "reflect", "see", "seeing", "learn", "learning", "explore",
    "exploring", "improve", "improving", "watch", "watching", "attended", "reach", "reaching",
    "event", "events", "incident", "incidents", "experience", "experiences", "moment", "moments",
    "milestone", "milestones", "issue", "issues", "problem", "problems", "thing", "things",
    "stuff", "place", "places", "time", "times", "day", "days", "week", "weeks", "weekend",
    "month", "months", "year", "years", "idea", "ideas", "impact", "difference", "change",
    "changes", "progress", "balance", "opportunity", "opportunities", "chance", "chances",
    "challenges", "goal", "goals", "plans", "dream", "dreams", "situation", "thoughts",
    "life", "lives", "world", "future", "way", "ways", "people", "person", "someone", "everyone",
    "something", "anything", "everything", "nothing", "lot", "lots", "bit", "bunch", "kind",
    "kinds", "sort", "sorts", "part", "result", "results", "success", "best", "better", "myself",
    "ourselves", "memories", "together", "good", "great", "nice", "big", "huge", "small", "little",
    "bad", "rough", "tough", "real", "positive", "negative", "meaningful", "unexpected", "amazing",
    "awesome", "wonderful", "lovely", "beautiful", "special", "memorable", "enjoyable", "fun",
    "cool", "crazy", "wild", "wicked", "personal", "different", "certain", "whole", "various",
    "interesting", "incredible", "fantastic", "super", "last", "yesterday", "today", "one", "two",
)  # fmt: skip
_VAGUE = (  # in a value of any words: nothing is said, or something that stands elsewhere
    rf"(?:{either(_LIGHT)}(?!\w)[\s,'-]*)+"
    r"|(?:(?:.* )?(?:\w{2,}ing|to|in|on|at|of|for|with|from|by|about|into|through|over|around|across|past|near|under|use|try|make|take|get) )?"
    r"(?:this|that|these|those)(?! (?:in|who|with|around|close to|(?:mon|tues|wednes|thurs|fri|satur|sun)day|morning|afternoon|evening|week|weekend|month|year|spring|summer|autumn|fall|winter)\b)\b.*"
    r"|(?!.* and ).*\b(?:him|them)\b.*|(?:\w+|go for) it|.*\bone(?: (?:of (?:my|our) own|with|myself|soon|too|at|for)\b.*)?"
)
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
)  # fmt: skip
_BOOKING = (
    r"\b(?:book(?:ing)? (?:an?|the|me|tickets?|it|for)|reserv\w+|tickets?|flights?|airlines?|economy|one[- ]?way|round[- ]?trip|"
    r"check(?:ing)?[- ](?:in|out)|depart\w*|appointments?|rent(?:al)? (?:an? )?cars?|(?:find|get|show) (?:me|us)|look(?:ing)? (?:for|up)|search\w*|"
    r"hotels?|(?:gift|credit) cards?|certificates?|checked bags?|business class|trip from|itinerary|cancellation|refund\w*|option \d|reservation ids?|events?|restaurants?|salons?|movies? (?:at|in|near)|\d+ (?:people|persons?)|\d+:\d\d|\d ?[ap]m|\d(?:st|nd|rd|th)|leav(?:e|ing) (?:on|from|at|next|this))\b"
)
_LEAD = (
    rf"[\s\W_]*(?:{either(_OPENINGS)}(?![\w'])|after (?:the|a|some|much|long|last) [\w ]{{3,30}}?"
    r"(?=,? (?:i|we)\b))[\s,:;.!…-]*"
)

ENGLISH = Language(
    RULES,
    words=WORDS,
    border=r"\b",
    lead=_LEAD,
    tail=r"(?:,? (?:nowadays|now|these days|a lot|very much|so much|too|as well|lately|anyway|though|actually|"
    r"by the way|btw|at the moment|right now|currently|in general|the most|more than anything|please|"
    r"instead|again|already|since then|of course|honestly|tbh|okay|ok|thanks|thank you|"
    r"for now|for a while|(?:last|this) (?:year|month|week|summer|spring|autumn|fall|winter)|in \d{4}|recently|(?:a|two|three|\d+|a few) (?:days?|weeks?|months?|years?) ago|for (?:\w+ ){1,2}(?:years|months)|overall|to be honest|originally|normally|especially|at all|ever|lol|haha))*",
    sentence=rf"(?<![ .][a-z])[.!?]+(?=[\s\"')]|$)|\n+|…|[{_EMOJI}]+\s*",
    clause=r"[;:()]\s*(?!\d)|\s[-–—]+\s|,(?!\d)\s*| but | and (?=i\b|i'|i?'?ve\b|my\b|we\b|our\b|please\b|don't\b|never\b|always\b)|(?<!'m)(?<! am)(?<!feel)(?<!was) so (?!far|much|many|that i can)| because | since (?=we|i\b|it|there|they|the)| although | though | while | which | except | whereas | and (?=(?:would|have|want|need|should|am|was|will|could|can|is|are|it|they|he|she|there|also|then|work|live|who|this|that|now|honestly|nothing)\b)| when (?=i\b|it\b|you\b|we\b)| especially ",
    foreign=either(_HEDGES)
    + r"|:(?<!note:)(?<!correction:)(?<!update:)(?<!fyi:)(?<!record:)(?<!clear:) (?:i|i'm|im|my)\b",
    doubt=r"\?|\bnot (?:only|just|merely|simply|because|necessarily|unheard|uncommon)\b",
    asks=r"\s*(?:(?:hey|hi|please|ok|also|and|so),? )*(?:can|could|would|will) you (?:please )?(?:remind me to|add|put|call me|mark|cross)",
    request=_REQUEST,
    empty=_EMPTY,
    vague=_VAGUE,
    key=_key,
    fold=_fold,
    tell=tell,
    booking=_BOOKING,
    head=ends.head,
)
