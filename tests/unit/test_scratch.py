"""Folders of commands at work: those of killed ones go, others stay."""

from pathlib import Path

import pytest

from sinks import locations, scratch


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
