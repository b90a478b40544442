"""English: what takes back what was said, at once or in the same sentence."""

from streams.extractors.english_lists import LISTS
from streams.extractors.patterns import any_of, words

# --- a statement is not so, or not the user's --------------------------------------------------
_NO_MORE = r"(?: that way| like (?:it|that)|[.!]|$)"
_FEELS = (  # "it feels that way", not "it feels good"
    r"(?:or )?(?:at least,? )?(?:so )?(?:it|that's how it|that is how it) "
    r"(?:(?:sure |certainly |just )?(?:feels?|seems?|felt)\b"
    r"(?! (?:so )?(?:good|great|nice|amazing|wonderful|right|like home)))"
)
_WAIT = any_of(
    "no,? wait",
    "wait,? no",
    "oh wait",
    r"(?:i(?:'m| am) )?(?:just |only )?(?:kidding|joking)",
    r"jk\b",
    "scratch that",
    "i lied",
    r"that(?:'s| is| was) (?:a lie|not true|a joke|nonsense)",
    "not really[.!]",
    "not[.!]",
    r"nah\b",
    "on second thoughts?",
    "forget (?:that|i said)",
    "never ?mind that",
    "i take that back",
    r"actually,? (?:no\b(?! longer)|not\b(?! only)|that(?:'s| is) (?:not|wrong))",
    "i made that up",
    r"psych\b",
    "april fools?",
    _FEELS + _NO_MORE,
)
_STOP = r"\s*(?:[.!,;]|$)"
_IT_IS = r"(?:it|that|he|she|they|this)(?:'s| is|'re| are| was| were| belongs? to) "
_WHOSE = any_of(  # it is somebody else's, or was somebody else
    rf"{_IT_IS}(?:really |actually )?(?:my|our|his|her|their) (?:[\w-]+ ){{0,2}}?[\w-]+(?:'s|s')"
    rf"(?: really| actually| though| not mine|,? not mine)*{_STOP}",
    rf"{_IT_IS}(?:really |actually )?not (?:really |actually )?mine\b",
    rf"{_IT_IS}(?:really |actually )?not me\b",
    rf"(?:it|that) was (?:really |actually )*(?:my|our) (?:{LISTS['kin']}|friend|neighbou?r|"
    rf"colleague)(?: really| actually| though)*{_STOP}",
)
_BEFORE = words("well, oh, ok, okay, no, wait, actually, sorry, i mean, hmm, but, haha, lol")

REVOKED = rf"[\s\W]*(?:{_BEFORE}[\s\W]+)*(?:{_WAIT}|{_WHOSE})"
"""What may follow a statement, in its sentence or the next one, and takes it back."""

# --- an end is none, or one no longer -------------------------------------------------------------
_HIM = r"(?:him|her|it|them|one another|my \w+|our \w+)"
_NOT_WITH = r"\b(?! (?:with|to me|as)\b)"
_BACK = any_of(
    rf"found {_HIM}",
    "(?:got|gotten|getting|get|are|we're|were) back together",
    rf"(?:got|get|bought|brought|won|have|took) {_HIM} back\b",
    r"(?:he|she|it|they)(?:'s|'re| is| are| has| have)? (?:\w+ )?"
    rf"(?:back|returned|turned up|showed up|reappeared){_NOT_WITH}",
    r"(?:came|come) (?:back )?home\b",
    rf"(?:came|turned up) (?:back|again){_NOT_WITH}",
    r"(?:started|began|took) (?:\w+ )?(?:again|back up|it up)\b",
    "made up (?:again|later|since|the next)",
    "relapsed",
    "fell off the wagon",
    "reconciled",
    "got remarried",
    r"(?:but|though) (?:not for long|it didn't (?:last|stick)|only for \w+)",
)
_UNREAL = any_of(
    r"\bin (?:the|an?|my|our|this|that) (?:[\w-]+ )?"
    r"(?:game|dream|simulation|sims|movie|film|play|novel|story)\b",
    r"\bin (?:minecraft|stardew valley|animal crossing|the sims|monopoly)\b",
)
_DEVICES = words(
    "phone, battery, laptop, computer, tablet, watch, headphones, earbuds, camera, internet, wifi, "
    "wi-fi, connection, mic, controller, kindle, speaker"
)
_NO_DEATH = any_of(
    r"\bdied (?:of |from )?(?:laughing|laughter|boredom|embarrassment|shame|happy|inside)\b",
    r"\bdied a little",
    rf"\b{_DEVICES}s? (?:just |has |suddenly )*died "
    r"(?:on|at|in|during|halfway|mid|while|before|right)\b",
)
UNDONE = any_of(rf"(?<!never )(?<!not )(?<!n't ){_BACK}", _UNREAL, _NO_DEATH)
"""What takes an end back, in its sentence or behind it, or says that it is none."""

# --- an end is of one occasion ----------------------------------------------------------------
_CLOCK = any_of(
    r"(?:1[0-2]|[1-9])(?! ?%)",
    r"(?:2[0-3]|1?\d)[:.][0-5]\d",
    r"\d{1,2} ?(?:am|pm|o'clock)",
    "midnight|noon|half past|quarter (?:to|past)|bedtime|dusk|dawn",
    "[a-z]+ o'clock",
)
_OCCASION = any_of(
    "lent|ramadan|advent",
    "(?:dry |this |last )?(?:january|november)",
    "(?:a|one|the) (?:day|night|evening|weekend|while|moment|minute|bit|challenge|bet)",
    "(?:a|two|three|a few) (?:days?|hours?|minutes?)",
)
ONCE = any_of(
    rf"\b(?:stopped|quit) \w+ing\b.* at {_CLOCK}(?![\w-])",
    r"\bonce\b(?! and for all)(?! (?:i|we|my)\b)",
    r"\b(?:since|before|until|till|after|when|by the time) (?:i|we)(?:'d|'ve| had| have)? "
    r"(?:first |finally )?moved (?:out|away)\b",
    rf"\b(?:for|during) {_OCCASION}\b(?! now| of\b| because)",
)
"""What makes an end of one occasion, or of a time that is only named, in its sentence."""
