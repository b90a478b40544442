"""docs/pictures shows the inspector as it is."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.inspector.picture_views import demo_server, texts

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
pytestmark = [pytest.mark.needs("chromium"), pytest.mark.nightly]


def test_pictures_say_what_the_views_say(browser: Browser, tmp_path: Path) -> None:
    """Otherwise `scripts/pictures` takes them again."""
    with demo_server(tmp_path) as url:
        assert texts(browser, url) == json.loads((PICTURES / "pages.json").read_text())


def test_pictures_are_small() -> None:
    assert sum(file.stat().st_size for file in PICTURES.iterdir()) < 1_500_000
