"""Finds the dead letters that name a person: `forget` searches their whole text, since a record
that could not be applied may contain an id anywhere and in any form (docs/guarantees.md).

A letter is erased if any string at any depth equals the id, or if its unescaped text contains the
id as a word. Supported: JSON in an envelope, escaped JSON in a string, base64, hex, bytes as a list
of numbers, gzip, UTF-16, Latin-1, truncated and binary content; escapes of JSON and programs, URLs
and HTML, in any combination.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Any
from urllib.parse import unquote

from schemas.unicode_text import normalized
from sinks.decompress import Budget, TooMuch, inflated, of_base64

STAYS, MAY_NAME, GOES = 0, 1, 2
"""`MAY_NAME`: it stays, but contains the id within a word, or cannot be searched completely."""
DEEP = 5
"""Nested encodings that are searched."""
ESCAPES = 16
"""Times a text is unescaped, at most."""
_ESCAPE = re.compile(
    r"(?P<bytes>(?:\\x[\da-fA-F]{2})+)|(?P<octal>(?:\\[0-3][0-7]{2})+)"
    r"|\\(?:u\{(?P<braced>[\da-fA-F]{1,8})\}|u(?P<short>[\da-fA-F]{4})|U(?P<long>[\da-fA-F]{8})"
    r"|(?P<plain>.))",
    re.DOTALL,
)
_PLAIN = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,}={0,2}")
_HEX = re.compile(r"(?<![\da-fA-F])(?:[\da-fA-F]{2}){3,}(?![\da-fA-F])")
_MOST_CODE = 0x10FFFF
_IDENTIFIER = re.compile(r"[\w.@+-]+")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f]")
_HASHED = re.compile(rb'\A\{"bytes":\d+,"sha256":"[0-9a-f]{64}"\}\Z')
_OWN_ID = {"userid", "sessionid", "taskid"}
"""Field names, in lower case without separators, in which a number is an id."""


class Letters:
    """Matches the letters of one person, their sessions, and their tasks in shared sessions."""

    def __init__(
        self,
        tenant: str,
        user_id: str | None,
        sessions: Iterable[str] = (),
        tasks: Iterable[tuple[str, str]] = (),
    ) -> None:
        self.tenant = tenant
        self._user = None if user_id is None else _normal(user_id)
        self._sessions = frozenset(map(_normal, sessions))
        self._tasks: dict[str, set[str]] = {}
        for session, task in tasks:
            self._tasks.setdefault(_normal(task), set()).add(_normal(session))

    def verdict(
        self, payload: bytes, key: str | None, headers: str | None, detail: str | None
    ) -> int:
        """`STAYS`, `MAY_NAME` or `GOES`."""
        searched = _Searched()
        if not _HASHED.match(payload):
            searched.binary(payload, DEEP)
        if key is not None:
            searched.string(key.removeprefix(f"{self.tenant}/"), DEEP)
        for text in filter(None, (headers, detail)):
            searched.value(_json(text), DEEP)
        is_unclear, texts = searched.is_unclear, searched.texts
        may_name = False
        strings: set[str] = set()
        for text, is_whole in texts:
            strings.add(text)
            if self._user is not None and (match := _named(self._user, text, is_whole)):
                if match == GOES:
                    return GOES
                may_name = True
            if not is_whole and (
                any(_named(id, text, False) == GOES for id in self._sessions)
                or self._names_a_task(text)
            ):
                return GOES
        if self._user in strings or not strings.isdisjoint(self._sessions):
            return GOES
        of_tasks = (self._tasks[id] for id in strings & self._tasks.keys())
        if any(not strings.isdisjoint(sessions) for sessions in of_tasks):
            return GOES
        return MAY_NAME if may_name or is_unclear else STAYS

    def _names_a_task(self, text: str) -> bool:
        """Whether a text contains the ids of a task and of its session as words."""
        return any(
            _named(task, text, False) == GOES
            and any(_named(session, text, False) == GOES for session in sessions)
            for task, sessions in self._tasks.items()
        )

    def is_of_tenant(self, payload: bytes) -> bool:
        """Whether a letter names the tenant: unreadable letters are stored under the default
        tenant."""
        searched = _Searched()
        searched.binary(payload, DEEP)
        name = _normal(self.tenant)
        return any(_named(name, *text) == GOES for text in searched.texts)


class _Searched:
    """All texts of a letter, each with whether it is a complete string; `is_unclear`: a part could
    not be searched."""

    def __init__(self) -> None:
        self.texts: list[tuple[str, bool]] = []
        self.is_unclear = False
        self._budget = Budget()

    def binary(self, content: bytes, deep: int) -> None:
        try:
            unpacked = inflated(content, self._budget)
        except TooMuch:
            self.is_unclear = True
            return
        if unpacked is not None:
            self.is_unclear |= not deep
            if deep:
                self.binary(unpacked, deep - 1)
            return
        text = _decoded(content)
        self.text(text, deep)
        if "\ufffd" in text:
            self.text(content.decode("latin-1"), deep)
        self.is_unclear |= bool(_CONTROL.search(text)) or "\ufffd" in text

    def text(self, text: str, deep: int, *, is_string: bool = False) -> None:
        """Searches JSON string by string, other content as text."""
        stripped = text.lstrip("\ufeff \t\r\n")
        if stripped[:1] in ("{", "[", '"'):
            try:
                self._budget.spend(0, sum(map(stripped.count, "{[,")))
                self.value(json.loads(stripped, object_pairs_hook=_Pairs), deep)
            except (ValueError, RecursionError):  # including TooMuch
                self.is_unclear = True
            else:
                return
        plain = text
        for plain in _unescaped(text):
            self.texts.append((_normal(plain), is_string))
        self.is_unclear |= _once_unescaped(plain)[-1] != plain
        for layer in dict.fromkeys((text, plain)):
            self._packed(layer, deep)

    def value(self, value: Any, deep: int) -> None:
        waiting = [value]
        while waiting:
            node = waiting.pop()
            if isinstance(node, _Pairs):
                for name, content in node:
                    self.string(name, deep)
                    waiting.append(_as_id(name, content))
            elif isinstance(node, list):
                waiting.extend(node)
                if deep and (content := _of_numbers(node)):
                    self._piece(content, deep)
            elif isinstance(node, str):
                self.string(node, deep)

    def string(self, text: str, deep: int) -> None:
        if _IDENTIFIER.fullmatch(text):
            self.texts.append((_normal(text), True))
            self._packed(text, deep)
        elif deep:
            self.texts.append((_normal(text), True))
            self.text(text, deep - 1, is_string=True)
        else:
            self.texts.append((_normal(text), False))
            self.is_unclear = True

    def _packed(self, text: str, deep: int) -> None:
        if not deep:
            return
        for letters in _BASE64.findall(text):
            self._piece(of_base64(letters), deep)
        for digits in _HEX.findall(text):
            self._piece(bytes.fromhex(digits), deep)

    def _piece(self, content: bytes, deep: int) -> None:
        """Searches bytes that are packed or text, not random bytes such as other ids."""
        try:
            self._budget.spend(len(content), 0)
            unpacked = inflated(content, self._budget)
        except TooMuch:
            self.is_unclear = True
            return
        if unpacked is not None:
            self.binary(unpacked, deep - 1)
            return
        text = _decoded(content)
        if not _CONTROL.search(text) and "\ufffd" not in text:
            self.binary(content, deep - 1)


class _Pairs(list[tuple[str, Any]]):
    """An object's names and values, including duplicate names."""


