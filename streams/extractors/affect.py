"""A sentence's feeling as valence, arousal and dominance: `estimate`. Offline, pure, fast.

What is covered, how good it is and where the numbers come from: docs/affect.md.
"""

import math
from typing import NamedTuple

from streams.extractors import affect_english as english


class Estimate(NamedTuple):
    """Each axis in -1..+1 ((x - 3) / 2 of EmoBank's 1..5), 0 neutral; confidence in 0..1.

    Confidence is 2p - 1, with p the chance that people would put the valence on the same side
    of neutral, given how far estimates lie from their ratings.
    """

    valence: float
    arousal: float
    dominance: float
    confidence: float


def estimate(text: str) -> Estimate | None:
    """What a sentence feels like; None where it gives nothing to go by."""
    by = english.model()
    axes = english.axes(text, by)
    if axes is None:
        return None
    v, a, d = (min(1.0, max(-1.0, value)) for value in axes)
    return Estimate(v, a, d, certainty(v, by.error[0]))


def certainty(value: float, error: float) -> float:
    """2p - 1, p the chance that the true value has the sign of this one; normal errors."""
    return math.erf(abs(value) / (error * math.sqrt(2)))
