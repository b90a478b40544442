"""A history that older versions wrote: its rows are upgraded in place, its tables gain columns.

`golden/history_of_turnstone.tar.gz` has rows of format 4 (see `test_history_of_turnstone`);
`golden/history_of_format_3.tar.gz` holds `h`, two turns and a plan with a link and a thread, folded
by commit 8b0f80f (`turnstone run - --history h`).
"""

import json
import signal
import subprocess
import sys
import tarfile
from importlib.resources import as_file
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from schemas.generated.history import Link, Source, stored
from sinks.delta import History
from sinks.digest import digest
from sinks.history import LATER
from sinks.tables import COLUMNS, to_arrow
from streams import sample
from streams.files.store import Store
from streams.files.upgrade import AFTER, FORMAT, reached
from streams.pipeline.row_formats import CURRENT, OLDEST, ROW_FORMAT, Reached
from tests.command import environment, folded, ndjson, rows, turn, turnfold
from tests.older_version import FORMAT_4, Older

GOLDEN = Path(__file__).parent / "golden"
OF_EMMA = "style", "like", "short answers in bullet points"
DOOMED = """
import os, signal, sys
from streams.cli import main
from streams.files.store import Store
from streams.pipeline import row_formats
row_formats.ENTITIES = 1
left, rewrite = int(sys.argv.pop(1)), Store.rewrite
def doomed(*given):
    global left
    rewrite(*given)
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
Store.rewrite = doomed
main()
"""
"""`turnfold`, killed when the n-th step of an upgrade is written: each has one session or user."""
STEPS = 9
"""Sessions and users of the history."""


def unpacked(name: str, into: Path) -> Path:
    with tarfile.open(GOLDEN / name) as archive:
        archive.extractall(into, filter="data")
    return into / "h"


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """One of format 4."""
    return unpacked("history_of_turnstone.tar.gz", tmp_path)


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """One of format 3."""
    return unpacked("history_of_format_3.tar.gz", tmp_path)


def kept(history: Path) -> dict[bytes, dict[str, bytes]]:
    """Every row of its store, which has today's format."""
    store = Store(history / "_store")
    try:
        assert reached(store) == CURRENT
        return {where: store.rows_of(where) for where in store.keys(b"")}
    finally:
        store.close()


def found(history: Path) -> dict[str, Any]:
    """What the doctor says of the rows."""
    told = json.loads(turnfold("doctor", "--history", history, "--json").out)
    (one,) = [one for one in told["findings"] if one["check"] == "row format"]
    return dict(one)


def plan(number: int, at: str, **updates: Any) -> dict[str, Any]:
    return {
        "type": "write_plan", "plan_id": f"late-{number}", "user_id": "emma", "occurred_at": at,
        "extractor": {"name": "hand"}, **updates,
    }  # fmt: skip


def standing(history: Path) -> list[Any]:
    said = "SELECT domain, polarity, subject FROM preference_current WHERE status = 'confirmed'"
    return rows(history, said)


# --- rows -----------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_what_ended_before_a_preference_was_said_does_not_revoke_it(
    history: Path, tmp_path: Path
) -> None:
    """The reason for format 5. Rows of format 4 did not say when it was said."""
    over = {"families": ["like"], "value": "", "reason": "over"}
    late = ndjson(tmp_path / "late.ndjson", [plan(1, "2026-02-01T00:00:00Z", ends=[over])])
    assert standing(history) == [OF_EMMA]
    assert folded(late, history=history)["applied"] == 1
    assert standing(history) == [OF_EMMA]
    later = ndjson(tmp_path / "later.ndjson", [plan(2, "2026-04-01T00:00:00Z", ends=[over])])
    folded(later, history=history)
    assert standing(history) == []


