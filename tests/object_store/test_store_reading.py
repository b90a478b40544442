"""A history in a bucket, asked by the commands: the same answers, and never a write."""

from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Thread
from typing import Any
from uuid import uuid4

import _duckdb
import obstore
import pytest
from deltalake import DeltaTable
from obstore.store import S3Store

from sinks import maintenance
from sinks.history import connect
from sinks.maintenance import compact
from sinks.object_store import ObjectPath
from sinks.rewrite_files import merge_files, rewrite
from sinks.sink_history import Piece, SharedHistory
from sinks.tables import to_arrow
from tests.object_store.cli import turnfold
from tests.object_store.s3_server import S3Server
from tests.unit.test_shared_history import OWNER, piece

pytestmark = pytest.mark.nightly

ASKED = (
    ("sql", "SELECT event_id, occurred_at, user_input FROM event_current ORDER BY ALL"),
    ("sql", "SHOW TABLES"), ("show", "session", "emma-move"),
    ("show", "session", "emma-move", "--as-of", "2026-03-05"),
    ("show", "user", "emma", "--as-of", "2026-03-05"), ("show", "state", "--user", "emma"),
    ("why", "emma-move"), ("show", "timeline", "emma"), ("admin", "digest"),
    ("admin", "dlq", "list"), ("admin", "dlq", "replay", "--dry-run"),
)  # fmt: skip
NOT_YET: dict[tuple[str, ...], str] = {
    ("run", "-"): "does not work on an object store; docs/object-stores.md",
    ("dev",): "does not work on an object store; docs/object-stores.md",
    ("generation", "promote", "new"): "no generation 'new'",
    ("generation", "create", "new"): "does not work on an object store; docs/object-stores.md",
    ("admin", "extract", "--model", "any", "--base-url", "http://127.0.0.1:1"): "--bootstrap",
}
"""What does not work there, or not in what was copied from a folder, and a word of what to do."""
WRITES = (
    "COPY (SELECT 1) TO '{url}/evil.csv'",
    "COPY (SELECT 1) TO '{url}/events/evil.parquet' (FORMAT parquet)",
    "ATTACH '{url}/evil.duckdb'",
    "EXPORT DATABASE '{url}/evil'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "CREATE SECRET (TYPE s3, KEY_ID 'a', SECRET 'b')",
)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("demo") / "h"
    done = turnfold("demo", "--history", root)
    assert done.code == 0, done.err
    return root


@pytest.fixture(scope="module")
def copied(s3: S3Server, demo: Path) -> str:
    """The same history in the bucket, each file put there."""
    environ, prefix = s3.environ(), f"copied/{uuid4()}"
    store = S3Store(
        "memory",
        endpoint=environ["AWS_ENDPOINT_URL_S3"],
        access_key_id=environ["AWS_ACCESS_KEY_ID"],
        secret_access_key=environ["AWS_SECRET_ACCESS_KEY"],
        region="us-east-1",
        client_options={"allow_http": True},
    )
    for file in demo.rglob("*"):
        inside = file.relative_to(demo)
        if file.is_file() and not inside.parts[0].startswith(("_store", "_search")):
            obstore.put(store, f"{prefix}/{inside}", file.read_bytes())
    return s3.place(prefix)


@pytest.mark.parametrize("asked", ASKED, ids=" ".join)
def test_a_bucket_answers_what_the_folder_answers(
    asked: tuple[str, ...], demo: Path, copied: str, settings: dict[str, str]
) -> None:
    json = () if asked[0] == "export" else ("-o", "json")
    here = turnfold(*asked, "--history", demo, *json)
    there = turnfold(*asked, "--history", copied, *json)
    assert (there.code, there.out) == (here.code, here.out), there.err
    assert here.code == 0, here.err


def test_the_doctor_compares_sizes_and_reads_no_data_file(
    s3: S3Server, root: ObjectPath, demo: Path, settings: dict[str, str]
) -> None:
    """A file of the right size that is no Parquet is not noticed: nobody has fetched it."""
    for file in (demo / "turnfold.json", *(demo / "events").rglob("*")):
        if file.is_file():
            put(root, str(file.relative_to(demo)), file.read_bytes())
    files = sorted(str(one.relative_to(demo)) for one in demo.glob("events/date=*/*.parquet"))
    put(root, files[0], bytes((demo / files[0]).stat().st_size))
    status, tables = examined(root)
    assert (status, [one["status"] for one in tables]) == ("ok", ["ok"])
    put(root, files[1], b"short")
    obstore.delete(root.store, f"{root.key}/{files[2]}")
    status, tables = examined(root)
    assert status == "wrong"
    assert f"{files[1]}: has 5 bytes" in tables[0]["found"]
    assert f"{files[2]}: is missing" in tables[1]["found"]
    assert len(tables) == 2


