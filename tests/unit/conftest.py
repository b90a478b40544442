"""What the tests of several rules begin with."""

from collections.abc import Iterator

import pytest

from tests.unit import memory_told, session_told
from tests.unit.memory_told import Memory


@pytest.fixture
def user() -> Memory:
    return Memory()


@pytest.fixture(autouse=True)
def reference(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each memory that a test makes is at the end what the reference makes of its records."""
    memory_told.beside.clear()
    session_told.beside.clear()
    yield
    if not request.node.get_closest_marker("beyond_reference"):
        faults = [one.faults() for one in memory_told.beside]
        faults += [one.faults() for one in session_told.beside]
        assert sum(map(len, faults)) == 0, faults
