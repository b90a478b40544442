"""Finds image bytes in a text by decoding them, as words may use the same letters.

An image is a data URL of one, or base64 (either alphabet, padded or not, in lines, behind JSON's
escapes) that decodes to the first bytes of an image file. All searches take linear time: the first
letters decide on a run, and a `Search` checks a limited number of candidates.
"""

import re
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from hashlib import sha256
from heapq import heappop, heappush
from itertools import accumulate, repeat
from operator import add

from streams.pipeline import escapes

LEAST = 32
"""Minimum characters of base64: a shorter text may mention an image, but cannot contain one."""
LEAST_OF_TEXT = len("data:image/a,<svg")
"""Characters of the shortest text that can contain an image: shorter texts of a record are not
searched."""
LEAST_OF_URL = 24
"""The same if a data URL names its type."""
MOST = 300
"""Possible starts of images that one search checks, at some 2 µs each. Prose never has so many: the
rest of the text counts as images."""
ANYWHERE, SPACING = 16, 100
"""Of a short record fewer: these, and one per so many characters. A body has 10,000 records."""
MOST_ESCAPES = 25_000
"""Escapes of one text that are decoded. If an image starts after them, the rest of the text counts
as images."""
FIRST = 64
"""Characters that reject most candidates; they contain all that `is_image` reads, but for XML."""
HEAD = 256
"""Characters that are decoded to detect the type."""
HEAD_OF_XML = 1_500
"""The same for XML: an SVG may start with a long comment."""

HEAD_OF_WORD = 256
"""The same for a data URL without `base64`."""

_LETTER = "[A-Za-z0-9+/_-]"
_BASE = "[A-Za-z0-9+/]"
_CORES = (
    (4, ":", r"(?<=(?i:data):)(?=(?i:image)/)"),
    (0, "iVBORw0KGgo", ""),  # PNG
    (1, "9j", "(?<=[/_]9j)(?=[/_])"),  # JPEG
    (0, "R0lGOD", "(?=[dl]h)"),  # GIF
    (0, "UklGR", ""),  # RIFF, WebP
    (0, "Qk", f"(?=[0-3]{_LETTER}{{5}}AAAA)"),  # BMP, with four bytes that are 0
    (6, "Z0eXB", f"(?<=AAAA{_LETTER}[GWm2]Z0eXB)"),  # ftyp: HEIC, AVIF
    *((0, letters, f"(?<!{_BASE}{letters})")  # TIFF, PDF, SVG
      for letters in ("SUkqA", "TU0AK", "SUkrAA", "JVBERi", "PHN2Z", "PD94bW", "77u/P")),
)  # fmt: skip
"""Start of an image: number of its characters before the letters, the letters, which Python finds
in a tenth of the time that a class takes, and their context."""
_STARTS = tuple(
    (before, letters, re.compile(letters + around)) for before, letters, around in _CORES
)
_RUN = re.compile(
    rf"{_LETTER}{{28,}}+(?:\s++{_LETTER}{{28,}}+)*(?:={{1,2}}|\s++{_LETTER}*+={{1,2}})?"
)
_LAST_LINE = re.compile(
    rf"[ \t]*\r?\n[ \t]*{_LETTER}{{1,75}}+={{0,2}}(?=[ \t]*(?:\r?\n|[\"']|\Z))"
    rf"|\s+{_LETTER}{{1,27}}+={{0,2}}\s*\Z"
)
"""It may be short, and look like a word."""
_URL = re.compile(
    r"data:image/[\w.+-]{1,64}+"
    r"(?:\s?;\s?(?:base64|utf-?8|[\w.+-]{1,64}+=(?:\"[^\"]{0,128}+\"|[^,;\"\s]{0,128}+))){0,8}"
    r"\s*+,",
    re.IGNORECASE | re.ASCII,
)
_URL_RUN = re.compile(
    r"\s*+([A-Za-z0-9+/_%-]++(?:\s++[A-Za-z0-9+/_%-]{28,}+)*"
    r"(?:={1,2}|\s++[A-Za-z0-9+/_%-]*+={1,2})?)"
)
_DRAWING = re.compile(r"\s*+(?:<|%3C)(?:svg|\?xml|%3Fxml|!--|!doctype)", re.IGNORECASE)
_DRAWN = re.compile(r"</svg\s*>|%3C/svg(?:%20|\s)*(?:>|%3E)", re.IGNORECASE)
_XML = ("PHN2Z", "PD94bW", "77u/P")
_WORD = re.compile(r"[^\s\"']+")
_PERCENT = re.compile("%[0-9a-fA-F]{2}")
_ESCAPE = re.compile(r"(?<!\\)(\\++(u[0-9a-fA-F]{4}|[nrt/]))")
_STANDARD = str.maketrans("-_", "+/")


