"""The texts of the inspector in its three languages, by key.

A text may contain `{name}`, which a page fills in. `tests/serving/test_inspector_pages.py` finds
keys without a language, unused keys, and keys without a text.
"""

from typing import Any

from streams.folds.summary import Language
from streams.serving.inspector.catalogue_acts import ACTS
from streams.serving.inspector.catalogue_memory import MEMORY
from streams.serving.inspector.catalogue_pipeline import PIPELINE
from streams.serving.inspector.catalogue_start import START
from streams.serving.inspector.catalogue_tour import TOUR
from streams.serving.inspector.text import Text

TEXTS: dict[str, Text] = START | MEMORY | ACTS | PIPELINE | TOUR


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
