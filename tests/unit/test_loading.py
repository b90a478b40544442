"""What loads what: the parts below know nothing of the server above them."""

import subprocess
import sys

import pytest

from tests.command import environment


@pytest.mark.parametrize("module", ["streams.apps.maintenance", "streams.apps.metrics_port"])
def test_what_serves_is_not_loaded_by_what_it_stands_on(module: str) -> None:
    """Nor the search, which opens SQLite."""
    code = f"import {module}, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment()
    )
    unwanted = ("streams.serving", "streams.search", "sqlite3", "fastapi")
    loaded = done.stdout.split()
    assert module in loaded
    assert not [name for name in loaded if name.startswith(unwanted)]
