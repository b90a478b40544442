"""A history that grows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from streams.files import file_runner
from tests.command import checked


@pytest.fixture
def growing(sgd_run: Path, tmp_path: Path) -> Callable[..., None]:
    """A function that folds so many more turns of SGD into `history`, `each` a run or all."""
    lines = (sgd_run / "records.ndjson").read_bytes().splitlines(True)
    file = tmp_path / "turns.ndjson"
    read = 0

    def more(count: int, each: int | None = None) -> None:
        nonlocal read
        end = read + count
        while read < end:
            some = lines[read : min(read + (each or count), end)]
            with file.open("ab") as out:
                out.writelines(some)
            read += len(some)
            counts = checked(file_runner.run([str(file)], tmp_path / "history"))
            assert counts["read"] == counts["applied"] == len(some)

    return more
