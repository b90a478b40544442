"""docs/http.md says what the API does: endpoints, problems, templates, endings."""

import re
from pathlib import Path
from typing import get_args

import pytest

from schemas.http import Ending
from schemas.record import Ended
from streams.folds.summary import BEHAVIOUR, KINDS, LANGUAGES, NEWCOMER
from streams.serving.http.endpoints import ENDPOINTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "http.md").read_text("utf-8")
RAISED = re.compile(r"(?:Problem|Refusal|_refuse)\(\s*\d{3}, \"([A-Z][^\"]+)\"")


@pytest.mark.parametrize("path", [one.path for one in ENDPOINTS])
def test_every_endpoint_is_told(path: str) -> None:
    short = re.sub(r"\{\w+_id\}", "{id}", path)
    assert path in PAGE or short in PAGE


def test_every_problem_is_told() -> None:
    sources = (ROOT / "streams" / "serving").rglob("*.py")
    titles = {title for file in sources for title in RAISED.findall(file.read_text("utf-8"))}
    assert len(titles) > 15
    untold = {title for title in titles if _type(title) not in PAGE}
    assert not untold


def test_every_template_is_told() -> None:
    for intent in KINDS:
        assert f"`{intent}`" in PAGE
    for language in LANGUAGES:
        assert f"| {NEWCOMER[language]} |" in PAGE
        for texts in BEHAVIOUR.values():
            assert f"| {texts[language][0]} |" in PAGE


def test_every_ending_is_told() -> None:
    assert set(get_args(Ending)) == {*get_args(Ended), "refused"}
    for ending in get_args(Ending):
        assert f"| `{ending}` |" in PAGE


def _type(title: str) -> str:
    return f"`/problems/{title.lower().replace(' ', '-')}`"
