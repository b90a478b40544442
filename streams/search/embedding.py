"""The port of what makes vectors of texts, which has two forms: a model on this machine
(`local_model`), and an endpoint (`endpoint`)."""

import logging
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from streams.errors import Unreachable

log = logging.getLogger(__name__)
_told = ""

Vector = NDArray[np.float32]
"""Of length 1."""


class NoVectors(Unreachable):
    """No vectors are made now; its text says why."""


def tell(fault: str) -> None:
    """Logs why words alone count, once for each reason in a row: every question meets it."""
    global _told
    if fault != _told:
        _told = fault
        log.warning("words alone count: %s", fault)


class Embedder(Protocol):
    """A model, for all threads of a process."""

    batch: int
    """Texts to give at a time."""
    may_download: bool
    """Whether a model that is not on this machine is fetched."""

    @property
    def key(self) -> str:
        """Vectors of the same key are comparable. Raises NoVectors."""

    @property
    def fault(self) -> str | None:
        """Why no vectors are made at present; None: they are, as far as is known."""

    def begin(self) -> None:
        """Prepares in a thread of its own. From then on no question waits for that."""

    def of_question(self, text: str) -> Vector | None:
        """The vector of a question; None where there is none in time, or the model cannot read
        it."""

    def of_texts(self, texts: Sequence[str]) -> list[Vector | None]:
        """The vectors of at most `batch` texts; None of one that the model cannot read. Raises
        NoVectors."""