def _json(text: str) -> Any:
    """Decodes JSON; returns the text itself if it is not JSON."""
    try:
        return json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return text


def _of_numbers(values: list[Any]) -> bytes:
    """The bytes that a list of numbers contains, such as a buffer of Node in JSON."""
    try:
        return bytes(values)
    except (TypeError, ValueError):
        return b""


def _as_id(name: str, value: Any) -> Any:
    is_id = name.lower().replace("_", "").replace("-", "") in _OWN_ID
    return str(value) if is_id and type(value) is int and abs(value) < 10**100 else value


def _decoded(content: bytes) -> str:
    """Decodes UTF-16 if every other byte at the start is zero, otherwise UTF-8."""
    start = content[:64]
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", "replace")
    for odd, encoding in ((0, "utf-16-be"), (1, "utf-16-le")):
        if len(start) > 3 and not any(start[odd::2]) and all(start[1 - odd :: 2]):
            return content.decode(encoding, "replace")
    return content.decode("utf-8", "replace")


def _unescaped(text: str) -> Iterator[str]:
    """Yields the text, and after each removal of one kind of escapes the result."""
    yield text
    for _ in range(ESCAPES):
        plain = _once_unescaped(text)
        if plain[-1] == text:
            return
        yield from plain
        text = plain[-1]


def _once_unescaped(text: str) -> list[str]:
    """The text, then without escapes of programs (JSON), then of URLs, then of HTML."""
    plain = [text]
    if "\\" in text:
        code_units = _ESCAPE.sub(_plain, text).encode("utf-16", "surrogatepass")
        plain.append(code_units.decode("utf-16", "replace"))
    if "%" in plain[-1]:
        plain.append(unquote(plain[-1]))
    if "&" in plain[-1]:
        plain.append(unescape(plain[-1]))
    return plain


def _plain(escape: re.Match[str]) -> str:
    kind, text = escape.lastgroup, escape[0]
    if kind == "plain":
        return _PLAIN.get(escape["plain"], escape["plain"])
    if kind in ("bytes", "octal"):
        base = 16 if kind == "bytes" else 8
        content = bytes(int(digits, base) for digits in text.replace("x", "").split("\\")[1:])
        try:
            return content.decode()
        except UnicodeDecodeError:
            return content.decode("latin-1")
    code = int(escape[str(kind)], 16)
    return chr(code) if code <= _MOST_CODE else text


def _normal(text: str) -> str:
    return normalized("NFC", text)


def _named(id: str, text: str, is_whole: bool) -> int:
    """`GOES` if a text equals the id or contains it as a word, `MAY_NAME` if within a word. A
    complete string in the form of an identifier is one word: `ann-2` does not match `ann`."""
    if is_whole and text == id:
        return GOES
    start = text.find(id)
    if start >= 0 and not (is_whole and _IDENTIFIER.fullmatch(text)):
        is_text = not _CONTROL.search(text)
        while start >= 0:
            end = start + len(id)
            before, after = text[max(start - 1, 0) : start + 1], text[end - 1 : end + 1]
            if not is_text or not (_joined(before) or _joined(after)):
                return GOES
            start = text.find(id, start + 1)
        return MAY_NAME
    return MAY_NAME if id.casefold() in text.casefold() else STAYS


def _joined(pair: str) -> bool:
    """Whether two characters belong to one word. Scripts of wide characters have no spaces."""
    return len(pair) == 2 and all(
        character.isalnum() and unicodedata.east_asian_width(character) not in "WF"
        for character in pair
    )


__all__ = ["GOES", "MAY_NAME", "STAYS", "Letters"]