def put(root: ObjectPath, name: str, content: bytes) -> None:
    obstore.put(root.store, f"{root.key}/{name}", content)


def examined(root: ObjectPath) -> tuple[str, list[dict[str, Any]]]:
    """The status of all, and what is found of the tables."""
    done = turnfold("admin", "doctor", "--history", str(root), "-o", "json")
    report = done.json()
    return report["status"], [one for one in report["findings"] if one["check"] == "tables"]


def test_an_export_and_a_comparison_read_the_bucket(
    demo: Path, copied: str, settings: dict[str, str]
) -> None:
    done = turnfold("export", "emma", "--history", copied)
    here = turnfold("export", "emma", "--history", demo)
    assert done.code == 0, done.err
    assert done.out.splitlines()[1:] == here.out.splitlines()[1:]  # the first has the time
    done = turnfold("generation", "diff", str(demo), copied, "-o", "json", "--fail-on-change")
    assert done.code == 0, done.err
    assert all(row["same"] for row in done.json()["kinds"] if sum(map(int, [row["same"]])))


def test_the_doctor_looks_into_the_bucket(copied: str, settings: dict[str, str]) -> None:
    done = turnfold("admin", "doctor", "--history", copied)
    assert done.code == 0, done
    assert "ok       tables: 11 tables with rows" in done.out
    away = settings | {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}
    done = turnfold("admin", "doctor", "--history", copied, env=away)
    assert done.code == 2, done
    assert "WRONG    history" in done.out
    assert settings["AWS_SECRET_ACCESS_KEY"] not in done.out + done.err


