"""`session`, `why`, `timeline` and `state` on a history of 1 M events and 100,000 write plans.

Goal: 300 ms, whole process, from the command line. The bare loop is a Python process that asks
DuckDB for the rows of the same key in the same files.
"""

import functools
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
from deltalake import DeltaTable

from benchmarks import common, loops
from benchmarks.common import median, spread
from schemas.base import JsonObject
from sinks.history import connect
from sinks.maintenance import paths
from streams import listing, reading

PROGRAM = str(Path(sys.executable).with_name("turnfold"))
TENANT = "default"
FACTS = 20  # states a user; each further plan gives one of them a new version
BARE = """
import json, sys
import duckdb
column, value, *files = sys.argv[1:]
duckdb.execute("SET enable_progress_bar = false")
sql = f"SELECT COLUMNS(*)::VARCHAR FROM read_parquet({files}) WHERE {column} = ?"
print(json.dumps(duckdb.execute(sql, [value]).fetchall()))
"""


class Question(NamedTuple):
    """What is asked by command line, by a call, and bare: a table's rows where column = value."""

    name: str
    words: list[str]
    call: Callable[[], Any]
    bare: tuple[str, str, str]


def main() -> None:
    """Builds the history unless one is given, then asks each question again and again."""
    parser = common.arguments(__doc__)
    parser.add_argument("--history", type=Path, help="used as it is, or built here if not there")
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--plans", type=int, default=100_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    common.pin(given.cores)
    with common.work_folder(given.work) as folder:
        history = given.history or folder / "history"
        if not history.exists():
            _build(folder / "records.ndjson", history, given.turns, given.plans)
        _show(history, given.repeat, given.cores)


def _build(file: Path, history: Path, turns: int, plans: int) -> None:
    records = with_plans(common.sgd_records(turns), max(1, turns // max(1, plans)))
    total = common.write_ndjson(file, records)
    spent = common.in_process(loops.fold, str(file), str(history))
    assert spent.answer["applied"] == total, spent.answer
    common.note(f"built: {total:,} records in {spent.seconds:.0f} s")


def with_plans(turns: Iterator[JsonObject], every: int) -> Iterator[JsonObject]:
    """The turns, after each so many of them a plan that states a fact of the turn's user."""
    made: dict[str, int] = {}
    for number, turn in enumerate(turns, 1):
        yield turn
        if number % every == 0:
            user = turn["user_id"]
            made[user] = made.get(user, -1) + 1
            yield _plan(turn, made[user])


def _plan(turn: JsonObject, number: int) -> JsonObject:
    fact = {
        "kind": "fact",
        "state_id": f"{turn['user_id']}-fact-{number % FACTS}",
        "body_text": f"{turn['topic']}: {turn['user_input']}",
        "valid_from": turn["occurred_at"],
        "confidence": 0.8,
        "reason": "said so",
    }
    names = {name: turn[name] for name in ("user_id", "session_id", "event_id", "occurred_at")}
    made_by = {"name": "benchmark", "version": "1"}
    plan = {"type": "write_plan", "plan_id": f"plan-{turn['event_id']}", "extractor": made_by}
    return {**plan, **names, "state_updates": [fact]}


def _show(history: Path, repeat: int, cores: int) -> None:
    events, plans, questions = _questions(history)
    rows = [_asked(one, history, repeat) for one in questions]
    title = f"reading: {events:,} events, {plans:,} plans, {cores} core(s), median of {repeat}"
    head = ("", "process ms", "spread", "CPU ms", "call ms", "bare loop ms", "ratio of speeds")
    common.show(title, head, rows)


def _questions(history: Path) -> tuple[int, int, list[Question]]:
    """How many events and plans there are, and questions about what stands in their middle."""
    with connect(history, views=["events", "revisions", "plans"]) as db:
        events, plans = (_count(db, table) for table in ("events", "plans"))
        sql = "SELECT session_id FROM events LIMIT 1 OFFSET ?"
        (session,) = db.execute(sql, [events // 2]).fetchall()[0]
        sql = "SELECT owner_id, entity_id FROM revisions WHERE entity_type = 'state' OFFSET ?"
        user, state = db.execute(sql, [plans // 2]).fetchall()[0]
        sql = "SELECT max(occurred_at)::DATE::VARCHAR FROM events WHERE session_id = ?"
        (day,) = db.execute(sql, [session]).fetchall()[0]
    moment = reading.parse_moment(day)
    assert moment is not None
    now = time.time_ns() // 1000
    ask = functools.partial
    return (
        events,
        plans,
        [
            Question(
                f"session {session}",
                ["session", session],
                ask(reading.session, history, TENANT, session, None, now),
                ("sessions", "session_id", session),
            ),
            Question(
                f"session {session} --as-of {day}",
                ["session", session, "--as-of", day],
                ask(reading.session, history, TENANT, session, moment, now),
                ("events", "session_id", session),
            ),
            Question(
                f"why {state}",
                ["why", state],
                ask(listing.why, history, TENANT, state),
                ("revisions", "entity_id", state),
            ),
            Question(
                f"timeline {session}",
                ["timeline", session],
                ask(listing.timeline, history, TENANT, session),
                ("events", "session_id", session),
            ),
            Question(
                f"state --user {user} --as-of {day}",
                ["state", "--user", user, "--as-of", day],
                ask(reading.states, history, TENANT, user, moment, None),
                ("revisions", "owner_id", user),
            ),
            Question(
                f"state --as-of {day} (everybody)",
                ["state", "--as-of", day],
                ask(reading.states, history, TENANT, None, moment, None),
                ("revisions", "entity_type", "state"),
            ),
        ],
    )


def _count(db: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])


def _asked(question: Question, history: Path, repeat: int) -> tuple[str, ...]:
    table, column, value = question.bare
    command = [PROGRAM, *question.words, "--history", str(history), "--json"]
    files = paths(DeltaTable(str(history / table)))
    bare = [sys.executable, "-c", BARE, column, value, *files]
    asked, floor = ([_process(one) for _ in range(repeat)] for one in (command, bare))
    whole, bared = ([ms for ms, _ in spent] for spent in (asked, floor))
    inside = [_timed(question.call) for _ in range(repeat)]
    common.note(f"{question.name}: {median(whole):.0f} ms")
    return (
        question.name,
        f"{median(whole):.0f}",
        spread(whole),
        f"{median([cpu for _, cpu in asked]):.0f}",
        f"{median(inside):.0f}",
        f"{median(bared):.0f}",
        f"{median(bared) / median(whole):.2f}",
    )


def _process(command: list[str]) -> tuple[float, float]:
    """Milliseconds from start to end, and of CPU; the answer must be JSON of something."""
    began, used = time.perf_counter(), _used()
    done = subprocess.run(command, capture_output=True, check=True)
    spent = 1000 * (time.perf_counter() - began), 1000 * (_used() - used)
    assert json.loads(done.stdout), command
    return spent


def _used() -> float:
    """CPU seconds of the processes that were waited for."""
    times = resource.getrusage(resource.RUSAGE_CHILDREN)
    return times.ru_utime + times.ru_stime


def _timed(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    assert call()
    return 1000 * (time.perf_counter() - began)


if __name__ == "__main__":
    main()
