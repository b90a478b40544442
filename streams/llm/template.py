"""The instructions of the prompt: a template with named parts, built-in or custom, with a
version."""

import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path

from streams.configuration import nearest

VERSION = "3"
"""Version of the built-in template, its parts and the answer's schema. A new version extracts all
turns again (a test compares texts and schema with it)."""
CATEGORIES = {
    "identity": "name, pronouns, age, birthday, origin, languages",
    "home": "where the user lives, with whom, pets",
    "people": "family, partner, friends, colleagues, and what the user says about them",
    "work": "job, employer, studies, skills, long projects",
    "health": "illness, medicine, disability, pregnancy",
    "allergy": "what the user must not eat or touch",
    "diet": "what the user does not eat, by choice or belief",
    "constraint": "what every answer has to respect: limits, standing instructions, refusals",
    "interest": "hobbies, sports, arts, collections",
    "decision": "what the user has decided, and for which reason",
}
"""Categories of states with descriptions. Context packs show health, allergy, diet and constraint
in the section of constraints."""
PARTS = ("input", "evidence", "categories", "answer")
LARGEST = 100_000
"""Bytes of a template."""

_PART = re.compile(r"\{\{(?:[ \t]*([^{}\n]*?)[ \t]*\}\})?")


def instructions(template: str, categories: Mapping[str, str]) -> str:
    """Returns the system message: the template with its parts filled in."""
    return _PART.sub(lambda part: _text(part[1], categories), template)


def version(template: str, categories: Mapping[str, str]) -> str:
    """VERSION; for a custom template or categories with a short hash of the instructions."""
    if template == ours() and categories == CATEGORIES:
        return VERSION
    return f"{VERSION}-{sha256(instructions(template, categories).encode()).hexdigest()[:8]}"


def read(file: Path | None, has_categories: bool) -> str:
    """Reads a template; the built-in one without a file. `has_categories`: custom categories are
    set.

    Raises ValueError, with the line, for an invalid template.
    """
    if file is None:
        return ours()
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{file}: line {line}: not UTF-8") from None
    if len(content) > LARGEST:
        raise ValueError(f"{file}: larger than {LARGEST} bytes")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise ValueError(f"{file}: empty; expected a prompt with parts such as {{{{input}}}}")
    _check(file, text, has_categories)
    return text


def _check(file: Path, text: str, has_categories: bool) -> None:
    for part in _PART.finditer(text):
        where = f"{file}: line {text.count(chr(10), 0, part.start()) + 1}"
        if part[1] is None:
            raise ValueError(f"{where}: {{{{ without }}}}")
        if part[1] not in PARTS:
            close = nearest(part[1], PARTS)
            hint = f" (did you mean {{{{{close}}}}}?)" if close else ""
            raise ValueError(
                f"{where}: there is no part {{{{{part[1]}}}}}{hint}; parts: {', '.join(PARTS)}"
            )
    if has_categories and "categories" not in _PART.findall(text):
        raise ValueError(f"{file}: categories are set, and it has no part {{{{categories}}}}")


def ours() -> str:
    """The built-in template."""
    return _file("prompt")


@cache
def _file(name: str) -> str:
    return (files(__package__) / "prompts" / f"{name}.txt").read_text("utf-8")


def _text(part: str, categories: Mapping[str, str]) -> str:
    if part == "categories":
        return "\n".join(f"- `{name}`: {about}" for name, about in categories.items())
    return _file(part).rstrip("\n")
