"""`turnfold sql`: three formats, reading only; the same views for plain DuckDB."""

import csv
import io
import subprocess
from pathlib import Path
from typing import Any

import duckdb
import pytest

from schemas.rows import TABLES
from sinks.history import QueryError, query
from sinks.views import ALL_VIEWS, MACROS
from tests.command import PROGRAM, answer, snapshot, turnfold


def test_catalog_is_opened_by_plain_duckdb(sample: Path, tmp_path: Path) -> None:
    file = tmp_path / "catalog.duckdb"
    assert answer("admin", "catalog", file, "--history", sample) == {"file": str(file)}
    asked = (
        "import duckdb, sys; db = duckdb.connect(sys.argv[1], read_only=True); "
        "print(db.execute('SELECT count(*) FROM event_current').fetchone()[0], "
        "db.execute(\"SELECT count(*) FROM why('emma-home')\").fetchone()[0])"
    )
    python = Path(PROGRAM).with_name("python")
    done = subprocess.run(
        [python, "-I", "-c", asked, file], capture_output=True, text=True, check=True
    )
    events, reasons = map(int, done.stdout.split())
    assert events == len(
        {row["event_id"] for row in sql_json(sample, "SELECT event_id FROM events")}
    )
    assert reasons > 1


def sql_json(sample: Path, query: str) -> Any:
    """The rows of `turnfold sql -o json`."""
    done = turnfold("sql", query, "--history", sample, "-o", "json")
    assert done.code == 0, done.err
    return done.json()


def test_sql_answers_in_three_formats(sample: Path) -> None:
    query = (
        "SELECT user_id, count(*) AS n, min(occurred_at) AS first FROM events GROUP BY 1 ORDER BY 1"
    )
    found = sql_json(sample, query)
    assert [row["user_id"] for row in found] == ["emma", "lin", "yui"]
    assert found[0]["first"] == "2026-03-02T08:55:00Z"
    assert answer("sql", query, "--history", sample) == found
    given = turnfold("sql", query, "--history", sample, "-o", "csv").out
    as_text = [{name: str(value) for name, value in row.items()} for row in found]
    assert list(csv.DictReader(io.StringIO(given))) == as_text
    table = turnfold("sql", query, "--history", sample).out
    assert all(row["user_id"] in table for row in found)


REFUSED = (
    "COPY events TO '{0}/x.csv'", "COPY (SELECT 1) TO '{0}/x.parquet'", "ATTACH '{0}/x.db'",
    "CREATE TABLE t (a INT)", "CREATE VIEW v AS SELECT 1", "INSTALL httpfs", "LOAD httpfs",
    "EXPORT DATABASE '{0}/x'", "DROP VIEW events", "DELETE FROM events", "SET threads = 1",
    "PRAGMA database_list", "CALL pragma_version()", "SELECT 1; DROP VIEW events",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{0}/x.csv'", "SELECT * FROM read_text('{0}/secret')",
    "SELECT * FROM '{0}/secret.csv'", "SELECT * FROM glob('{0}/*')", "SELEC", "",
    "SELECT * FROM no_such_table", "FROM read_csv('{0}/secret.csv')",
)  # fmt: skip


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A folder with files that no query may read."""
    (tmp_path / "secret").write_text("hidden")
    (tmp_path / "secret.csv").write_text("a\nhidden\n")
    return tmp_path


@pytest.mark.parametrize("text", REFUSED)
def test_sql_only_reads_the_history(sample: Path, secret: Path, text: str) -> None:
    before = snapshot(secret)
    with pytest.raises(QueryError) as refused:
        query(sample, text.format(secret))
    assert refused.value.exit_code == 2 and "hidden" not in str(refused.value)
    assert snapshot(secret) == before


@pytest.mark.parametrize("text", REFUSED[:3])
def test_the_sql_command_refuses_with_2(sample: Path, secret: Path, text: str) -> None:
    before = snapshot(secret)
    done = turnfold("sql", text.format(secret), "--history", sample)
    assert done.code == 2 and done.out == "" and done.err.startswith("turnfold: ")
    assert snapshot(secret) == before


def test_the_views_are_there_when_the_history_is_empty(empty: Path) -> None:
    views = [name for name in (*TABLES, *ALL_VIEWS) if name not in MACROS]
    calls = {
        "state_as_of": "NULL, NULL", "why": "'x'", "thread": "'x'", "reply_chain": "'x'",
        "tool_calls": "",
    }  # fmt: skip
    assert set(calls) == set(MACROS)
    names = [*views, *(f"{name}({given})" for name, given in calls.items())]
    counted = " UNION ALL ".join(f"SELECT count(*) AS n FROM {name}" for name in names)
    assert sql_json(empty, counted) == [{"n": 0}] * len(names)


def test_duckdb_reads_the_files_without_us(sample: Path) -> None:
    files = [str(path) for path in (sample / "events").rglob("*.parquet")]
    with duckdb.connect() as db:
        count = db.execute("SELECT count(*) FROM read_parquet(?)", [files]).fetchone()
    assert count is not None and count[0] == len(sql_json(sample, "SELECT event_id FROM events"))