def may_hold(text: str) -> bool:
    """Whether a text needs a full search. Called for nearly every text, so it looks for letters
    first, which is fast. They may be escaped, as in JSON within a text."""
    return len(text) >= LEAST_OF_TEXT and (
        _has_letters(text) or ("\\u" in text and _has_letters(escapes.of_json(text)))
    )


def _has_letters(text: str) -> bool:
    return (
        ("9" in text and ("9j" in text or "PD94bW" in text))
        or ("V" in text and ("iVBORw" in text or "JVBERi" in text))
        or ("U" in text and ("UklGR" in text or "SUk" in text or "TU0AK" in text))
        or ("Z" in text and ("Z0eXB" in text or "PHN2Z" in text))
        or ("Q" in text and "Qk" in text and "AAAA" in text)
        or "R0lGOD" in text
        or ("/" in text and ":" in text and "data:image" in text.lower())
    )


def is_in(text: str) -> bool:
    """Whether the text contains image bytes."""
    return may_hold(text) and next(find(text), None) is not None


def cut(text: str) -> str:
    """Replaces each image by its length and hash."""
    return Search().cut(text)


def stand_in(image: bytes) -> str:
    """Replacement text for an image."""
    return f"[image removed: {len(image)} bytes, sha256 {sha256(image).hexdigest()}]"


