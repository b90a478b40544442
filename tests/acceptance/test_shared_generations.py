"""Two generations hold once what is equal, and neither is hurt by what befalls the other.

What a generation says is compared with one that shared nothing, made in the same way.
"""

import shutil
import signal
from functools import partial
from hashlib import md5
from pathlib import Path
from random import Random
from resource import RLIMIT_FSIZE, getrlimit, setrlimit
from threading import Event
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from schemas.generated.history import DeadLetter, Source, stored
from schemas.rows import SNAPSHOT_KEYS, TABLES
from sinks import hard_links
from sinks.delta import History
from sinks.diff import diff
from sinks.digest import digest
from sinks.generation import generation_path
from sinks.hard_links import files_at
from sinks.history_root import HistoryWriteError
from sinks.maintenance import compact
from sinks.tables import to_arrow
from streams.apps import compact_and_forget
from streams.errors import TurnfoldError
from streams.files import file_runner
from streams.files.manifest import Settings
from streams.generations import replay_order, shared_files
from streams.generations.parquet import rows_of
from streams.generations.promotion import promote
from streams.generations.rebuild import backfill
from streams.generations.replay_order import database
from tests.command import files_holding, ndjson, rows, turn
from tests.waiting import WITHIN

pytestmark = pytest.mark.nightly

CHANGED = Settings(constants={"max_intents": 9})
"""One rule that is another: SGD's longer dialogues have ten intents and more."""
GROWING = sorted(TABLES.keys() - SNAPSHOT_KEYS.keys())


def disk(folder: Path) -> int:
    """Bytes of all files below a folder; one with several names counts once."""
    return sum({
        found.st_ino: found.st_size for path in folder.rglob("*")
        if path.is_file() and (found := path.stat())
    }.values())  # fmt: skip


