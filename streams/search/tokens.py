"""Tokenizes text into index terms: English stems, normalized numbers and dates, pairs of Chinese,
Japanese and Korean characters.

The stemmer is Porter's, from SQLite's FTS5; `forms` lists the forms that it does not unite. Text
without spaces is split into pairs of characters: FTS5's trigrams miss words of two characters.
"""

import re
import sqlite3
import threading
import unicodedata
from functools import cache, lru_cache
from typing import NamedTuple

from streams.search.stopwords import MONTHS, NUMBERS
from streams.search.synonyms import SAME

CJK = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
CJK_RUN = re.compile(f"[{CJK}]+")
KANA = re.compile("[\u3040-\u30ff]+")
CHUNK = re.compile(
    r"\d{4}-\d\d-\d\d(?!\d)"  # 2026-03-14
    r"|\d{1,2}月\d{1,2}[日号號]"
    r"|\d{1,2}(?::\d\d)?\s?[aApP]\.?[mM]\b"  # 6:30 pm
    r"|\d+(?:[.,:]\d+)*(?:st|nd|rd|th)?"
    r"|[^\W_]+(?:['’][^\W_]+)*"
)
TIME = re.compile(r"(\d{1,2})(?::(\d\d))?\s?([ap])\.?m", re.IGNORECASE)
NUMBER = re.compile(r"(\d+(?:[.,:]\d+)*)(?:st|nd|rd|th)?")
EAST_DATE = re.compile(r"(\d{1,2})月(\d{1,2}).")
ISO_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
UNWORDLY = re.compile(r"[\s\x00-&(-,/;-@\[-`{-\x7f]")
"""Characters in the decompositions of some letters that no term may contain."""
LONGEST = 64
"""Maximum characters of a term; longer ones are not indexed."""


class Form(NamedTuple):
    """A term of a chunk of text, at the characters [start, end) of the chunk."""

    term: str
    start: int
    end: int


class Token(NamedTuple):
    """A term at [start, end) of a text; `raw`: the chunk of the text."""

    term: str
    start: int
    end: int
    raw: str


def terms(text: str) -> list[str]:
    """Returns the terms of a text, in order, with repeats."""
    return [form.term for chunk in CHUNK.findall(text) for form in _forms(chunk)]


def tokens(text: str) -> list[Token]:
    """Returns the terms of a text with their positions."""
    return [
        Token(term, at + start, at + end, chunk)
        for match in CHUNK.finditer(text)
        for at, chunk in ((match.start(), match[0]),)
        for term, start, end in _forms(chunk)
    ]


def _forms(chunk: str) -> tuple[Form, ...]:
    return (_forms_once if len(chunk) <= LONGEST else _forms_once.__wrapped__)(chunk)


@lru_cache(maxsize=200_000)
def _forms_once(chunk: str) -> tuple[Form, ...]:
    if CJK_RUN.search(chunk) and not EAST_DATE.fullmatch(chunk):
        return tuple(_mixed(chunk))
    return tuple(Form(term, 0, len(chunk)) for term in _whole(chunk) if len(term) <= LONGEST)


def _mixed(chunk: str) -> list[Form]:
    """The forms of a chunk with characters of a script without spaces, such as `Python入門`."""
    forms, last = [], 0
    for run in CJK_RUN.finditer(chunk):
        forms += _shifted(chunk[last : run.start()], last)
        forms += _pairs(run[0], run.start())
        last = run.end()
    return forms + _shifted(chunk[last:], last)


def _shifted(part: str, offset: int) -> list[Form]:
    return [
        Form(form.term, match.start() + offset + form.start, match.start() + offset + form.end)
        for match in CHUNK.finditer(part)
        for form in _forms(match[0])
    ]


def _pairs(run: str, at: int) -> list[Form]:
    """All pairs of adjacent characters, and each single character that can be a word."""
    single = [
        Form(char, at + n, at + n + 1)
        for n, char in enumerate(run)
        if len(run) == 1 or not KANA.match(char)
    ]
    return single + [Form(run[n : n + 2], at + n, at + n + 2) for n in range(len(run) - 1)]


def _whole(chunk: str) -> list[str]:
    """The terms of a word, number, time or date."""
    plain = _plain(chunk).partition("'")[0] or "0"
    if not plain[0].isdigit():
        return [NUMBERS.get(plain) or stem(plain)] if len(plain) <= LONGEST else []
    if date := ISO_DATE.fullmatch(plain) or EAST_DATE.fullmatch(plain):
        *_, month, day = map(int, date.groups())
        whole = [plain] if ISO_DATE.fullmatch(plain) else []
        return [*whole, *([stem(MONTHS[month - 1])] if 1 <= month <= 12 else []), str(day)]
    if time := TIME.fullmatch(plain):
        hour, minute = int(time[1]) % 12 + 12 * (time[3] == "p"), time[2] or "00"
        return [f"{hour}:{minute}", time[1] if time[2] is None else f"{time[1]}:{time[2]}"]
    if number := NUMBER.fullmatch(plain):
        return [_number(number[1])]
    return [plain]


def _number(digits: str) -> str:
    if ":" in digits:
        return digits.removeprefix("0")
    digits = digits.replace(",", "")
    whole, dot, rest = digits.partition(".")
    rest = rest.rstrip("0") if "." not in rest else rest
    return (whole.lstrip("0") or "0") + (dot + rest if rest else "")


def _plain(chunk: str) -> str:
    """Removes case, width and accents: `Ｃａｆé` -> `cafe`."""
    if chunk.isascii():
        return chunk.lower()
    decomposed = unicodedata.normalize("NFKD", chunk.replace("’", "'")).casefold()
    bare = "".join(char for char in decomposed if not unicodedata.combining(char))
    return UNWORDLY.sub("", unicodedata.normalize("NFKC", bare)) or "0"


class _Porter:
    """FTS5's stemmer for single words."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._db.execute(
            "CREATE VIRTUAL TABLE word USING fts5(x, content='', tokenize='porter ascii')"
        )
        self._db.execute("CREATE VIRTUAL TABLE stem USING fts5vocab(word, row)")

    def __call__(self, word: str) -> str:
        with self._lock:
            self._db.execute("INSERT INTO word(rowid, x) VALUES (1, ?)", [word])
            result = self._db.execute("SELECT term FROM stem").fetchone()
            self._db.execute("INSERT INTO word(word) VALUES ('delete-all')")
        return str(result[0]) if result else word


_porter = _Porter()


@cache
def _same() -> dict[str, str]:
    """Stem of a form -> stem of its base word."""
    return {_porter(form): _porter(word) for form, word in SAME.items()}


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Returns one stem for all forms of a lowercase English word; other words unchanged."""
    if not (word.isascii() and word.isalpha()):
        return word
    porter_stem = _porter(word)
    return _same().get(porter_stem, porter_stem)
