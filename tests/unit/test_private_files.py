"""What is said lies in files that their owner alone can read."""

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sinks import locations, scratch
from tests.command import environment, ndjson, turn, turnfold
from tests.planned import CONVERSATIONS
from tests.serving.serving import serving
from tests.waiting import WITHIN

OPEN: dict[str, Any] = {"umask": 0o000}
"""As careless as an account can be."""


def others_may(folder: Path) -> Iterator[str]:
    """What somebody else could read, write or enter."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink() and (mode := stat.S_IMODE(path.stat().st_mode)) & 0o077:
            yield f"{path.relative_to(folder)}: {mode:o}"


def done(*args: str | Path, **options: Any) -> None:
    ended = turnfold(*args, **(OPEN | options))
    assert ended.code == 0, ended.err


@pytest.mark.nightly
def test_a_whole_history_is_its_owners_alone(tmp_path: Path) -> None:
    """After each command that writes one: run, serve, compact, backfill, promote, forget."""
    history = tmp_path / "history"
    bad = tmp_path / "bad.ndjson"
    bad.write_text('{"type": "nothing"}\n')
    done("run", CONVERSATIONS, bad, "--history", history, "--extractor", "rules")
    before = os.umask(0)
    try:
        with serving("--history", history) as server:
            assert server.endings([turn("posted", session_id="s", user_id="ann")]) == ["applied"]
            server.until("/v1/search?q=flat", 200)
            assert list(others_may(history)) == []
        with serving("--history", history) as server:
            server.endings([turn("killed", session_id="s", user_id="ann")])
            server.process.send_signal(signal.SIGKILL)
            server.process.wait(WITHIN)
    finally:
        os.umask(before)
    assert list(others_may(history)) == []
    done("admin", "compact", "--history", history)
    done("generation", "create", "--history", history, "plain", "--extractor", "none")
    assert list(others_may(history)) == []
    done("generation", "promote", "plain", "--history", history)
    done("run", ndjson(tmp_path / "more.ndjson", [turn("more")]), "--history", history)
    done("generation", "rollback", "--history", history)
    done("forget", "ann", "--history", history, "--yes")
    assert list(others_may(history)) == []


def test_keys_are_their_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    done("admin", "keys", "add", "--keys", file, "--tenant", "acme", "--role", "read")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_another_account_may_read_where_that_is_set(tmp_path: Path) -> None:
    history = tmp_path / "history"
    done("run", CONVERSATIONS, "--history", history, env=environment(TURNFOLD_UMASK="027"))
    assert stat.S_IMODE(history.stat().st_mode) == 0o750
    marker = history / "turnfold.json"
    assert stat.S_IMODE(marker.stat().st_mode) == 0o640


@pytest.mark.parametrize("umask", ["x", "0777", "-1", "88", "700"])
def test_what_is_no_umask_is_a_wrong_setting(tmp_path: Path, umask: str) -> None:
    ended = turnfold(
        "admin", "digest", "--history", tmp_path, env=environment(TURNFOLD_UMASK=umask)
    )
    assert ended.code == 3
    assert "TURNFOLD_UMASK" in ended.err


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's folder of temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_a_folder_goes_at_its_end_also_after_an_error(temporary: Path) -> None:
    with pytest.raises(KeyError), scratch.scratch() as folder:
        (folder / "rows").touch()
        raise KeyError
    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_left_goes_and_nothing_else(temporary: Path) -> None:
    left = temporary / f"{scratch.PREFIX}left"
    (left / "deep").mkdir(parents=True)
    (left / "deep" / "rows").touch()
    other = temporary / "turnfold-broker-ab12"
    other.mkdir()
    (other / "rows").touch()
    just_made = temporary / f"{scratch.PREFIX}made"
    just_made.mkdir()
    with scratch.scratch() as busy:
        (busy / "rows").touch()
        scratch.clear_left()
        assert {*temporary.iterdir()} == {other, just_made, busy}
        assert (busy / "rows").exists()


def test_a_file_that_is_cleared_while_it_is_replaced_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`forget` cannot tell it from what a killed process left."""
    waiting = list[str]()

    def cleared(handle: int) -> None:
        waiting.extend(one.name for one in tmp_path.iterdir())
        if len(waiting) == 1:
            locations.clear_left(tmp_path)

    monkeypatch.setattr("os.fsync", cleared)
    locations.replace(tmp_path / "a.json", "text")
    assert len({one for one in waiting if one.startswith(".a.json-")}) == 2
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "text"
    with pytest.raises(FileNotFoundError):
        locations.replace(tmp_path / "none" / "a.json", "")
