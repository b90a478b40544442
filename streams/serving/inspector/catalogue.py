"""The texts of the inspector in its three languages, by key (`texts.csv`).

A text may contain `{name}`, which a page fills in. `tests/serving/test_inspector_pages.py` finds
keys without a language, unused keys, and keys without a text.
"""

import csv
from importlib.resources import files
from typing import Any, NamedTuple

from streams.folds.summary import Language


class Text(NamedTuple):
    """One text in each language."""

    en: str
    zh: str
    ja: str


def _read() -> dict[str, Text]:
    lines = (files(__package__) / "texts.csv").read_text("utf-8").splitlines()
    return {row.pop("key"): Text(**row) for row in csv.DictReader(lines, strict=True)}


TEXTS = _read()


class Texts:
    """The texts in one language; templates call it `t`."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def __call__(self, key: str, **values: Any) -> str:
        """A text with its values. Raises KeyError for an unknown key."""
        text: str = getattr(TEXTS[key], self._language)
        return text.format(**values) if values else text

    def or_else(self, key: str, text: str) -> str:
        """A text, or the default for an unknown key."""
        return self(key) if key in TEXTS else text
