"""A history of files is copied, restored elsewhere, and continued there (docs/recovery.md)."""

import shutil
import threading
from pathlib import Path

import pytest

from sinks.digest import digest
from tests.backing_up import copied, restored
from tests.command import folded, ndjson, turn
from tests.serving.serving import serving

PEOPLE = 40


def said(batch: int) -> list[dict[str, object]]:
    """A turn of each of several people."""
    return [
        turn(f"{batch}-{number}", session_id=f"s{number}", user_id=f"u{number}")
        for number in range(PEOPLE)
    ]


@pytest.mark.component
def test_a_copy_of_a_run_s_history_is_continued_by_run(tmp_path: Path) -> None:
    history, records = tmp_path / "history", tmp_path / "records.ndjson"
    folded(ndjson(records, said(0)), history=history)
    shutil.copytree(history, tmp_path / "backup")
    ndjson(records, [*said(0), *said(1)])
    assert folded(records, history=history)["applied"] == PEOPLE
    elsewhere = restored(tmp_path / "backup", tmp_path / "elsewhere")
    assert digest(elsewhere) != digest(history)
    assert folded(records, history=elsewhere)["applied"] == PEOPLE
    assert digest(elsewhere) == digest(history)


@pytest.mark.nightly
@pytest.mark.needs("rsync")
def test_a_copy_made_while_a_server_writes_is_continued_by_a_server(tmp_path: Path) -> None:
    history, backup = tmp_path / "history", tmp_path / "backup"
    posted = 0
    stop = threading.Event()
    with serving("--history", history, "--extractor", "rules") as server:

        def post() -> None:
            nonlocal posted
            while not stop.is_set():
                assert server.post(said(posted)).json()["counts"] == {"applied": PEOPLE}
                posted += 1

        writing = threading.Thread(target=post)
        writing.start()
        try:
            before, during = 0, 0
            while before in (0, during):
                assert writing.is_alive()
                before = posted
                copied(history, backup, writing=True)
                during = posted
        finally:
            stop.set()
            writing.join()
    assert 0 < before < during, "it was written while it was copied"
    copied(history, backup, writing=False)
    at_backup = digest(history)
    elsewhere = restored(backup, tmp_path / "elsewhere")
    assert digest(elsewhere) == at_backup
    for folder in (history, elsewhere):
        with serving("--history", folder) as server:
            assert server.post([*said(0), *said(posted)]).status_code == 200
    assert digest(elsewhere) == digest(history) != at_backup
