"""docs/pictures shows the inspector and a rebuild as they are."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.inspector.picture_views import demo_server, rebuild, texts

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "pictures"
pytestmark = [pytest.mark.needs("chromium"), pytest.mark.nightly]


def test_pictures_say_what_the_views_say(browser: Browser, tmp_path: Path) -> None:
    """Otherwise `scripts/pictures` takes them again."""
    shown = json.loads((PICTURES / "pages.json").read_text())
    terminal = shown.pop("rebuild")
    with demo_server(tmp_path) as url:
        assert texts(browser, url) == shown
    assert without_seconds(rebuild(tmp_path)) == without_seconds(terminal)


def test_pictures_are_small() -> None:
    assert sum(file.stat().st_size for file in PICTURES.iterdir()) < 1_500_000


def without_seconds(lines: list[str]) -> list[str]:
    return [re.sub(r"\d+\.\d+", "", line) for line in lines]
