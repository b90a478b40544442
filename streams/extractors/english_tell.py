"""English: what somebody says of themselves, as a sentence about them."""

import re

_PERSONS = {
    "i": "they", "me": "them", "my": "their", "mine": "theirs", "myself": "themself",
    "we": "they", "us": "them", "our": "their", "ours": "theirs", "ourselves": "themselves",
    "i'm": "they are", "i've": "they have", "i'll": "they will", "i'd": "they would",
    "we're": "they are", "we've": "they have", "we'll": "they will", "am": "are",
}  # fmt: skip
_PERSON = re.compile(rf"\b(?:{'|'.join(sorted(_PERSONS, key=len, reverse=True))})\b", re.IGNORECASE)
_VERBS = {"have": "has", "do": "does", "am": "is", "are": "is", "don't": "does not", "can": "can"}
_SIBILANT = re.compile(r"(?:s|x|z|ch|sh|o)$")
_CONSONANT_Y = re.compile(r"(?<![aeiou])y$")
_ACRONYM = re.compile(r"[A-Z]{2,}|[A-Z]\.")


def tell(says: str, parts: dict[str, str]) -> str:
    """A rule's `says` with its parts: `{value}`, `{old}`, `{topic}`; `{does}` is the value with its
    first word, a verb, in the third person, `{a}` the article of the value."""
    value = parts["value"]
    article = "an" if value[:1].lower() in set("aeiou") else "a"
    named = {name: third_person(text) for name, text in parts.items()}
    said = says.format_map({**named, "does": _conjugated(named["value"]), "a": article})
    return said[:1].upper() + said[1:]


def third_person(text: str) -> str:
    """ "my kids and me" -> "their kids and them"."""
    return _PERSON.sub(_other, text.replace("\u2019", "'"))


def _other(match: re.Match[str]) -> str:
    if _ACRONYM.fullmatch(match[0]):
        return match[0]  # US
    return _PERSONS[match[0].lower()]


def _conjugated(value: str) -> str:
    verb, space, rest = value.partition(" ")
    low = verb.lower()
    does = _VERBS.get(low) or (
        _CONSONANT_Y.sub("ies", low)
        if _CONSONANT_Y.search(low)
        else low + ("es" if _SIBILANT.search(low) else "s")
    )
    return does + space + rest
