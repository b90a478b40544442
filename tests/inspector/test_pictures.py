"""docs/pictures shows the inspector as it is."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.command import turnfold
from tests.inspector.picture_views import texts
from tests.serving.serving import serving

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
pytestmark = [pytest.mark.needs("chromium"), pytest.mark.nightly]


def test_pictures_say_what_the_views_say(browser: Browser, tmp_path: Path) -> None:
    """Otherwise `scripts/pictures` takes them again."""
    history = tmp_path / "history"
    assert turnfold("demo", "--history", history).code == 0
    with serving("--history", history) as server:
        server.until("/v1/users", 200)
        assert texts(browser, server.url) == json.loads((PICTURES / "pages.json").read_text())


def test_pictures_are_small() -> None:
    assert sum(file.stat().st_size for file in PICTURES.iterdir()) < 1_500_000
