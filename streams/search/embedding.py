"""The interface of embedding models: a local model (`local_model`) or an endpoint (`endpoint`)."""

import logging
from collections.abc import Sequence
from threading import Lock
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from streams.errors import Unreachable

log = logging.getLogger(__name__)
_last_fault = ""
_logging = Lock()

Vector = NDArray[np.float32]
"""A vector of length 1."""


class NoVectors(Unreachable):
    """Vectors are not available now; the text has the reason."""


def log_fault(fault: str) -> None:
    """Logs why search uses words alone; "": it has vectors again. Every query and thread meets the
    fault: logs changes only."""
    global _last_fault
    with _logging:
        if fault and fault != _last_fault:
            log.warning("search by words alone: %s", fault)
        _last_fault = fault


class Embedder(Protocol):
    """A model, for all threads of a process."""

    batch: int
    """Maximum texts per call."""
    may_download: bool
    """Whether a missing model may be downloaded."""

    @property
    def key(self) -> str:
        """Identifies the vector space: vectors of one key are comparable. Raises NoVectors."""

    @property
    def fault(self) -> str | None:
        """Why vectors are not available at present, or None without a known fault."""

    def begin(self) -> None:
        """Prepares in a separate thread; afterwards no query waits for the preparation."""

    def of_question(self, text: str) -> Vector | None:
        """The vector of a query, or None if it takes too long or the model cannot read the text."""

    def of_texts(self, texts: Sequence[str]) -> list[Vector | None]:
        """The vectors of at most `batch` texts, with None for a text that the model cannot read.
        Raises NoVectors."""
