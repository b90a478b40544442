"""A log line as JSON: what is said, where, and nothing else."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from streams.observing.logs import JsonLines


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A logger of its own, and what it writes."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("tests.json")
    logger.propagate = False
    logger.addHandler(handler)
    yield logger, text
    logger.removeHandler(handler)


def line(text: io.StringIO) -> Any:
    """The one line that was written."""
    (found,) = text.getvalue().splitlines()
    return json.loads(found)


def test_a_line_says_what_and_where(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = log
    extra = {"tenant": "acme", "topic": "turns", "partition": 0, "offset": 17, "payload": "private"}
    logger.warning("%s is\nlate: 「遅い」", "it", extra=extra)
    said = line(text)
    assert said.pop("time").endswith("Z")
    assert said == {
        "level": "warning",
        "logger": "tests.json",
        "message": "it is\nlate: 「遅い」",
        "tenant": "acme",
        "topic": "turns",
        "partition": 0,
        "offset": 17,
    }


def test_an_exception_stays_in_its_line(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, text = log
    try:
        raise ValueError("odd")
    except ValueError as error:
        logger.critical("ends", exc_info=error)
    said = line(text)
    assert said["exception"].splitlines()[-1] == "ValueError: odd"
    assert "session" not in said
