"""One text of the catalogue."""

from typing import NamedTuple


class Text(NamedTuple):
    """It in each language."""

    en: str
    zh: str
    ja: str
