"""Text as the terms that the index holds: English stems, numbers and dates in one form, pairs of
Chinese, Japanese and Korean characters.

The stemmer is Porter's, as SQLite's FTS5 has it; `forms` lists what it does not bring together.
Words between which there are no spaces are found by pairs of characters: FTS5's own trigrams miss
words of two.
"""

import re
import sqlite3
import threading
import unicodedata
from functools import cache, lru_cache
from typing import NamedTuple

from streams.search.forms import SAME
from streams.search.words import MONTHS, NUMBERS

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
"""What the forms of some letters are made of, and no term may hold."""
LONGEST = 64
"""Characters of a term; a longer one is no word that anybody asks for."""


class Form(NamedTuple):
    """A term of a chunk of text, and which characters of the chunk it stands for."""

    term: str
    start: int
    end: int


class Token(NamedTuple):
    """A term and where in the text it stands; `raw` as it is written there."""

    term: str
    start: int
    end: int
    raw: str


def terms(text: str) -> list[str]:
    """The terms of a text, in order, each as often as it stands there."""
    return [form.term for chunk in CHUNK.findall(text) for form in _forms(chunk)]


def tokens(text: str) -> list[Token]:
    """The terms of a text with their places."""
    return [
        Token(term, at + start, at + end, chunk)
        for found in CHUNK.finditer(text)
        for at, chunk in ((found.start(), found[0]),)
        for term, start, end in _forms(chunk)
    ]


@lru_cache(maxsize=200_000)
def _forms(chunk: str) -> tuple[Form, ...]:
    if CJK_RUN.search(chunk) and not EAST_DATE.fullmatch(chunk):
        return tuple(_mixed(chunk))
    return tuple(Form(term, 0, len(chunk)) for term in _whole(chunk) if len(term) <= LONGEST)


def _mixed(chunk: str) -> list[Form]:
    """A chunk in which characters without spaces stand, such as `Python入門`."""
    forms, last = [], 0
    for run in CJK_RUN.finditer(chunk):
        forms += _moved(chunk[last : run.start()], last)
        forms += _pairs(run[0], run.start())
        last = run.end()
    return forms + _moved(chunk[last:], last)


def _moved(part: str, by: int) -> list[Form]:
    return [
        Form(form.term, found.start() + by + form.start, found.start() + by + form.end)
        for found in CHUNK.finditer(part)
        for form in _forms(found[0])
    ]


def _pairs(run: str, at: int) -> list[Form]:
    """Each two neighbours, and each single character that can be a word."""
    single = [
        Form(one, at + n, at + n + 1)
        for n, one in enumerate(run)
        if len(run) == 1 or not KANA.match(one)
    ]
    return single + [Form(run[n : n + 2], at + n, at + n + 2) for n in range(len(run) - 1)]


def _whole(chunk: str) -> list[str]:
    """A word, number, time or date: its forms."""
    plain = _plain(chunk).partition("'")[0] or "0"
    if not plain[0].isdigit():
        return [NUMBERS.get(plain) or stem(plain)]
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
    """Without case, width and accents: `Ｃａｆé` -> `cafe`."""
    if chunk.isascii():
        return chunk.lower()
    spread = unicodedata.normalize("NFKD", chunk.replace("’", "'")).casefold()
    kept = "".join(one for one in spread if not unicodedata.combining(one))
    return UNWORDLY.sub("", unicodedata.normalize("NFKC", kept)) or "0"


class _Porter:
    """FTS5's stemmer, asked one word at a time."""

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
            found = self._db.execute("SELECT term FROM stem").fetchone()
            self._db.execute("INSERT INTO word(word) VALUES ('delete-all')")
        return str(found[0]) if found else word


_porter = _Porter()


@cache
def _same() -> dict[str, str]:
    """A stem -> that of the word which it is a form of."""
    return {_porter(form): _porter(word) for form, word in SAME.items()}


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of an English word in lower case, one for all its forms; any other word as it is."""
    if not (word.isascii() and word.isalpha()):
        return word
    found = _porter(word)
    return _same().get(found, found)
