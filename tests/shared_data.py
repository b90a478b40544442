"""Where the real data is, outside of the project; a clone without it skips what needs it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


SGD = ("data", "sgd", "train_part.jsonl.gz")
FETCHED = ROOT / "benchmarks" / "data" / "sgd" / "train_part.jsonl.gz"


def dialogues() -> Path | None:
    """SGD's file for programs: beside the project, or fetched by `benchmarks.fetch`."""
    return next(filter(Path.exists, (ROOT.parent.joinpath("shared", *SGD), FETCHED)), None)


def shared(*parts: str) -> Path:
    """A path below ../shared of the project's root.

    Where there is no such folder, the test that calls this is skipped. Where there is one, it has
    all data: a path that is missing fails the test.
    """
    folder = ROOT.parent / "shared"
    if not folder.exists():
        pytest.skip("needs real data: the folder shared is not beside the project")
    path = folder.joinpath(*parts)
    if not path.exists():
        pytest.fail(f"the folder shared beside the project lacks {'/'.join(parts)}")
    return path
