"""A module named like one of the server's."""

from dataclasses import dataclass


@dataclass
class Turn:
    """A turn of the app."""

    text: str