@pytest.mark.parametrize("asked", NOT_YET, ids=" ".join)
def test_a_command_that_does_not_work_there_says_so(
    asked: tuple[str, ...],
    copied: str,
    settings: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = turnfold(*asked, "--history", copied, input=b"")
    assert done.code == 3
    assert len(done.err.splitlines()) == 1
    assert NOT_YET[asked] in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sql", WRITES)
def test_sql_writes_nothing_into_the_bucket(
    sql: str, copied: str, settings: dict[str, str], s3: S3Server
) -> None:
    """Neither by the command, nor by a connection that somebody forgot to check or to lock."""
    root = ObjectPath(copied)
    before = s3.objects(root.key)
    done = turnfold("sql", sql.format(url=copied), "--history", copied)
    assert done.code == 2, done.err
    for locked in (True, False):
        with (
            connect(root, views=["events"], locked=locked) as db,
            pytest.raises((_duckdb.Error, OSError)),
        ):
            db.execute(sql.format(url=copied))
            raise OSError("was not refused") if "SECRET" not in sql else OSError
    assert s3.objects(root.key) == before


def test_other_prefixes_of_the_bucket_are_not_read_by_sql(
    copied: str, root: ObjectPath, settings: dict[str, str]
) -> None:
    (root / "secret.csv").write_text("a,b\n1,2\n")
    sql = f"SELECT * FROM read_csv('{root}/secret.csv')"
    done = turnfold("sql", sql, "--history", copied)
    assert done.code == 2
    assert "1" not in done.out


def test_explain_shows_that_days_and_owners_are_pruned(root: ObjectPath) -> None:
    """5 days of 20,000 moments each, whose texts cannot be compressed."""
    with SharedHistory(root, OWNER) as history:
        for day in range(1, 6):
            moments = [moment(day, at) for at in range(day * 20_000, (day + 1) * 20_000)]
            offsets = [row[-2] for row in moments]
            some = Piece("a", offsets, to_arrow("affects", moments))
            history.write({"affects": [some]}, {"a": offsets[-1]}, {})
    whole = read("SELECT * FROM affects", root)
    one = read("SELECT * FROM affects WHERE date = '1970-01-04'", root)
    where = "date = '1970-01-04' AND user_id = 'u3'"
    owner = read(f"SELECT user_id, v FROM affects WHERE {where}", root)
    assert (whole["files"], whole["of"], whole["rows"]) == (5, 5, 100_000)
    assert (one["files"], one["of"], one["rows"]) == (1, 5, 20_000)
    assert (owner["files"], owner["rows"]) == (1, 20_000)
    # the first file is opened too, to learn the columns
    assert 0 < owner["bytes"] <= one["bytes"] < whole["bytes"] / 2


def moment(day: int, at: int) -> tuple[Any, ...]:
    text = sha256(b"%d" % at).hexdigest()
    return (f"e{at}", f"u{day}", None, 0.0, 0.0, 0.0, text, (), 1.0, False, at, "default", at,
            "history", 0, at, day)  # fmt: skip


def read(sql: str, root: ObjectPath) -> Any:
    done = turnfold("sql", sql, "--explain", "-o", "json", "--history", str(root))
    assert done.code == 0, done.err
    return done.json()


def test_three_writers_make_a_table_at_once(
    root: ObjectPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta makes it twice, and says to the third that its protocol has changed."""
    barrier, failures, apps = Barrier(3), list[BaseException](), "abc"
    create = DeltaTable.create

    def together(*given: Any, **more: Any) -> DeltaTable:
        with suppress(BrokenBarrierError):
            barrier.wait(5)
        return create(*given, **more)

    def write(app: str) -> None:
        try:
            with SharedHistory(root, OWNER) as history:
                history.write({"threads": [piece([1], app)]}, {app: 1}, {})
        except BaseException as error:
            failures.append(error)

    monkeypatch.setattr(DeltaTable, "create", together)
    threads = [Thread(target=write, args=[app]) for app in apps]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == []
    with connect(root, views=["threads"]) as db:
        assert db.execute("SELECT count(*) FROM threads").fetchall() == [(len(apps),)]


@pytest.mark.component
def test_compact_merges_files_while_a_sink_is_open(root: ObjectPath, s3: S3Server) -> None:
    with SharedHistory(root, OWNER) as history:
        for at in range(8):
            history.write({"threads": [piece([at])]}, {"a": at}, {})
        report = compact(root)
        assert report["threads"]["files_before"] == 8
        assert report["threads"]["files_after"] == 1
        assert history.write({"threads": [piece([8])]}, {"a": 8}, {}) == 1
        assert history.positions(["a"]) == {"a": 8}
    with connect(root, views=["threads"]) as db:
        found = db.execute("SELECT src_offset FROM threads ORDER BY ALL").fetchall()
    assert found == [(at,) for at in range(9)]
    names = [one for one in s3.objects(root.key) if one.endswith(".parquet") and "date=" in one]
    assert len(names) == 10  # the old ones stay for a week: somebody may be reading them


def test_compact_loses_nothing_that_a_sink_writes_meanwhile(
    root: ObjectPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its reading of the documents and its commit a sink adds one."""
    with SharedHistory(root, OWNER) as history:
        history.write({"profiles": [profiles([1, 2])]}, {"a": 2}, {})

        def met(*given: Any) -> None:
            history.write({"profiles": [profiles([3])]}, {"a": 3}, {})
            rewrite(*given)

        monkeypatch.setattr(maintenance, "rewrite", met)
        report = compact(root)
    assert report["profiles"]["rows_dropped"] == 1
    assert rows_of_profiles(root) == [("u", 2), ("u", 3)]  # the next call drops the older


def test_compact_begins_again_where_another_was_faster(
    root: ObjectPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SharedHistory(root, OWNER) as history:
        history.write({"profiles": [profiles([1, 2])]}, {"a": 2}, {})
        history.write({"profiles": [profiles([3])]}, {"a": 3}, {})
        others = [compact]

        def overtaken(*given: Any) -> None:
            if others:
                others.pop()(root)
            rewrite(*given)

        monkeypatch.setattr(maintenance, "rewrite", overtaken)
        report = compact(root)
    assert report["profiles"]["rows_dropped"] == 0
    assert rows_of_profiles(root) == [("u", 3)]


def test_of_two_that_merge_the_same_files_the_second_begins_again(
    root: ObjectPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta's own check lets both replace them: each row would be there twice."""
    with SharedHistory(root, OWNER) as history:
        for at in range(4):
            history.write({"threads": [piece([at])]}, {"a": at}, {})
    others = [compact]

    def overtaken(*given: Any) -> None:
        if others:
            others.pop()(root)
        merge_files(*given)

    monkeypatch.setattr(maintenance, "merge_files", overtaken)
    compact(root)
    with connect(root, views=["threads"]) as db:
        found = db.execute("SELECT src_offset FROM threads ORDER BY ALL").fetchall()
    assert found == [(at,) for at in range(4)]


def rows_of_profiles(root: ObjectPath) -> list[Any]:
    with connect(root, views=["profiles"]) as db:
        return db.execute("SELECT user_id, src_offset FROM profiles ORDER BY ALL").fetchall()


def profiles(offsets: list[int]) -> Piece:
    rows = [("u", at, at, "{}", "default", at, "history", 0, at, 1) for at in offsets]
    return Piece("a", offsets, to_arrow("profiles", rows))