@pytest.fixture(scope="module")
def alone(sgd_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of SGD with a generation `changed` that shares nothing that is folded; only read."""
    history = tmp_path_factory.mktemp("alone") / "history"
    shutil.copytree(sgd_run / "history", history)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(shared_files, "_compare", _nothing_equal)
        backfill(history, "changed", CHANGED)
    return history


_compare = shared_files._compare


def _nothing_equal(db: Any, name: str, read: Any, mine: list[str], theirs: list[str]) -> set[str]:
    return _compare(db, name, read, mine, [])


@pytest.fixture
def history(sgd_run: Path, tmp_path: Path) -> Path:
    """A copy of a history of all SGD turns."""
    return Path(shutil.copytree(sgd_run / "history", tmp_path / "history"))


@pytest.mark.soak
def test_one_changed_rule_takes_a_third_of_the_disk_at_most(history: Path, alone: Path) -> None:
    before, live = disk(history), digest(history)
    backfill(history, "changed", CHANGED)
    assert disk(history) < 1.3 * before < disk(alone)
    one, other = generation_path(history, "changed"), generation_path(alone, "changed")
    assert digest(one) == digest(other) != live == digest(history)
    assert diff(history, one, samples=5) == diff(alone, other, samples=5)
    assert any(kind["changed"] for kind in diff(history, one, samples=0)["kinds"])
    for name in GROWING:
        assert sorted(rows(one, f"FROM {name}"), key=repr) == sorted(
            rows(other, f"FROM {name}"), key=repr
        )


def letters(*payloads: str) -> pa.Table:
    """Rows of `dead_letters`; two of one payload are equal in all columns."""
    source = Source("default", 0, "-", 0, 1)
    rows = [
        DeadLetter(
            reason="bad", detail="", payload=payload.encode(), key=None, headers=None,
            settled_at=None,
        )
        for payload in payloads
    ]  # fmt: skip
    return to_arrow(DeadLetter.table, [stored(row, source, 0) for row in rows])


def documents(*told: tuple[str, str]) -> pa.Table:
    """Rows of `profiles`: user and document."""
    return to_arrow(
        "profiles", [(user, 0, 0, doc, "default", 0, "f", 0, 1, 0) for user, doc in told]
    )


def table(folder: Path, name: str, *commits: pa.Table) -> History:
    """A history with one file a commit."""
    with History(folder) as history:
        for number, some in enumerate(commits):
            history.append(name, some, "test", number)
    return history


def shared(live: Path, mine: History, name: str, work: Path) -> set[str]:
    """Which of live's files the other table holds afterwards."""
    shared_files.share_equal(live, mine, work, [name])
    held = {one.path for one in files_at(Path(mine.root) / name)}
    return {one.path for one in files_at(live / name)} & held


def test_equal_rows_are_counted(tmp_path: Path) -> None:
    name = "dead_letters"
    table(tmp_path / "live", name, letters("a"), letters("a"), letters("a"), letters("b", "c"))
    mine = table(tmp_path / "mine", name, letters("a", "a"), letters("b"))
    assert len(shared(tmp_path / "live", mine, name, tmp_path)) == 2
    sql = "SELECT decode(payload) FROM dead_letters ORDER BY 1"
    assert rows(tmp_path / "mine", sql) == [("a",), ("a",), ("b",)]


def test_the_newest_document_stands_before_what_is_shared(tmp_path: Path) -> None:
    name = "profiles"
    many = [documents((f"u{n}", "old")) for n in range(5)]
    last = documents(("u0", "new"), ("u1", "of live"), ("u2", "new"), ("u3", "new"))
    stranger = documents(("u4", "new"), ("nobody", "of live"))
    table(tmp_path / "live", name, *many, last, stranger)
    told = {"u0": "new", "u1": "mine", "u2": "new", "u3": "new", "u4": "new"}
    mine = table(tmp_path / "mine", name, *(documents(one) for one in told.items()))
    assert len(shared(tmp_path / "live", mine, name, tmp_path)) == 1
    sql = "SELECT user_id, doc FROM profile_current ORDER BY 1"
    assert dict(rows(tmp_path / "mine", sql)) == told
    with History(tmp_path / "mine") as later:  # of a version that is lower than live's
        later.append(name, documents(("u0", "later")), "test", 9)
    assert dict(rows(tmp_path / "mine", sql)) == told | {"u0": "later"}


def large(*users: str) -> pa.Table:
    """Rows of `profiles` with documents of 200 KB that no compression makes much smaller."""
    return documents(*((user, Random(user).randbytes(100_000).hex()) for user in users))


def test_large_documents_are_shared_within_a_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """60 MB of documents in each, of which DuckDB may hold 16."""
    users = [f"u{n}" for n in range(300)]
    table(tmp_path / "live", "profiles", large(*users[:200]))
    mine = table(tmp_path / "mine", "profiles", large(*users[:150]), large(*users[150:]))
    monkeypatch.setattr(replay_order, "MEMORY_LIMIT", "16MB")
    assert len(shared(tmp_path / "live", mine, "profiles", tmp_path)) == 1
    assert sorted(one.rows for one in files_at(tmp_path / "mine" / "profiles")) == [100, 200]
    found = rows(tmp_path / "mine", "SELECT user_id, md5(doc) FROM profile_current")
    expected = large(*users).to_pydict()
    assert dict(found) == {
        user: md5(doc.encode()).hexdigest()
        for user, doc in zip(expected["user_id"], expected["doc"], strict=True)
    }


def test_what_cannot_be_compared_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "profiles"
    told = {f"u{n}": str(n) for n in range(50)}
    table(tmp_path / "live", name, documents(*told.items()))
    half = (documents(*list(told.items())[:25]), documents(*list(told.items())[25:]))
    one, other = (
        table(tmp_path / folder, name, commit) for folder, commit in zip("ab", half, strict=True)
    )
    made = History(tmp_path / "made")
    monkeypatch.setattr(replay_order, "MEMORY_LIMIT", "100KB")
    with database(tmp_path) as db, pytest.raises(duckdb.OutOfMemoryException):
        files = [str(Path(one.root, name, each.path)) for each in files_at(Path(one.root, name))]
        _compare(db, name, partial(rows_of, name), files, [])
    shared_files.merge(tmp_path / "live", [Path(one.root), Path(other.root)], made, tmp_path)
    assert shared(tmp_path / "live", made, name, tmp_path) == set()
    sql = "SELECT user_id, doc FROM profile_current ORDER BY 1"
    assert dict(rows(tmp_path / "made", sql)) == told
    with History(tmp_path / "made") as later:
        later.append(name, documents(("u0", "later")), "test", 9)
    assert dict(rows(tmp_path / "made", sql)) == told | {"u0": "later"}


def test_records_too_large_for_the_bound_are_folded_nonetheless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [
        turn(f"e{n}", session_id="s" * (n % 2), user_input=Random(n).randbytes(200_000).hex())
        for n in range(20)
    ]  # every other one names no session: a dead letter
    history = tmp_path / "history"
    file_runner.run([str(ndjson(tmp_path / "said.ndjson", said))], history)
    monkeypatch.setattr(replay_order, "MEMORY_LIMIT", "4MB")
    with database(tmp_path) as db, pytest.raises(duckdb.OutOfMemoryException):
        db.execute(
            f"CREATE TABLE doc AS SELECT doc FROM ({replay_order._whole('events', history)})"
        )
    backfill(history, "again", Settings())
    again = generation_path(history, "again")
    assert digest(again)["tables"] == digest(history)["tables"]
    letters = "SELECT count(*), count(DISTINCT payload) FROM dead_letters"
    assert rows(again, letters) == rows(history, letters) == [(10, 10)]


def test_no_room_is_said_and_the_next_pass_leaves_nothing_of_it(tmp_path: Path) -> None:
    """RLIMIT_FSIZE stands for a full disk: a real write fails in the kernel."""
    name = "profiles"
    table(tmp_path / "live", name, documents(("nobody", "of live")))
    mine = table(tmp_path / "mine", name, large("a"), large("b"))
    before, limits = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), getrlimit(RLIMIT_FSIZE)
    setrlimit(RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(HistoryWriteError, match=r"^profiles: .*File too large"):
            shared_files.share_equal(tmp_path / "live", mine, tmp_path, [name])
    finally:
        setrlimit(RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    folder = tmp_path / "mine" / name
    stray = (folder / files_at(folder)[0].path).with_name("part-of-a-killed-pass.parquet")
    stray.write_bytes(b"linked, and named by no version")
    replaced = {one.path for one in files_at(folder)}
    shared_files.share_equal(tmp_path / "live", mine, tmp_path, [name])
    assert rows(tmp_path / "mine", "SELECT user_id FROM profile_current ORDER BY 1") == [
        ("a",),
        ("b",),
    ]
    (now,) = files_at(folder)
    lying = {str(path.relative_to(folder)) for path in folder.glob("date=*/*")}
    assert lying == replaced | {now.path}  # what was replaced stays for who reads it


def test_a_day_of_several_large_files_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(tmp_path / "live", "profiles", documents(("nobody", "of live")))
    mine = table(tmp_path / "mine", "profiles", large("a"), large("b"))
    monkeypatch.setattr(shared_files, "SMALL", 50_000)
    assert shared(tmp_path / "live", mine, "profiles", tmp_path) == set()
    assert len(files_at(tmp_path / "mine" / "profiles")) == 2


@pytest.fixture
def growing(growing: Any) -> Any:
    """The same, a hundred turns a run: many versions of each table."""
    return partial(growing, each=100)


@pytest.mark.parametrize("after", [0, 2])
def test_killed_in_the_middle_it_continues(
    growing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    history = tmp_path / "history"
    growing(400)
    calls: list[str] = []

    def killed(tables: History, name: str, *given: Any, **more: Any) -> None:
        calls.append(name)
        if len(calls) > after:
            raise KeyboardInterrupt
        hold(tables, name, *given, **more)

    hold = hard_links.set_files
    with monkeypatch.context() as patched:
        patched.setattr(shared_files, "set_files", killed)
        with pytest.raises(KeyboardInterrupt):
            backfill(history, "again", Settings())
    backfill(history, "again", Settings())
    assert digest(generation_path(history, "again"))["tables"] == digest(history)["tables"]
    assert not (history / "generations" / "again" / "_source").exists()
    assert promote(history, "again").caught_up == 0


def test_where_one_table_fails_the_others_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_files, "PARALLEL_TABLES", 2)
    told: list[bool] = []

    def take_over(name: str, over: Event) -> None:
        if name == "links":
            raise TurnfoldError("links: no room")
        told.append(over.wait(WITHIN))

    with pytest.raises(TurnfoldError, match="links: no room"):
        shared_files._side_by_side(take_over, ["links", "sessions", "plans"])
    assert told and all(told)


def test_what_is_folded_on_stands_after_what_is_shared(growing: Any, tmp_path: Path) -> None:
    history, quiet = tmp_path / "history", tmp_path / "quiet"
    growing(1_205)  # in the middle of a session, and many versions of each table
    backfill(history, "again", Settings())
    growing(3)
    backfill(history, "again", Settings())
    growing(3)
    promote(history, "again")
    growing(389)
    file_runner.run([str(tmp_path / "turns.ndjson")], quiet)
    assert digest(quiet)["tables"] == digest(history)["tables"]


def names(folder: Path) -> set[str]:
    """The files of two tables of either kind."""
    found = (folder / name / "date=2026-01-01" for name in ("links", "sessions"))
    return {path.name for one in found for path in one.glob("*.parquet")}


def test_compact_of_either_leaves_the_other(
    growing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "history"
    growing(400)
    backfill(history, "again", Settings())
    again = history / "generations" / "again"
    expected = digest(history)["tables"]
    assert digest(again)["tables"] == expected
    compact(history, retention_hours=0)
    assert digest(again)["tables"] == expected
    assert not names(again) & names(history)
    monkeypatch.setattr(shared_files, "READ_FOR", 0)
    backfill(history, "again", Settings())
    assert names(again) == names(history)
    promote(history, "again")
    compact(again, retention_hours=0)
    for one in (history, generation_path(history, "root")):
        assert digest(one)["tables"] == expected


def test_a_live_table_that_is_rewritten_meanwhile_is_read_again(
    growing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "history"
    growing(400)
    tried: list[str] = []

    def compacting(db: Any, name: str, *given: Any) -> set[str]:
        tried.append(name)
        if len(tried) == 1:
            compact(history, retention_hours=0)
        return _compare(db, name, *given)

    monkeypatch.setattr(shared_files, "_compare", compacting)
    backfill(history, "again", Settings())
    assert tried.count(tried[0]) == 2
    assert digest(generation_path(history, "again"))["tables"] == digest(history)["tables"]


def test_guarantee_8_forget_erases_what_is_shared(growing: Any, tmp_path: Path) -> None:
    history = tmp_path / "history"
    growing(300)
    said = [turn("e1", user_id="zaphod", session_id="zaphod-1", user_input="I am zaphod")]
    file_runner.run([str(ndjson(tmp_path / "said.ndjson", said))], history)
    backfill(history, "again", Settings())
    holding = [path for path in files_holding(history, "zaphod") if "/sessions/" in f"/{path}"]
    inodes = {(history / path).stat().st_ino for path in holding}
    assert len(holding) == 2 and len(inodes) == 1  # in either generation, by one file
    compact_and_forget.forget(history, "default", "zaphod")
    assert files_holding(history, "zaphod") == []
    again = generation_path(history, "again")
    assert digest(again)["tables"] == digest(history)["tables"]
    assert rows(again, "SELECT count(*) FROM events") == [(300,)]
