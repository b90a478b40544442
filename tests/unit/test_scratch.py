"""Folders of commands at work: those of killed ones go, others stay."""

from pathlib import Path

import pytest

from sinks import locations, scratch


def test_a_folder_goes_at_its_end_also_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), scratch.scratch(tmp_path) as folder:
        (folder / "rows").touch()
        raise KeyError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_and_nothing_else(tmp_path: Path) -> None:
    left = tmp_path / f"{scratch.PREFIX}left"
    (left / "deep").mkdir(parents=True)
    (left / "deep" / "rows").touch()
    other = tmp_path / "turnfold-broker-ab12"
    other.mkdir()
    (other / "rows").touch()
    just_made = tmp_path / f"{scratch.PREFIX}made"
    just_made.mkdir()
    with scratch.scratch(tmp_path) as busy:
        (busy / "rows").touch()
        scratch.clear_left(tmp_path)
        assert {*tmp_path.iterdir()} == {other, just_made, busy}
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