@pytest.mark.nightly
def test_killed_half_way_the_next_command_finishes(history: Path, tmp_path: Path) -> None:
    with as_file(sample.CONVERSATIONS) as file:
        whole = unpacked("history_of_turnstone.tar.gz", tmp_path / "whole")
        folded(file, history=whole)
        for step in (1, STEPS // 2, 2):  # the last one counts on from there
            given = (str(step), "run", str(file), "--history", str(history))
            done = subprocess.run(
                [sys.executable, "-c", DOOMED, *given], env=environment(), capture_output=True
            )
            assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        said = found(history)
        assert said["status"] == "warning"
        assert f"{OLDEST + 1}, not all of them" in said["found"]
        folded(file, history=history)
    assert kept(history) == kept(whole)
    assert digest(history)["memory"] == digest(whole)["memory"]


@pytest.mark.nightly
def test_rows_of_a_newer_version_are_refused_with_what_to_do(history: Path) -> None:
    store = Store(history / "_store")
    store.write_values({FORMAT: ROW_FORMAT + 1})
    store.close()
    for command in (("run", sample.CONVERSATIONS), ("serve", "--port", "0")):
        done = turnfold(*command, "--history", history)
        assert done.code == 3, command
        assert f"have format 7, this version reads 4 to {ROW_FORMAT}" in done.err
        assert 'docs/upgrades.md, "Going back"' in done.err
    said = found(history)
    assert said["status"] == "wrong"
    assert "Going back" in said["do"]


@pytest.mark.nightly
def test_the_version_before_refuses_what_was_upgraded_and_goes_back_by_a_backfill(
    history: Path, tmp_path: Path
) -> None:
    older = Older(FORMAT_4, tmp_path / "older")
    first, more = (ndjson(tmp_path / f"{name}.ndjson", [turn(name)]) for name in ("first", "more"))
    assert older.run("run", first, "--history", history).code == 0
    assert folded(more, history=history)["applied"] == 1  # with today's version
    done = older.run("run", first, "--history", history)
    assert done.code == 3
    assert f"have format {ROW_FORMAT}, this version writes 4" in done.err
    assert older.run("backfill", "--history", history, "--generation", "back").code == 0
    assert older.run("promote", "back", "--history", history).code == 0
    done = older.run("run", first, more, "--history", history)
    assert done.code == 0, done.err
    assert json.loads(older.run("session", "s", "--history", history, "--json").out)


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_rows_that_are_too_old_are_folded_again_from_their_own_history(
    graph: Path, tmp_path: Path
) -> None:
    first = ndjson(tmp_path / "first.ndjson", [turn("a")])
    done = turnfold("run", first, "--history", graph)
    assert done.code == 3
    assert "have format 3" in done.err and "backfill --generation NEW" in done.err
    assert found(graph)["do"] == 'See docs/upgrades.md, "Rows that are too old".'
    assert turnfold("backfill", "--history", graph, "--generation", "again").code == 0
    assert turnfold("promote", "again", "--history", graph).code == 0
    assert folded(first, history=graph)["applied"] == 1
    reply = rows(graph, "SELECT session_id FROM links WHERE label = 'reply_to'")
    assert reply == [("s1",)]


def test_tables_gain_columns_and_no_file_is_written_again(graph: Path) -> None:
    """As a sink continues them: it needs no rows of the fold."""
    asked = "SELECT from_event_id, session_id FROM links ORDER BY ALL"
    assert rows(graph, asked) == [("a2", None), ("a2", None)]
    before = set(DeltaTable(graph / "links").file_uris())
    link = Link(
        op="put", owner_id="s2", from_event_id="b2", to_event_id="b1", label="reply_to",
        confidence=0.5, provisional=True, seq=0, occurred_at=1_767_261_600_000_000,
        session_id="s2",
    )  # fmt: skip
    source = Source("default", link.occurred_at, "turns", 0, 1)
    with History(graph) as tables:
        for place in (1, 2):
            added = to_arrow("links", [stored(link, source, link.occurred_at)])
            assert tables.append("links", added, "sink", place)
    after = set(DeltaTable(graph / "links").file_uris())
    assert before < after and len(after) == len(before) + 2
    assert rows(graph, asked) == [("a2", None), ("a2", None), ("b2", "s2"), ("b2", "s2")]


@pytest.mark.parametrize("name", ["history_of_turnstone.tar.gz", "history_of_format_3.tar.gz"])
def test_a_column_that_older_files_lack_is_one_that_readers_and_writers_know_of(
    name: str, tmp_path: Path
) -> None:
    history = unpacked(name, tmp_path)
    for table, columns in COLUMNS.items():
        if (history / table).exists():
            known = {field.name for field in DeltaTable(history / table).schema().fields}
            assert set(columns) - known <= set(LATER.get(table, ())), table


# --- a format that comes --------------------------------------------------------------------------


def test_a_store_that_is_half_upgraded_says_so_in_its_values(history: Path) -> None:
    store = Store(history / "_store")
    assert reached(store) == Reached(4)
    store.rewrite([], {FORMAT: 5, AFTER: "s\0default\0a"})
    assert reached(store) == Reached(5, "s\0default\0a")
    store.close()
