"""Every generation is folded and read under its own rules, whatever else this process does."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from schemas.time import parse_time
from sinks.digest import digest
from sinks.generation import generation_path
from streams import history_documents
from streams.errors import ConfigurationError
from streams.files import file_runner
from streams.files.manifest import Settings, rules_of
from streams.folds.constants import Rules
from streams.generations.promotion import promote
from streams.generations.rebuild import backfill
from streams.serving.backends.embedded import EmbeddedBackend
from streams.serving.backends.readonly import HistoryBackend
from streams.serving.http import documents
from tests.command import ndjson, turn

TENANT = "default"
CHANGES: dict[str, int | float] = {"max_intents": 2, "session_expiry_hours": 0.5}
ASKED = parse_time("2026-01-05T01:00:00Z")
TOO_LONG = 60.0


def said(number: int) -> dict[str, Any]:
    at = f"2026-01-0{number}T00:00:00Z"
    return turn(f"e{number}", intent=f"i{number}", task_id=f"t{number}", occurred_at=at)


def short(root: Path, file: Path) -> Path:
    """A history whose live generation has rules of its own."""
    file_runner.run([str(file)], root)
    backfill(root, "short", Settings(constants=CHANGES))
    promote(root, "short")
    return root


def plain(root: Path, file: Path) -> Path:
    file_runner.run([str(file)], root)
    return root


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return ndjson(tmp_path / "first.ndjson", [said(1)])


def told(document: Any) -> tuple[list[str], str]:
    """What the two rules show in: the newest intents, and whether the session has expired."""
    return document["context"]["recent_intents"], document["status"]


SHORT = (["i4", "i5"], "closed")
PLAIN = (["i1", "i2", "i3", "i4", "i5"], "active")


def session(root: Path) -> tuple[list[str], str]:
    return told(history_documents.session(root, TENANT, "s", None, ASKED))


def then(root: Path) -> tuple[list[str], str]:
    return told(history_documents.session(root, TENANT, "s", ASKED, ASKED))


def test_a_manifest_names_what_differs_from_the_defaults(tmp_path: Path, first: Path) -> None:
    history = short(tmp_path / "history", first)
    assert rules_of(history / "generations" / "short") == Rules.of(CHANGES)
    assert rules_of(history) == Rules()
    meta = history / "generations" / "short" / "_generation.json"
    meta.write_text(meta.read_text().replace('"max_intents": 2', '"max_intents": 0'))
    with pytest.raises(ConfigurationError, match=r"_generation\.json: max_intents: expected a"):
        rules_of(meta.parent)


@pytest.mark.nightly
def test_two_histories_folded_and_read_by_turns_have_their_own(tmp_path: Path, first: Path) -> None:
    one, other = short(tmp_path / "one", first), plain(tmp_path / "other", first)
    for number in range(2, 6):
        more = ndjson(tmp_path / f"{number}.ndjson", [said(number)])
        file_runner.run([str(more)], one)
        file_runner.run([str(more)], other)
    for _ in range(2):
        assert (session(one), session(other)) == (SHORT, PLAIN)
        assert (then(one), then(other)) == (SHORT, PLAIN)
        assert session(generation_path(one, "root")) == (["i1"], "closed")
    at_once = short(tmp_path / "at once", first)
    file_runner.run([str(tmp_path / f"{number}.ndjson") for number in range(2, 6)], at_once)
    assert digest(at_once)["memory"] == digest(one)["memory"] != digest(other)["memory"]


async def test_two_live_generations_are_read_by_turns_from_their_tables(
    tmp_path: Path, first: Path
) -> None:
    one, other = short(tmp_path / "one", first), plain(tmp_path / "other", first)
    more = ndjson(tmp_path / "more.ndjson", [said(number) for number in range(2, 6)])
    for history in (one, other):
        file_runner.run([str(more)], history)
    async with HistoryBackend(one) as shorts, HistoryBackend(other) as plains:
        for _ in range(2):
            assert await now(shorts) == SHORT
            assert await now(plains) == PLAIN
        both = await asyncio.gather(*(now(memory) for memory in (shorts, plains) * 3))
        assert both == [SHORT, PLAIN] * 3


async def test_two_live_generations_are_served_and_written_by_turns(
    tmp_path: Path, first: Path
) -> None:
    one, other = short(tmp_path / "one", first), plain(tmp_path / "other", first)
    async with EmbeddedBackend(one) as shorts, EmbeddedBackend(other) as plains:
        for number in range(2, 6):
            for memory in (shorts, plains):
                record = json.dumps(said(number)).encode()
                (outcome,) = await memory.submit([record], TOO_LONG)
                assert outcome.ending == "applied"
        for _ in range(2):
            assert await now(shorts) == SHORT
            assert await now(plains) == PLAIN
    async with EmbeddedBackend(other) as plains, EmbeddedBackend(one) as shorts:
        assert (await now(shorts), await now(plains)) == (SHORT, PLAIN)
    assert (session(one), session(other)) == (SHORT, PLAIN)


async def test_a_server_goes_over_to_the_rules_of_what_is_promoted(
    tmp_path: Path, first: Path
) -> None:
    history = plain(tmp_path / "history", first)
    more = ndjson(tmp_path / "more.ndjson", [said(number) for number in range(2, 6)])
    file_runner.run([str(more)], history)
    backfill(history, "short", Settings(constants=CHANGES))
    async with HistoryBackend(history) as memory:
        assert await now(memory) == PLAIN
        await asyncio.to_thread(promote, history, "short")
        assert memory.live.rules == Rules.of(CHANGES)
        assert await now(memory) == SHORT
        await asyncio.to_thread(promote, history, "root")
        assert await now(memory) == PLAIN


async def now(memory: HistoryBackend | EmbeddedBackend) -> tuple[list[str], str]:
    return told(documents.session(*await memory.rows("sessions", TENANT, "s"), ASKED))
