"""Which parameters of a test every change runs, and which are left to `pytest -m soak`."""

from collections.abc import Iterable
from typing import Any

import pytest


def soaked(values: Iterable[Any], shown: int) -> list[Any]:
    """The first ones as they are: they show the law. The others look longer for what breaks it."""
    every = list(values)
    return [*every[:shown], *(pytest.param(one, marks=pytest.mark.soak) for one in every[shown:])]
