"""Patterns as they are written, and as they are compiled: in linear time whatever the text."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import count
from typing import Any

_SIGN = re.compile(r"[\\()\[\]?+*.<>{}^$]")
_WORD = re.compile(r"(?<!P)<([a-z]+)\d*>")
_GROUP = re.compile(r"\(\?P<([a-z]+)\d*>")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(|\)(?:[*+{])?", re.DOTALL)


class Late:
    """A pattern that is compiled when it is first tried: most processes try few of the rules'."""

    search: Callable[..., "re.Match[str] | None"]
    match: Callable[..., "re.Match[str] | None"]
    fullmatch: Callable[..., "re.Match[str] | None"]
    finditer: Callable[..., "Iterator[re.Match[str]]"]
    sub: Callable[..., str]

    def __init__(self, pattern: str, words: dict[str, str]) -> None:
        self._pattern, self._words = pattern, words

    def __getattr__(self, name: str) -> Any:
        if name not in Late.__annotations__:
            raise AttributeError(name)
        compiled = re.compile(spelled(self._pattern, self._words))
        # its methods become attributes: a later call costs what one of the pattern does
        vars(self).update((method, getattr(compiled, method)) for method in Late.__annotations__)
        return vars(self)[name]


def either(texts: Iterable[str]) -> str:
    """A pattern of the longest of some texts that stands at a place, written as a trie: a search
    through it takes as long for hundreds as for a few."""
    branches: dict[str, list[str]] = {}
    for text in texts:
        branches.setdefault(text[:1], []).append(text[1:])
    ends = branches.pop("", None) is not None
    if not branches:
        return ""
    parts = [re.escape(first) + either(rest) for first, rest in sorted(branches.items())]
    return f"(?:{'|'.join(parts)}){'?' if ends else ''}"


def words(listed: str) -> str:
    """A pattern of any of some texts, with ", " between them."""
    return either(listed.split(", "))


def spelled(pattern: str, words: dict[str, str]) -> str:
    """The pattern with its `<words>` written out, and groups numbered so that no two are alike."""
    while (written := _WORD.sub(lambda match: _as_trie(words[match[1]]), pattern)) != pattern:
        pattern = written
    numbers = count(1)
    return loops_atomic(_GROUP.sub(lambda match: f"(?P<{match[1]}{next(numbers)}>", pattern))


@cache
def _as_trie(listed: str) -> str:
    """A list of at least eight texts as a trie; other patterns as they are."""
    texts = listed.split("|")
    return listed if len(texts) < 8 or _SIGN.search(listed) else either(texts)


def loops_atomic(pattern: str) -> str:
    """The pattern with each repeated group atomic: what a turn of a loop took is given back as a
    whole. Words that others are made of would else be tried in all ways, 2^n of n repeats. So the
    longer one comes first, and no turn may be empty: the loop would end with it."""
    signs = list(pattern)
    open_groups: list[int] = []
    for match in _TOKEN.finditer(pattern):
        if match[0] == "(":
            open_groups.append(match.start())
        elif match[0][0] == ")":
            start = open_groups.pop()
            if len(match[0]) > 1 and pattern.startswith("(?:", start):
                signs[start + 2] = ">"
    return "".join(signs)
