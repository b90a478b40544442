"""Where the real data lies, outside of the project; a clone without it skips and says so."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def shared(*parts: str) -> Path:
    """A path below ../shared of the project's root.

    Without it the test that asks is skipped; with CI=true that is a failure.
    """
    path = ROOT.parent.joinpath("shared", *parts)
    if not path.exists():
        reason = f"needs the shared data: {'/'.join(parts)} is not beside the project"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return path
