"""Histories of the sample, made once; nobody writes into them."""

import shutil
from pathlib import Path

import pytest

from tests.command import answer, folded, ndjson, turnfold
from tests.planned import CONVERSATIONS


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's history."""
    root = tmp_path_factory.mktemp("sample") / "history"
    folded(str(CONVERSATIONS), history=root)
    return root


@pytest.fixture(scope="session")
def again(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a generation `again`."""
    root = Path(shutil.copytree(sample, tmp_path_factory.mktemp("again") / "history"))
    answer("generation", "create", "--history", root, "again")
    return root


@pytest.fixture(scope="session")
def searched(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with an index of search."""
    root = Path(shutil.copytree(sample, tmp_path_factory.mktemp("searched") / "history"))
    assert turnfold("search", "move", "--history", root).code == 0
    return root


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A history without a row."""
    folded(ndjson(tmp_path / "none.ndjson", []), history=tmp_path / "empty")
    return tmp_path / "empty"
