"""English: what somebody says of themselves, as a sentence about them."""

import re

_PERSONS = {
    "i": "they", "me": "them", "my": "their", "mine": "theirs", "myself": "themself",
    "we": "they", "us": "them", "our": "their", "ours": "theirs", "ourselves": "themselves",
    "i'm": "they are", "i've": "they have", "i'll": "they will", "i'd": "they would",
    "we're": "they are", "we've": "they have", "we'll": "they will", "am": "are",
}  # fmt: skip
_PERSON = re.compile(
    rf"(?<!\bthe )\b(?:{'|'.join(sorted(_PERSONS, key=len, reverse=True))})\b", re.IGNORECASE
)
_VERBS = {"have": "has", "do": "does", "am": "is", "are": "is", "don't": "does not", "can": "can"}
_PAST = re.compile(r"(?!(?:need|feed|breed|shed|wed|seed|speed|bleed|embed)$)\w{2,}ed|did")
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh|o)$")
_CONSONANT_Y = re.compile(r"(?<![aeiou])y$")
_OPENED = re.compile(r"[A-Z][a-z]+ing (?=\w)")  # "Winning a cup" at the beginning of a sentence
_ACRONYM = re.compile(r"[A-Z]{2,}|[A-Z]\.")


def tell(says: str, parts: dict[str, str]) -> str:
    """A rule's `says` with its parts: `{value}`, `{old}`, `{topic}`; `{does}` is the value with its
    first word, a verb, in the third person, `{a}` the article of the value; `company` is who did it
    with the user."""
    value = parts["value"]
    if _OPENED.match(value) and says.startswith(("Is ", "Goal ", "Has ")):
        parts = {**parts, "value": value[:1].lower() + value[1:]}
    article = "an" if value[:1].lower() in set("aeiou") else "a"
    if says == "Has been {value}." and not parts.get("company"):
        parts = {**parts, "value": _COUPLE.sub("in a relationship", parts["value"])}
    named = {name: third_person(text) for name, text in parts.items()}
    said = says.format_map({**named, "does": _conjugated(named["value"]), "a": article})
    if named.get("company") and not _OF_BOTH.match(value):
        said = f"{said.removesuffix('.')} with {named['company']}."
    return said[:1].upper() + said[1:]


_COUPLE = re.compile(r"(?:together|dating)(?= (?:for|since)\b)")
"""With whom is not said."""
_OF_BOTH = re.compile(r"(?:got|get|been) (?:married|engaged|divorced)\b|eloped\b")
"""Said of a couple: with whom is said by it."""
_MAKES = ("made", "baked", "painted", "built", "drew", "reading", "finished", "adopted", "bought")
_MAKING = "".join(f"|(?<={verb} )" for verb in _MAKES)
_FINE = (
    "cool|crazy|amazing|great|awesome|weird|nice|huge|new|inspiring|fantastic|cute|beautiful|"
    "wonderful|incredible|lovely|funny|old"
)
_NO_NOUN = "after|for|in|on|with|because|when|at|to|from|by|as|before|during|while|and|last"
_SHOWN = re.compile(  # "this rye bread" of what is told for the first time
    rf"\b(?:(?=this (?:{_FINE}) ){_MAKING})(?:this|that) (?!(?:{_NO_NOUN})\b)(?=(\w))"
)


def _unshown(match: re.Match[str]) -> str:
    return "an " if match[1] in "aeiou" else "a "


def third_person(text: str) -> str:
    """ "my kids and me" -> "their kids and them"."""
    return _SHOWN.sub(_unshown, _PERSON.sub(_other, text.replace("\u2019", "'")))


def _other(match: re.Match[str]) -> str:
    if _ACRONYM.fullmatch(match[0]):
        return match[0]  # US
    return _PERSONS[match[0].lower()]


def _conjugated(value: str) -> str:
    both = re.match(r"(\w+) and (\w+)(?= every| each| once| twice| daily)", value)
    if both:  # "practise and train every day"
        return f"{_conjugated(both[1])} and {_conjugated(both[2])}{value[both.end() :]}"
    verb, space, rest = value.partition(" ")
    low = verb.lower()
    if _PAST.fullmatch(low):  # "graduated from", "retired in"
        return value
    does = _VERBS.get(low) or (
        _CONSONANT_Y.sub("ies", low)
        if _CONSONANT_Y.search(low)
        else low + ("es" if _SIBILANT.search(low) else "s")
    )
    return does + space + rest
