"""Where the real data is, outside of the project; a clone without it skips what needs it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


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
