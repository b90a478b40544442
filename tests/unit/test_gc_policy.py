"""The garbage collector's settings (streams/gc_policy.py): put back after use, and without effect
on what is written."""

import gc
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from sinks.digest import digest
from streams import gc_policy
from streams.files import file_runner
from tests.command import checked, ndjson, turn


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()


@pytest.mark.parametrize("was_on", [True, False])
def test_a_pause_ends_as_it_began(was_on: bool) -> None:
    (gc.enable if was_on else gc.disable)()
    with pytest.raises(ZeroDivisionError), gc_policy.paused():
        assert not gc.isenabled()
        raise ZeroDivisionError
    assert gc.isenabled() is was_on


def test_a_process_that_serves_resumes_inside() -> None:
    with gc_policy.paused():
        gc_policy.resume()
        assert gc.isenabled()


@pytest.mark.parametrize("name", ["worker", "server"])
def test_a_process_is_set_for_life(name: str) -> None:
    """In a process of its own: what was loaded is frozen, the thresholds are the policy's."""
    program = (
        f"import gc; from streams import gc_policy; gc_policy.set_for_{name}(); "
        f"assert gc.get_threshold() == gc_policy.{name.upper()} != (700, 10, 10); "
        "assert gc.isenabled() and gc.get_freeze_count() > 1000"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@pytest.mark.parametrize("name", ["worker", "server"])
def test_a_process_ends_without_a_word_on_what_was_frozen(name: str) -> None:
    """DuckDB names on stderr what Python has not freed, behind a server's last message."""
    program = f"import duckdb; from streams import gc_policy; gc_policy.set_for_{name}()"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_what_is_written_is_the_same_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [turn(f"e{number}", session_id=f"s{number % 3}") for number in range(50)]
    file = str(ndjson(tmp_path / "records.ndjson", records))
    checked(file_runner.run([file], tmp_path / "paused"))
    monkeypatch.setattr(gc_policy, "paused", nullcontext)
    checked(file_runner.run([file], tmp_path / "plain"))
    assert digest(tmp_path / "paused") == digest(tmp_path / "plain")
