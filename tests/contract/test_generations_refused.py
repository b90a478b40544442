"""What `backfill`, `diff`, `promote`, `rollback` and `generations` refuse, in one line."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.command import Done, answer, refused, snapshot, turnfold

pytestmark = pytest.mark.nightly


@pytest.fixture
def history(again: Path, tmp_path: Path) -> Path:
    """A copy of it to write into."""
    return Path(shutil.copytree(again, tmp_path / "history"))


def digest(history: Path, generation: str | None = None) -> Any:
    asked = ["--generation", generation] if generation else []
    return answer("admin", "digest", "--history", history, *asked)


@pytest.mark.parametrize("name", ["a/b", "..", "", "live", "root", "previous", "-x", "x" * 65])
def test_a_name_that_is_none_is_refused(again: Path, name: str) -> None:
    before = snapshot(again)
    assert refused("generation", "create", "--history", again, "--", name)
    assert snapshot(again) == before


@pytest.mark.parametrize(
    "words",
    [
        ("generation", "promote", "nobody"),
        ("generation", "drop", "--yes", "nobody"),
        ("admin", "digest", "--generation", "nobody"),
        ("generation", "diff", "live", "nobody"),
        ("generation", "rollback"),
        ("generation", "drop", "--yes", "root"),
    ],
)
def test_what_is_not_there_is_refused(again: Path, words: tuple[str, ...]) -> None:
    before = snapshot(again)
    said = refused(*words, "--history", again)
    assert "nobody" in said or "root" in said
    assert snapshot(again) == before


def test_other_settings_are_refused(history: Path) -> None:
    said = refused("generation", "create", "--history", history, "again", "--extractor", "none")
    assert 'extractor: now "none", before not given' in said


def test_days_in_the_wrong_order_are_refused(again: Path) -> None:
    words = ("x", "--from", "2026-02-01", "--to", "2026-01-01")
    assert "is after" in refused("generation", "create", "--history", again, *words, code=2)


def test_a_date_that_is_none_is_refused(again: Path) -> None:
    done = turnfold("generation", "create", "--history", again, "x", "--from", "2026-02-30")
    assert done.code == 2 and "2026-02-30" in done.err


def test_the_live_generation_is_not_made_again_nor_dropped(history: Path) -> None:
    answer("generation", "promote", "again", "--history", history)
    assert "is live" in refused("generation", "create", "--history", history, "again")
    assert "is live" in refused("generation", "drop", "--yes", "again", "--history", history)


def test_what_run_wrote_is_not_made_again(history: Path) -> None:
    answer("generation", "promote", "again", "--history", history)
    before = snapshot(history)
    for name in ("root", "live", "previous"):
        assert name in refused("generation", "create", "--history", history, name)
    assert snapshot(history) == before


def test_a_damaged_generation_is_not_promoted(history: Path) -> None:
    file = next((history / "generations" / "again" / "revisions").glob("date=*/*.parquet"))
    file.unlink()
    assert "damaged" in refused("generation", "promote", "again", "--history", history)
    assert not (history / "generation.json").exists()


def test_an_unfinished_generation_is_not_promoted(history: Path) -> None:
    meta = history / "generations" / "again" / "_generation.json"
    text = meta.read_text()
    meta.write_text(text.replace('"stage": "complete"', '"stage": "folding"'))
    assert '"folding"' in meta.read_text()
    lines = [line for line in meta.read_text().splitlines() if "ended_at" not in line]
    meta.write_text("\n".join(lines))
    assert "not finished" in refused("generation", "promote", "again", "--history", history)
    assert digest(history)


def test_a_pointer_that_cannot_be_read_is_named(history: Path) -> None:
    (history / "generation.json").write_text("{")
    assert "generation.json" in refused("admin", "digest", "--history", history)


def test_a_generation_that_is_written_is_left_alone(history: Path) -> None:
    from streams.files.open_generation import locked

    with locked(history / "generations" / "again"):
        for words in (
            ("generation", "create", "again"),
            ("generation", "drop", "--yes", "again"),
            ("generation", "promote", "again"),
            ("forget", "emma", "--yes"),
        ):
            assert "another turnfold" in refused(*words, "--history", history)


def test_a_history_that_is_written_is_not_switched(history: Path) -> None:
    from streams.files.open_generation import locked

    with locked(history):
        assert "another turnfold" in refused("generation", "promote", "again", "--history", history)
        answer("generation", "create", "--history", history, "again")


def test_a_side_of_a_diff_that_is_none_is_refused(again: Path, tmp_path: Path) -> None:
    none = tmp_path / "none"
    assert str(none) in refused("generation", "diff", again, none, "--history", again)
    done: Done = turnfold("generation", "diff", "live", "again", cwd=tmp_path)
    assert done.code == 3 and f"turnfold run FILE --history {tmp_path / 'turnfold'}" in done.err
