"""What who works in a bucket hears of a folder of this machine that cannot be."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from sinks.object_store import ObjectPath
from streams.errors import TurnfoldError
from streams.files import store_folder
from streams.generations import desk

HISTORY = ObjectPath("s3://memory/chat")


@pytest.mark.parametrize(
    ("taken", "option", "variable"),
    [
        (store_folder._ours(HISTORY), "--store-folder", store_folder.SETTING),
        (desk.taken(HISTORY, "new"), "--work-folder", desk.SETTING),
    ],
)
def test_a_file_in_its_place_is_told_with_both_ways_to_name_another(
    taken: AbstractContextManager[Any],
    option: str,
    variable: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv(variable, str(file))
    with pytest.raises(TurnfoldError) as told, taken:
        pass
    assert told.value.exit_code == 3
    assert str(told.value).startswith(f"{file}/")
    assert str(told.value).endswith(f"name another folder by {option}, or {variable}")
