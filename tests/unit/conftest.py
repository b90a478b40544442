"""What the tests of several rules begin with."""

import pytest

from tests.unit.memory_told import Memory


@pytest.fixture
def user() -> Memory:
    return Memory()