def find(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each image."""
    return Search().find(text)


class Search:
    """A search of one record with any number of texts: it checks at most `MOST` candidates."""

    def __init__(self) -> None:
        self._room = ANYWHERE
        self._length = 0

    @property
    def is_over(self) -> bool:
        """Whether there were more candidates than the limit."""
        return self._room < 0

    def cut(self, text: str) -> str:
        """Replaces each image by its length and hash. After the limit, the rest of a text that may
        contain an image counts as one."""
        if not may_hold(text):
            return text
        if self.is_over:
            return stand_in(text.encode("utf-8", "surrogateescape"))
        pieces, at = [], 0
        for start, end in self.find(text):
            pieces += [text[at:start], stand_in(text[start:end].encode("utf-8", "surrogateescape"))]
            at = end
        return "".join((*pieces, text[at:]))

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of each image; after the last checked candidate, the rest counts as one."""
        plain, place, skipped = _unescaped(text)
        self._extend(len(plain))
        look = _Look(plain)
        beginnings, at = _Beginnings(plain), 0
        while (start := beginnings.after(at)) is not None:
            self._room -= 1
            if self._room < 0:
                yield place(start), len(text)
                return
            at = start + 1
            if (end := look.end(start)) is not None:
                at = max(end, at)
                yield place(start), place(end)
        if skipped and _Beginnings(_meant_in(text[-skipped:])).after(0) is not None:
            yield len(text) - skipped, len(text)

    @property
    def most(self) -> int:
        """How many candidates are checked in the texts so far."""
        return min(MOST, ANYWHERE + self._length // SPACING)

    def _extend(self, length: int) -> None:
        """Makes room for the candidates of one more text."""
        before = self.most
        self._length += length
        self._room += self.most - before


class _Beginnings:
    """Candidates for the start of an image, in order; candidates inside an image are skipped."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [start for start in _STARTS if start[1] in text]
        self._next: list[tuple[int, int]] = []
        for number in range(len(self._starts)):
            self._look(number, 0)

    def _look(self, number: int, at: int) -> None:
        before, _, start = self._starts[number]
        match = start.search(self._text, at)
        if match is not None:
            heappush(self._next, (match.start() - before, number))

    def after(self, at: int) -> int | None:
        """The first one from a position on; positions must ascend."""
        while self._next:
            start, number = self._next[0]
            if start >= at:
                return start
            heappop(self._next)
            self._look(number, max(start + 1, at) + self._starts[number][0])
        return None


def _meant_in(text: str) -> str:
    """Decodes JSON's escapes, as an image's first letters may be escaped."""
    return escapes.of_json(text).replace("\\/", "/")


class _Look:
    """Search of one text, from start to end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_drawn = True  # as far as it has been searched

    def end(self, at: int) -> int | None:
        """End of the image that starts here, if any."""
        if self._text[at] in "dD" and (url := _URL.match(self._text, at)):
            return self._end_of_url(url)
        is_xml = self._text.startswith(_XML, at)
        if not is_xml and not self._may_be_image(at):
            return None
        length = HEAD_OF_XML if is_xml else HEAD
        head = _RUN.match(self._text[at : at + length])
        letters = "".join(head[0].split()) if head else ""
        if len(letters) < LEAST or not self._is_image(_decoded(letters), at):
            return None
        run = _RUN.match(self._text, at)
        assert run is not None
        return self._with_last_line(run)

    def _may_be_image(self, at: int) -> bool:
        """Whether the first characters, without a look at where the letters end, are an image's."""
        first = "".join(self._text[at : at + FIRST].split())
        try:
            return "%" in first or is_image(_decoded(first))
        except ValueError:  # other characters follow
            return True

    def _is_image(self, head: bytes, at: int) -> bool:
        if not is_image(head):
            return False
        if head[:2] == b"\xff\xd8" and not _is_sure_jpeg(head):  # five letters are its only sign
            return at == 0 or not re.match("[A-Za-z0-9+/]", self._text[at - 1])
        return True

    def _with_last_line(self, run: "re.Match[str]") -> int:
        if run[0].endswith("="):
            return run.end()
        last = _LAST_LINE.match(self._text, run.end())
        return last.end() if last else run.end()

    def _end_of_url(self, url: "re.Match[str]") -> int | None:
        at = url.end()
        if url[0][:-1].rstrip().lower().endswith("base64"):
            run = _URL_RUN.match(self._text, at)
            letters = "".join(run[1][:HEAD_OF_XML].split()) if run else ""
            if run and (len(letters) >= LEAST_OF_URL or is_image(_decoded(letters))):
                return self._with_last_line(run)
            return None
        if _DRAWING.match(self._text, at):
            drawn = _DRAWN.search(self._text, at) if self._is_drawn else None
            self._is_drawn = drawn is not None
            return drawn.end() if drawn else self._end_of_word(at)
        word = _WORD.match(self._text[at : at + HEAD_OF_WORD])
        if word is None or len(word[0]) < LEAST:
            return None
        run = _RUN.match(word[0])
        is_packed = run is not None and is_image(_decoded(run[0]))
        return self._end_of_word(at) if is_packed or _PERCENT.search(word[0]) else None

    def _end_of_word(self, at: int) -> int:
        word = _WORD.match(self._text, at)
        return word.end() if word else at


def _unescaped(text: str) -> tuple[str, Callable[[int], int], int]:
    """Decodes JSON's escapes. Returns the text, a function from its positions to the original ones,
    and the number of unchecked characters after `MOST_ESCAPES`."""
    if "\\" not in text:
        return text, int, 0
    parts = _ESCAPE.split(text, MOST_ESCAPES)
    skipped = len(parts.pop()) if len(parts) > 3 * MOST_ESCAPES else 0
    parts += [""] if skipped else []
    between, escaped = parts[::3], parts[1::3]
    parts[1::3] = list(map(_meant, parts[2::3]))
    del parts[2::3]

    @cache
    def ends() -> tuple[list[int], list[int]]:
        """End of each escape in the decoded and in the original text."""
        lengths = list(map(len, between[:-1]))
        lengths_so_far = accumulate(map(add, lengths, repeat(1)), initial=0)
        was = accumulate(map(add, lengths, map(len, escaped)), initial=0)
        return list(lengths_so_far), list(was)

    def place(index: int) -> int:
        ends_meant, was = ends()
        near = bisect_right(ends_meant, index) - 1
        return was[near] + index - ends_meant[near]

    return "".join(parts), place, skipped


@lru_cache(4_096)  # a text has few of them, often
def _meant(escape: str) -> str:
    """Decodes one escape to a character."""
    if escape[0] == "u":
        return chr(int(escape[1:], 16))
    return "/" if escape == "/" else "\n"


def _decoded(letters: str) -> bytes:
    whole = letters.rstrip("=").translate(_STANDARD)
    return b64decode(whole[: len(whole) // 4 * 4]) if "%" not in whole else b""


# --- first bytes ------------------------------------------------------------------------------

_SURE = (b"\x89PNG\r\n\x1a\n", b"GIF87a", b"GIF89a", b"II+\0\x08\0", b"MM\0+\0\x08")
_BRANDS = frozenset(
    b"heic heix heim heis hevc hevx hevm hevs mif1 mif2 msf1 miaf avif avis avio".split()
)
_JPEG_NAMES = (b"JFIF", b"JFXX", b"Exif", b"http", b"ICC_", b"Adob", b"MPF\0", b"Duck", b"Phot")
_DIB_SIZES = frozenset({12, 16, 40, 52, 56, 64, 108, 124})
_BITS = frozenset({1, 2, 4, 8, 16, 24, 32})
_SVG = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml.*?)?<svg[\s>/:]", re.DOTALL | re.IGNORECASE)
_PDF = re.compile(rb"%PDF-\d")


def is_image(head: bytes) -> bool:
    """Whether a file that starts with these bytes is PNG, JPEG, GIF, WebP, BMP, TIFF, HEIC, AVIF,
    SVG or PDF."""
    return (
        head.startswith(_SURE)
        or (head[:3] == b"\xff\xd8\xff" and len(head) > 6 and _is_jpeg(head))
        or (head[:4] == b"RIFF" and head[8:12] == b"WEBP")
        or (head[4:8] == b"ftyp" and head[8:12] in _BRANDS)
        or (head[:4] == b"II*\0" and _number(head, 4, 4) >= 8)
        or (head[:4] == b"MM\0*" and int.from_bytes(head[4:8], "big") >= 8)
        or (head[:2] == b"BM" and _is_bitmap(head))
        or _SVG.match(head) is not None
        or _PDF.match(head) is not None
    )


def _is_jpeg(head: bytes) -> bool:
    """JPEG's three first bytes are four letters, which may start a path, so later bytes count as
    well."""
    return head[3] in (0xE0, 0xE1) or _is_sure_jpeg(head)


def _is_sure_jpeg(head: bytes) -> bool:
    """Whether a segment of a known name, or tables or a comment of a valid size, follows."""
    marker, length = head[3], int.from_bytes(head[4:6], "big")
    return (
        (0xE0 <= marker <= 0xEF and head[6:10] in _JPEG_NAMES)
        or (marker == 0xDB and length in (67, 132, 197, 262))
        or (marker == 0xFE and length < 256)
    )


def _is_bitmap(head: bytes) -> bool:
    """BMP's name has two letters only, so the sizes after it must match."""
    size = _number(head, 14, 4)
    planes = 22 if size == 12 else 26
    return (
        head[6:10] == b"\0\0\0\0"
        and size in _DIB_SIZES
        and _number(head, 10, 4) >= 14 + size
        and _number(head, planes, 2) == 1
        and _number(head, planes + 2, 2) in _BITS
    )


def _number(head: bytes, at: int, size: int) -> int:
    return int.from_bytes(head[at : at + size], "little")
