"""English: a first-person statement as a sentence about the user."""

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
_DONE = {  # what was done -> what was to be done, where an ending does not tell
    "bought": "buy", "paid": "pay", "sent": "send", "submitted": "submit", "picked": "pick",
    "dropped": "drop", "cancelled": "cancel", "canceled": "cancel", "wrote": "write",
    "written": "write", "fed": "feed", "saw": "see", "seen": "see", "got": "get", "gotten": "get",
    "took": "take", "taken": "take", "brought": "bring", "replied": "reply", "applied": "apply",
    "made": "make", "did": "do", "done": "do", "thought": "think", "met": "meet", "spoke": "speak",
    "spoken": "speak", "told": "tell", "rang": "ring", "rung": "ring", "phoned": "call",
    "emptied": "empty", "transferred": "transfer", "withdrew": "withdraw", "mopped": "mop",
    "backed": "back", "wrapped": "wrap", "studied": "study", "refilled": "refill", "handed": "hand",
    "turned": "turn", "set": "set", "read": "read", "shipped": "ship", "signed": "sign",
}  # fmt: skip
_FIRST = re.compile(r"[a-z-]+", re.IGNORECASE)
_ACRONYM = re.compile(r"[A-Z]{2,}|[A-Z]\.")
_ARTICLE = re.compile(r"(?:an?|the|my|our|two|three|four|five|six|some|\d+)\b", re.IGNORECASE)


def tell(says: str, parts: dict[str, str]) -> str:
    """A rule's `says` with its parts; `{a}` is the article of the value."""
    value = parts["value"]
    an = "an " if value[:1].lower() in set("aeiou") else "a "
    named = {name: third_person(text) for name, text in parts.items()}
    if "Asks:" in says and parts["condition"]:
        named["value"] = f"{named['value']} {third_person(parts['condition'])}"
    if parts["whose"]:
        named["whose"] = parts["whose"]
    sentence = says.format_map({**named, "a ": "" if _ARTICLE.match(value) else an})
    return sentence[:1].upper() + sentence[1:]


def to_do(value: str) -> str:
    """What was done, as it was to be done: "bought milk" -> "buy milk"."""
    return _FIRST.sub(lambda word: _DONE.get(word[0].lower(), word[0]), value, count=1)


def third_person(text: str) -> str:
    """ "my kids and me" -> "their kids and them"; instructions keep "me" as the user."""
    return _PERSON.sub(_other, text.replace("\u2019", "'"))


def _other(match: re.Match[str]) -> str:
    if _ACRONYM.fullmatch(match[0]):
        return match[0]  # US
    return _PERSONS[match[0].lower()]
