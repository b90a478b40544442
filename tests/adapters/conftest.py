"""A server of its own for each module, through the client that adapters use."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest

from turnfold_client import Turnfold


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Turnfold]:
    with Turnfold.local(tmp_path_factory.mktemp("memory") / "memory") as client:
        yield client


@pytest.fixture(scope="module")
def fresh() -> Callable[[], str]:
    """Makes names that no other test uses."""
    numbers = count(1)
    return lambda: f"name-{next(numbers)}"
