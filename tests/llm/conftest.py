"""Endpoints, and histories to extract from."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from streams.files import file_runner
from tests.command import checked, ndjson
from tests.llm.endpoint import Behaviour, Endpoint, model


@pytest.fixture
def endpoint() -> Iterator[Callable[..., Endpoint]]:
    """Starts endpoints that end with the test."""
    with ExitStack() as stack:

        def start(behave: Behaviour = model) -> Endpoint:
            return stack.enter_context(Endpoint(behave))

        yield start


@pytest.fixture
def folded(tmp_path: Path) -> Callable[[list[dict[str, Any]]], Path]:
    """A history of records."""

    def fold(records: list[dict[str, Any]]) -> Path:
        file = ndjson(tmp_path / f"{len(list(tmp_path.iterdir()))}.ndjson", records)
        checked(file_runner.run([str(file)], tmp_path / "history"))
        return tmp_path / "history"

    return fold
