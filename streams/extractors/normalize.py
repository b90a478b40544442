"""A turn as the rules read it: one kind of space, no character that nobody sees, no mentions."""

import re
import unicodedata

_SPACES = re.compile(r"[^\S\n ]+| {2,}")
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)
_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff65-\uff9f]+")
_MENTION = re.compile(  # of chat programs; at the end hashtags, too
    r"<[@#!][^<>\s]{1,40}>[,:]?|^(?:\s*@[\w.-]+(?:[,:]|\b)(?!\.\w))+"
    r"|(?:\s[@#](?!\d+\b)[\w.-]*\w)+(?=[\s.!?。！]*$)"
)
_WRAPPED = re.compile(  # a line that breaks inside a sentence
    r"(?<=\b(?:in|at|to|of|an|on|by|as|is|am|my|or))\n(?=\w)"
    r"|(?<=\b(?:the|and|for|our|are))\n(?=\w)|(?<=\b(?:from|with|near))\n(?=\w)"
    r"|(?<=[a-z,])\n(?=[a-z])(?!(?:i|im|we|my|our|it|he|she|they|you)\b)"
)


def cleaned(text: str) -> str:
    """The text without what is only seen by machines. ASCII without tabs stays as it is."""
    if not text.isascii():
        text = _UNSEEN.sub("", text)
        text = _WIDE.sub(lambda match: unicodedata.normalize("NFKC", match[0]), text)
    if "@" in text or "#" in text:
        text = _MENTION.sub("", text).strip()
    if "\n" in text:
        text = _WRAPPED.sub(" ", text.replace("\r\n", "\n"))
    return _SPACES.sub(" ", text)
