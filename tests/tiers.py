"""Which parameters of a test every change runs, and which are left to `pytest -m soak`."""

from collections.abc import Callable, Iterable
from functools import WRAPPER_ASSIGNMENTS
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy


def soaked(values: Iterable[Any], shown: int) -> list[Any]:
    """The first ones unmarked; the others, marked `soak`, search longer for a counterexample."""
    every = list(values)
    return [*every[:shown], *(pytest.param(one, marks=pytest.mark.soak) for one in every[shown:])]


def examples(
    shown: int, every: int, *strategies: SearchStrategy[Any], under: settings
) -> Callable[[Callable[..., None]], Callable[[int], None]]:
    """`@given` with fewer examples in each run than in `pytest -m soak`."""

    def decorate(property_test: Callable[..., None]) -> Callable[[int], None]:
        @pytest.mark.parametrize("examples", soaked([shown, every], 1))
        def test(examples: int) -> None:
            settings(under, max_examples=examples)(given(*strategies)(property_test))()

        for name in set(WRAPPER_ASSIGNMENTS) - {"__annotations__"}:  # pytest reads `examples`
            setattr(test, name, getattr(property_test, name))
        return test

    return decorate
