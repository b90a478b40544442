"""`turnfold admin doctor`, and every command, name the file that is damaged and say what to do."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from sinks.power_loss import note_flushed
from streams import cli
from streams.doctor.tables import rows
from streams.kafka.transport.disk_rows import DiskRows
from streams.kafka.transport.marker import Marker, TablePosition
from streams.pipeline.row_formats import ROW_FORMAT
from tests.command import turnfold
from tests.contract.doctor import found, obeying

NOON = "2026-03-20T12:00:00Z"


@pytest.fixture
def history(searched: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(searched, tmp_path / "history"))


def lost(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    os.truncate(file, 100)


def overwritten_at_its_end(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-200] + bytes(196) + b"PAR1")


def overwritten_at_its_start(file: Path) -> None:
    file.write_bytes(bytes(100) + file.read_bytes()[100:])


DAMAGES = (lost, cut, overwritten_at_its_end, overwritten_at_its_start)


ANSWERS = (
    ("sql", "SELECT count(user_input) FROM events"), ("show", "timeline", "emma-move"),
    ("why", "emma-home"), ("export", "emma"), ("forget", "emma", "--yes"),
    ("context", "emma-move"), ("admin", "digest",), ("admin", "catalog", "views.db"),
)  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_data_file_is_named(
    damage: Callable[[Path], None], history: Path, tmp_path: Path
) -> None:
    file = sorted(history.glob("events/date=*/*.parquet"))[1]
    damage(file)
    (one,) = found(tmp_path, "--history", history)["tables"]
    assert one["status"] == "wrong"
    assert str(file) in one["found"]
    assert "backup" in one["do"]


def test_a_data_file_that_this_account_may_not_read_is_named(history: Path) -> None:
    """Also a log, a folder, a small file: nobody is told to restore them."""
    file = next(history.glob("events/date=*/*.parquet"))
    (history / "_extractor.json").write_text("{}")
    kept = (file, history / "_extractor.json", history / "_store", history / "tasks" / "_delta_log")
    for one in kept:
        one.chmod(0)
    done = obeying("--history", history, "-o", "json")
    for one in kept:
        one.chmod(0o700)
    assert done.code == 2
    bad = [one for one in done.json()["findings"] if one["status"] == "wrong"]
    for one in kept:
        assert any(str(one) in said["found"] for said in bad), one
    assert all("Permission denied" in one["found"] for one in bad)
    assert all("give this account permission" in one["do"] for one in bad)


def test_a_log_that_is_lost_is_not_taken_for_an_empty_table(history: Path, tmp_path: Path) -> None:
    for file in (history / "events" / "_delta_log").iterdir():
        file.unlink()
    (one,) = found(tmp_path, "--history", history)["tables"]
    assert one["status"] == "wrong"
    assert "and no log" in one["found"]


def test_a_cut_log_is_told_in_one_line(history: Path, tmp_path: Path) -> None:
    with_cut_log(history)
    (one,) = found(tmp_path, "--history", history)["tables"]
    assert one["status"] == "wrong"
    assert "\n" not in one["found"]


def test_a_log_without_its_newest_entry_is_told(history: Path, tmp_path: Path) -> None:
    note_flushed(history, {"events": 99})
    (one,) = found(tmp_path, "--history", history)["tables"]
    assert one["status"] == "wrong"
    assert "its log ends at version" in one["found"]


@pytest.mark.parametrize(
    "name",
    ["_extractor.json", "_sink.json", "_forgotten.json", "_forgetting.json", "_erased/u/1.json"],
)
def test_a_small_file_that_cannot_be_read_is_named(
    name: str, history: Path, tmp_path: Path
) -> None:
    (history / name).parent.mkdir(parents=True, exist_ok=True)
    (history / name).write_text("{")
    (one,) = found(tmp_path, "--history", history)["files"]
    assert one["status"] == "wrong"
    assert str(history / name) in one["found"]


def test_answers_from_damaged_files_are_one_line_with_the_file(
    history: Path, tmp_path: Path
) -> None:
    """Also where DuckDB does not name the file."""
    file = sorted(history.glob("events/date=*/*.parquet"))[0]
    given = file.read_bytes()
    for damage in (lost, cut, overwritten_at_its_end):
        file.write_bytes(given)
        damage(file)
        for command in ANSWERS:
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(tmp_path)
                patch.setattr(cli, "keep_files_private", lambda: None)
                done = CliRunner().invoke(cli.app, [*command, "--history", str(history)])
            assert done.exit_code == 3, (damage, command, done)
            (line,) = done.stderr.splitlines()
            assert str(file) in line
            assert f"`turnfold admin doctor --history {history}`" in line


def test_content_that_cannot_be_read_is_named_by_a_full_check(
    history: Path, tmp_path: Path
) -> None:
    """The footer is whole, so the query's error does not name the file."""
    file = sorted(history.glob("events/date=*/*.parquet"))[1]
    given = file.read_bytes()
    flipped = bytes(one ^ 0x5A for one in given[4 : len(given) // 3])
    file.write_bytes(given[:4] + flipped + given[len(given) // 3 :])
    done = turnfold("sql", "SELECT * FROM events", "--history", history, cwd=tmp_path)
    assert done.code == 3
    (line,) = done.err.splitlines()
    assert "the content of a data file cannot be read" in line
    assert "`turnfold admin doctor --full`" in line
    (one,) = found(tmp_path, "--full", "--history", history)["tables"]
    assert one["status"] == "wrong"
    assert str(file) in one["found"]


def without_log(history: Path) -> None:
    for file in (history / "events" / "_delta_log").iterdir():
        file.unlink()


def without_table(history: Path) -> None:
    shutil.rmtree(history / "events")


def with_cut_log(history: Path) -> None:
    for file in (history / "events" / "_delta_log").iterdir():
        os.truncate(file, 50)


def without_store(history: Path) -> None:
    shutil.rmtree(history / "_store")


@pytest.mark.parametrize("damage", [without_log, without_table, with_cut_log, without_store])
def test_a_lost_log_table_or_store_ends_a_run(
    damage: Callable[[Path], None], history: Path, tmp_path: Path
) -> None:
    """Otherwise the run would create the table again, without its rows."""
    damage(history)
    record = {"type": "turn", "event_id": "new", "session_id": "emma-move", "user_input": "Hi"}
    (tmp_path / "new.ndjson").write_text(json.dumps({**record, "occurred_at": NOON}) + "\n")
    done = turnfold("run", "new.ndjson", "--history", history, cwd=tmp_path)
    assert done.code == 3
    assert "events" in done.err or "_store" in done.err
    report = found(tmp_path, "--history", history)
    assert "wrong" in {one["status"] for some in report.values() for one in some}


def test_rows_of_a_server_can_be_continued_and_have_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also while it runs; what it is about to remove does not count."""

    def statuses() -> dict[str, str]:
        return {one.check: one.status for one in rows(tmp_path)}

    assert statuses() == {"server rows": "ok"}
    gone, lane = (DiskRows(tmp_path / name / "changelog-0") for name in (".gone-1", "turnfold+4"))
    for one in (gone, lane):
        one.open()
        one.commit(TablePosition(1, marker=Marker({}, {}, "log", 1), marker_at=0))
    gone.close()
    (gone.folder / "CURRENT").write_text("noise")
    assert statuses() == {"server rows": "ok"}
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
    assert statuses() == {"server rows": "ok", "room for server rows": "warning"}
    monkeypatch.setattr("streams.doctor.tables.ROW_FORMAT", ROW_FORMAT - 1)
    assert statuses()["server rows"] == "warning"
    lane.close()
