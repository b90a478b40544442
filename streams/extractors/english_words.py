"""The words that English rules are written with: `<kin>` in a pattern stands for `WORDS["kin"]`."""

# ruff: noqa: E501 - a pattern that stands alone is one line

# within a clause: a comma or a dot is not its end inside a number, a name or an initial
_ANY = r"(?:[^.,!?;:]|\.(?=\d|(?:js|net|com|org|io|py|go|csv|json)\b)|(?<=[ .][a-z])\.|(?<=\b(?:st|dr|mr|ms))\.(?= )|(?<=\bmrs)\.(?= )|(?<=\bprof)\.(?= )|(?<=\d)[,:](?=\d))+?"

WORDS = {
    "value": rf"(?P<value>{_ANY})",
    "any": _ANY,
    "old": rf"(?P<old>{_ANY})",
    "why": r"(?:,? (?:because|since|as(?= (?:it|they|he|she|we|i|you|there|this|that|the|its|my|our)\b)|so that|given that|due to) (?P<why><any>))?",
    "am": r"i(?:'m|m| am)",
    "we": r"(?:i|we)(?:'ve|ve| have)?",
    "adverb": r"(?:really|absolutely|also|just|still|always|do|truly|especially|generally|usually|"
    r"particularly|mostly|personally|genuinely|totally|simply|completely|honestly|actually|quite|"
    r"definitely|typically|normally|currently|now|already|finally|recently|both|strongly|much|"
    r"only|super|severely|highly|mildly|deathly|kind of|pretty|very|a bit|so) ",
    "ly": "(?:<adverb>)*",
    "anymore": r"(?: (?:any ?more|any longer|now))?",
    "but": r"(?:\s*[,.;:–—-]+\s+|\s+(?=(?:but|and|so|instead|now)\b))(?:(?:but|and|so|nowadays|now|instead|"
    r"rather|today|these days|currently|actually|it's|its|it is|make it|make that|"
    r"as of \w+|i mean|please),?\s+)*",
    "is": r"(?:is|are|was|has been|will be|=|:)",
    "day": r"(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    "when": r"(?:(?:by|before|until|till|due(?! to\b)|no later than|first thing|on (?=\d|<d>|the \d))\b.+|tomorrow\b.*|tonight|today|soon|asap|.*\b(?:<d>|tomorrow|tonight|today|"
    r"this (?:week|weekend|month|evening|afternoon)|next (?:week|month|year))\b.*)",
    "dated": r"(?: (?:(?:back |late |early )?(?:in|since|(?:since )?last|this) (?:the )?(?:early |late )?(?:<month>|<season>)(?: (?:of )?\d{4})?|(?:since|in) \d{4}|"
    r"on (?:<d>|the \d+\w*|\d.*)|yesterday|today|this (?:morning|afternoon|evening)|last (?:night|<d>|weekend)|as of \w+))*",
    # "I'm afraid I can't" tells of no fear
    "indeed": r"(?! (?:that )?(?:(?:i|we) (?:can|have to|must|need|don't|didn't|haven't|am)|(?:i|we)'(?:m|ve|re)|there|that's|not|so)\b)",
    "post": r"(?:[\w-]+ ){0,3}?<profession>(?: .+)?",
}
_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
WORDS["number"] = (
    rf"(?:(?:{_TENS})(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?|ten|eleven|twelve|[a-z]+teen|one|two|three|four|five|six|"
    r"seven|eight|nine|a hundred)"
)
for _name in ("when", "dated"):
    WORDS[_name] = WORDS[_name].replace("<d>", WORDS["day"])

WORDS["athand"] = r"\b(?:right now|at hand|handy|with me|on me|them|it|this|that)\b"  # passes
WORDS["cannot"] = r"(?:can't|cannot|can not|can no longer|must not|mustn't|am not allowed to|"\
    r"am unable to|'m not allowed to|'m unable to|am not able to|'m not able to|may not)"  # fmt: skip
WORDS["gone"] = r"(?: (?:any ?more|any longer|now|at all|for good|these days))?"
WORDS["own"] = (
    r"(?! (?:for|of|about|with|at|that|to see|to hear)? ?(?:you|your|him|her|his|them|their|she|he|they|<kin>|my <kin>)\b).*"
)
