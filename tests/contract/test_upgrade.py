"""A history that the version before wrote: its rows are upgraded in place, tables gain columns."""

import json
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from deltalake import DeltaTable, write_deltalake

from schemas.generated.history import Link, Source, stored
from sinks import delta
from sinks import history as history_module
from sinks.delta import History
from sinks.digest import digest
from sinks.tables import to_arrow
from streams.files.store import Store
from streams.files.upgrade import reached
from streams.generations import parquet
from streams.pipeline.row_formats import Reached
from tests.command import folded, ndjson, rows, turn, turnfold
from tests.next_format import NEXT, NOTE, TODAY, NextVersion
from tests.planned import CONVERSATIONS

DOOMED = """
import os, signal, sys
from streams.cli import main
from streams.files.store import Store
from streams.pipeline import row_formats
row_formats.ENTITIES = 1
count, rewrite = int(sys.argv.pop(1)), Store.rewrite
def doomed(*arguments):
    global count
    rewrite(*arguments)
    count -= 1
    if not count:
        os.kill(os.getpid(), signal.SIGKILL)
Store.rewrite = doomed
main()
"""
"""`turnfold`, killed when the n-th step of an upgrade is written: each has one session or user."""


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """One that this version wrote."""
    folded(CONVERSATIONS, history=tmp_path / "h")
    return tmp_path / "h"


@pytest.fixture
def next_version(tmp_path: Path) -> NextVersion:
    return NextVersion(tmp_path / "next")


def stored_rows(history: Path) -> dict[bytes, dict[str, bytes]]:
    """Every row of its store, which has the next format."""
    store = Store(history / "_store")
    try:
        assert reached(store) == Reached(NEXT)
        return {where: store.rows_of(where) for where in store.keys(b"")}
    finally:
        store.close()


def finding(report: str) -> dict[str, Any]:
    """What the doctor says of the rows."""
    (finding,) = [one for one in json.loads(report)["findings"] if one["check"] == "row format"]
    return dict(finding)


@pytest.mark.nightly
def test_killed_half_way_the_next_command_finishes(
    history: Path, next_version: NextVersion, tmp_path: Path
) -> None:
    more = ndjson(tmp_path / "more.ndjson", [turn("more")])
    command = ("run", more, "--history", history)
    for step in (1, 4, 2):  # each goes on behind the one before
        killed = next_version.run(str(step), *command, program=DOOMED)
        assert killed.code == -signal.SIGKILL, killed.err
        found = finding(next_version.run("admin", "doctor", "--history", history, "-o", "json").out)
        assert found["status"] == "warning"
        assert f"{NEXT}, not all of them" in found["found"]
    done = next_version.run(*command)
    assert done.code == 0, done.err
    notes = [
        msgspec.msgpack.decode(row)[NOTE]
        for entity in stored_rows(history).values()
        for name, row in entity.items()
        if name.startswith("p/")
    ]
    assert notes and {note.count("!") for note in notes} == {1}
    folded(CONVERSATIONS, more, history=tmp_path / "whole")
    assert digest(history)["memory"] == digest(tmp_path / "whole")["memory"]


@pytest.mark.nightly
def test_the_version_before_refuses_what_was_upgraded_and_goes_back_by_a_backfill(
    history: Path, next_version: NextVersion, tmp_path: Path
) -> None:
    first, more = (ndjson(tmp_path / f"{name}.ndjson", [turn(name)]) for name in ("first", "more"))
    assert next_version.run("run", first, "--history", history).code == 0
    for command in (("run", more), ("serve", "--port", "0")):
        done = turnfold(*command, "--history", history)
        assert done.code == 3, command
        assert f"have format {NEXT}, this version reads {TODAY}" in done.err
        assert 'docs/upgrades.md, "Going back"' in done.err
    found = finding(turnfold("admin", "doctor", "--history", history, "-o", "json").out)
    assert found["status"] == "wrong"
    assert "Going back" in found["do"]
    assert turnfold("generation", "create", "--history", history, "back").code == 0
    assert turnfold("generation", "promote", "back", "--history", history).code == 0
    assert folded(more, history=history)["applied"] == 1


@pytest.mark.nightly
def test_rows_that_are_too_old_are_folded_again_from_their_own_history(
    history: Path, tmp_path: Path
) -> None:
    next_version = NextVersion(tmp_path / "next", migrates=False)
    first = ndjson(tmp_path / "first.ndjson", [turn("first")])
    refused = next_version.run("run", first, "--history", history)
    assert refused.code == 3
    assert f"have format {TODAY}, this version reads {NEXT}" in refused.err
    assert "generation create NEW" in refused.err
    found = finding(next_version.run("admin", "doctor", "--history", history, "-o", "json").out)
    assert found["do"] == 'See docs/upgrades.md, "Rows that are too old".'
    for command in (
        ("generation", "create", "again"),
        ("generation", "promote", "again"),
        ("run", first),
    ):
        done = next_version.run(*command, "--history", history)
        assert done.code == 0, done.err


def test_tables_gain_columns_and_no_file_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a sink of the next version continues them, where it has one column more."""
    source = Source("default", 1_767_261_600_000_000, "turns", 0, 1)

    def links(session_id: str) -> Any:
        link = Link(
            op="put", owner_id="u", from_event_id="b", to_event_id="a", label="reply_to",
            confidence=0.5, provisional=False, seq=0, occurred_at=source.recorded_at,
            session_id=session_id,
        )  # fmt: skip
        return to_arrow("links", [stored(link, source, source.recorded_at)])

    with History(tmp_path / "h") as tables:
        tables.append("links", links("s1"), "sink", 1)
    table = DeltaTable(tmp_path / "h" / "links")
    write_deltalake(
        table, table.to_pyarrow_table().drop_columns(["session_id"]),
        mode="overwrite", schema_mode="overwrite", partition_by=["date"],
    )  # fmt: skip
    before = set(table.file_uris())
    for module in (delta, history_module, parquet):
        monkeypatch.setattr(module, "LATER", {"links": ("session_id",)})
    with History(tmp_path / "h") as tables:
        for version in (2, 3):
            assert tables.append("links", links("s2"), "sink", version)
    after = set(DeltaTable(tmp_path / "h" / "links").file_uris())
    assert before < after and len(after) == len(before) + 2
    query = "SELECT session_id FROM links ORDER BY ALL"
    assert rows(tmp_path / "h", query) == [("s2",), ("s2",), (None,)]
