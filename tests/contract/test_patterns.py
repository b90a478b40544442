"""Patterns mean the same in each Python that is promised.

Before 3.11.5 a possessive group that holds anything to go back to matches less than it should
(CPython gh-106052). Possessive repeats of one character are right in all.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
POSSESSIVE_GROUP = re.compile(r"(?<![\\(])\)(?:[*+?]|\{{1,2}\d*,?\d*\}{1,2})\+|\(\?>")


@pytest.mark.parametrize("package", ["schemas", "streams", "sinks"])
def test_no_group_is_possessive(package: str) -> None:
    sources = {file: file.read_text("utf-8") for file in (ROOT / package).rglob("*.py")}
    assert sources
    assert [str(file) for file, text in sources.items() if POSSESSIVE_GROUP.search(text)] == []


@pytest.mark.parametrize("pattern", ["(?:a|b)*+", "(a)++", "(?:a){2,}+", r"(?:a){{0,8}}+", "(?>a)"])
def test_a_possessive_group_is_found(pattern: str) -> None:
    assert POSSESSIVE_GROUP.search(pattern)
