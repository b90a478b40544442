"""Tables of patterns: one file a language, `tables/*.txt`, in one schema (docs/extractors.md).

A file has sections. `[words]` names parts of patterns, `[guards]` what is not the user's own
statement, `[rewrites]` and `[literals]` how a clause is brought to one wording, `[takes]` what a
slot accepts, `[rules]` what is kept. A line that begins with a space continues the line before it:
in `[rules]` it is joined as it is, elsewhere it is one more alternative.
"""

import re
from importlib.resources import files
from typing import NamedTuple

from streams.extractors.rule import KINDS, Rule

_APOSTROPHE = re.compile(r"(?<=[a-z])'(?=(?:m|ve|t)\b)")
"""Of an English contraction; many people leave it out."""
PREFIXES = {"~": "cues", "/": "patterns", "+": "takes", "-": "leaves"}


class Table(NamedTuple):
    """A file: name -> pattern by section, and the rules in their order."""

    words: dict[str, str]
    guards: dict[str, str]
    rewrites: list[tuple[str, str]]
    literals: dict[str, str]
    takes: dict[str, str]
    rules: tuple[Rule, ...]


def load(code: str) -> Table:
    """The table of a language. Raises ValueError with file and line where it breaks the schema."""
    name = f"{code}.txt"
    return parsed(files("streams.extractors").joinpath("tables", name).read_text("utf-8"), name)


def parsed(text: str, name: str) -> Table:
    """The table that a text holds."""
    sections: dict[str, list[tuple[int, str]]] = {}
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            lines = sections.setdefault(line.strip(" []"), [])
        elif line[0] == " " and lines:
            joint = "|" if lines is not sections.get("rules") else ""
            lines[-1] = (lines[-1][0], lines[-1][1] + joint + line.strip())
        else:
            lines.append((number, line))
    named = {
        section: {
            key: _APOSTROPHE.sub("'?", pattern)
            for key, pattern in (_pair(line, name, " = ") for line in sections.get(section, []))
        }
        for section in ("words", "guards", "takes")
    }
    rewrites = [
        (_APOSTROPHE.sub("'?", pattern), written)
        for pattern, written in (_pair(line, name, " => ") for line in sections.get("rewrites", []))
    ]
    literals = {
        words: written.strip()
        for listed, written in (_pair(line, name, " => ") for line in sections.get("literals", []))
        for words in _spellings(listed)
    }
    rules = tuple(_rules(sections.get("rules", []), name))
    return Table(named["words"], named["guards"], rewrites, literals, named["takes"], rules)


def _pair(line: tuple[int, str], name: str, mark: str) -> tuple[str, str]:
    number, text = line
    key, is_pair, value = f"{text} ".partition(mark)
    if not is_pair:
        raise ValueError(f"{name}:{number}: expected 'name{mark}pattern'")
    value = value.removesuffix(" ")
    return key.strip(), value if mark == " => " else value.lstrip("|")


def _rules(lines: list[tuple[int, str]], name: str) -> list[Rule]:
    rules: list[Rule] = []
    parts: dict[str, list[str]] = {}
    head: tuple[int, str] | None = None
    for number, line in [*lines, (0, "end")]:
        part = PREFIXES.get(line[0]) if line[1:2] == " " else None
        if part:
            parts.setdefault(part, []).append(line[2:])
            continue
        if head is not None:
            rules.append(_rule(head, parts, name))
        head, parts = (number, line), {}
    return rules


def _rule(head: tuple[int, str], parts: dict[str, list[str]], name: str) -> Rule:
    number, line = head
    kind, *options = line.split(" | ")
    fields = dict(option.split("=", 1) for option in options)
    ends = tuple(filter(None, fields.pop("ends", "").split("|")))
    if kind not in KINDS or missing(parts):
        raise ValueError(f"{name}:{number}: unknown kind or no {missing(parts) or kind!r}")
    example, _, finds = parts["takes"][0].partition(" >> ")
    try:
        return Rule(
            kind=kind,
            cues="|".join(_spellings("|".join(parts["cues"]))),
            pattern=_APOSTROPHE.sub("'?", f"(?:{'|'.join(parts['patterns'])})"),
            example=example,
            finds=finds,
            examples=tuple(parts["takes"]),
            leaves=tuple(parts.get("leaves", ())),
            ends=ends,
            **fields,
        )
    except TypeError as error:
        raise ValueError(f"{name}:{number}: {error}") from None


def _spellings(listed: str) -> list[str]:
    """Texts with `|` between them, also without the apostrophes of contractions."""
    return list(dict.fromkeys((listed + "|" + _APOSTROPHE.sub("", listed)).split("|")))


def missing(parts: dict[str, list[str]]) -> str:
    """The part that a rule lacks; "" where it has all. What it must not take may be left out."""
    return next((part for part in ("cues", "patterns", "takes") if part not in parts), "")
