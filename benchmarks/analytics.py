"""The questions of docs/analytics.md over a history of so many events.

Goal: 1 s each over 10 M events on two cores, from the command line. The bare loop is DuckDB in a
process of its own, which reads the columns that the question reads, in the same files, and hashes
them.

The history is real conversations over 120 days, folded with the rules, then copied under other ids
until there are enough events (`--events`); the copies begin one after the other over a year. A copy
has ids of its own in every column that holds one; inside the text of documents they stay as they
were. Lessons, facts, what people felt (EmoBank's ratings) and refused lines, which the dialogues
lack, are added every so many turns.
"""

import csv
import gzip
import json
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
from deltalake import DeltaTable

from benchmarks import common
from benchmarks.common import median, spread
from schemas.base import DAY, SECOND, JsonObject, format_time, parse_time
from sinks.delta import History
from sinks.history import connect
from sinks.maintenance import paths
from sinks.tables import SCHEMAS, TIMESTAMP
from streams.extractors.naming import named
from streams.files import local
from tests.acceptance import ledger, reflexion, sgd, tau_bench
from tests.questions import Question, questions
from tests.shared_data import shared

PROGRAM = str(Path(sys.executable).with_name("turnfold"))
GOAL = 1000  # ms
BARE = """
import json, sys
import duckdb
duckdb.execute("SET enable_progress_bar = false")
for columns, files in json.loads(sys.stdin.read()):
    read = f"read_parquet({files}, hive_partitioning = true, union_by_name = false)"
    duckdb.execute(f"SELECT bit_xor(hash({', '.join(columns)})) FROM {read}").fetchall()
"""
DAYS = 120
YEAR = 365
DAYS_A_COMMIT = 10
START = parse_time("2026-01-01T00:00:00Z")
PLAN_EVERY = 5
AFFECT_EVERY = 5
LESSON_EVERY = 20
REFUSED_EVERY = 1000
TENANTS = 8
IDS = frozenset({
    "client_id", "entity_id", "event_id", "from_event_id", "owner_id", "plan_id", "revision_id",
    "session_id", "signal_id", "task_id", "thread_key", "to_event_id", "trace_id", "user_id",
})  # fmt: skip
"""Columns that hold an id: those of a copy are its own."""


class Scan(NamedTuple):
    """Columns that a question reads, and in which files."""

    columns: list[str]
    files: list[str]


def main() -> None:
    """Builds the history unless one is given, then asks each question again and again."""
    parser = common.arguments(__doc__)
    parser.add_argument("--history", type=Path, help="used as it is, or built here if not there")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", type=int, nargs="+", help="numbers of questions")
    given = parser.parse_args()
    common.pin(given.cores)
    with common.work_folder(given.work) as folder:
        history = given.history or folder / "history"
        if not history.exists():
            build(folder, history, given.events)
        rows = [
            _asked(one, history, given.repeat)
            for one in questions()
            if given.only is None or one.number in given.only
        ]
        with connect(history, views=["events"]) as db:
            ((events,),) = db.execute("SELECT count(*) FROM events").fetchall()
        head = ("", "ms", "spread", "CPU ms", "bare scan ms", "its CPU ms", "ratio", "files",
                "result")  # fmt: skip
        title = f"analytics: {events:,} events, {given.cores} core(s), median of {given.repeat}"
        common.show(title, head, rows)


# --- the history --------------------------------------------------------------------------------


def build(folder: Path, history: Path, events: int) -> None:
    """Folds the data once, then appends copies of its rows, day by day."""
    file, base = folder / "records.ndjson", folder / "base"
    common.write_ndjson(file, _records())
    folded = common.in_process(_fold, str(file), str(base))
    common.note(f"folded: {folded.answer} in {folded.seconds:.0f} s")
    began = time.perf_counter()
    with connect(base) as db, History(history) as copied:
        ((real,),) = db.execute("SELECT count(*) FROM events").fetchall()
        db.execute(f"CREATE TABLE copy AS SELECT range AS n, range * {YEAR - DAYS} // "
                   f"{-(-events // real)} AS later FROM range({-(-events // real)})")  # fmt: skip
        for table in SCHEMAS:
            rows = sum(_copy(db, copied, table))
            common.note(f"{table}: {rows:,} rows, {time.perf_counter() - began:.0f} s")
    common.note(f"built: {common.folder_size(history):,.0f} MB")


def _fold(file: str, history: str) -> dict[str, Any]:
    return local.run([file], history, choose=lambda _: named("rules"))


def _records() -> Iterator[Any]:
    """All the data over DAYS days, in the order in which a log would have it."""
    sources = (
        _plans(_felt(_lessons(_spread(sgd.records(common.sgd_path()))))),
        tau_bench.records(_data("tau_bench", "gpt-4o-airline_tasks_0-29.json.gz")),
        reflexion.records(_data("reflexion", "hotpotqa_react_reflexion_trials_1-2.txt.gz")),
        ledger.records(_data("corrections", "ledger.json")),
    )
    whole = sorted((one for source in sources for one in source), key=_moment)
    for number, record in enumerate(whole):
        yield record
        if number % REFUSED_EVERY == 0:
            yield {name: record[name] for name in ("type", "session_id") if name in record}


def _moment(record: JsonObject) -> int:
    return parse_time(record["occurred_at"])


def _data(*names: str) -> Path:
    return shared("data", *names)


def _spread(turns: Iterator[JsonObject]) -> Iterator[JsonObject]:
    """The dialogues, which lie a minute apart, over all days."""
    wider = DAYS * DAY // (len(common.sgd_texts()) * sgd.GAP)
    for turn in turns:
        whole, within = divmod(_moment(turn) - sgd.START, sgd.GAP)
        at = START + whole * sgd.GAP * wider + within
        yield turn | {"occurred_at": format_time(at)}


def _lessons(turns: Iterator[JsonObject]) -> Iterator[JsonObject]:
    """Each so many turns, the answers to a lesson on the turn's topic."""
    levels = ("easy", "medium", "hard")
    for number, turn in enumerate(turns):
        if number % LESSON_EVERY == 0:
            at = number // LESSON_EVERY
            lesson = {"difficulty": levels[at % 3], "correct_rate": (at % 11) / 10}
            turn = turn | {"artifact": "quiz", "metadata": turn["metadata"] | lesson}
        yield turn


def _felt(turns: Iterator[JsonObject]) -> Iterator[JsonObject]:
    """Each so many turns, what people felt in a sentence of EmoBank."""
    with gzip.open(_data("emobank", "train.csv.gz"), "rt", encoding="utf-8") as file:
        rated = list(csv.DictReader(file))
    for number, turn in enumerate(turns):
        if number % AFFECT_EVERY == 0:
            felt = rated[number // AFFECT_EVERY % len(rated)]
            vad = {axis.lower(): (float(felt[axis]) - 3) / 2 for axis in "VAD"}
            turn = turn | {"affect": {"vad": vad, "confidence": 0.8}}
        yield turn


def _plans(turns: Iterator[JsonObject]) -> Iterator[JsonObject]:
    """After each so many turns a plan: a user's fact, a correction of it, a preference, an end."""
    made: dict[str, int] = {}
    for number, turn in enumerate(turns):
        yield turn
        if number % PLAN_EVERY == 0:
            user = turn["user_id"]
            made[user] = made.get(user, -1) + 1
            yield _plan(turn, made[user])


def _plan(turn: JsonObject, number: int) -> JsonObject:
    round_, step = divmod(number, 4)
    at = _moment(turn)
    plan = {
        "type": "write_plan",
        "plan_id": f"plan-{turn['event_id']}",
        "extractor": {"name": ("rules", "llm")[number % 2], "version": "1"},
        **{name: turn[name] for name in ("user_id", "session_id", "event_id", "occurred_at")},
        "recorded_at": format_time(at + (1 + number % 7) * SECOND),
    }
    if step == 2:
        liked = {"domain": "service", "polarity": "like", "subject": turn["topic"]}
        return plan | {"preference_updates": [{"op": "confirm", **liked, "confidence": 0.8}]}
    fact = {"kind": "fact", "state_id": f"{turn['user_id']}-{round_}", "reason": "said so"}
    said = {"body_text": turn["user_input"], "valid_from": turn["occurred_at"], "confidence": 0.8}
    return plan | {"state_updates": [fact | ({"op": "close"} if step == 3 else said)]}


def _copy(db: duckdb.DuckDBPyConnection, copied: History, table: str) -> Iterator[int]:
    """How many rows each append has: as a compacted history lies, a file a day."""
    db.execute(f"CREATE TABLE real_{table} AS FROM {table}")
    chosen = ", ".join(_column(field) for field in SCHEMAS[table])
    for version in range(-(-YEAR // DAYS_A_COMMIT) + 1):
        first = START // DAY + version * DAYS_A_COMMIT
        rows = db.sql(
            f"SELECT {chosen} FROM real_{table} t JOIN copy "
            f"ON t.date + later::INTEGER - DATE '1970-01-01' - {first} "
            f"BETWEEN 0 AND {DAYS_A_COMMIT - 1} ORDER BY date, recorded_at"
        ).to_arrow_table()
        copied.append(table, rows.cast(SCHEMAS[table]), "benchmark", version)
        yield rows.num_rows


def _column(field: "pa.Field[Any]") -> str:
    name = f't."{field.name}"'
    if field.name in IDS:
        name = f"{name} || '-' || n"
    elif field.name == "tenant":  # a few large ones, many small
        name = f"'tenant-' || floor({TENANTS} * pow(hash(n) % 1000 / 1000, 2))::INTEGER"
    elif field.name == "date":
        name = f"{name} + later::INTEGER"
    elif field.type == TIMESTAMP:
        name = f"{name} + to_days(later::INTEGER)"
    return f'{name} AS "{field.name}"'


# --- the questions --------------------------------------------------------------------------------


def _asked(question: Question, history: Path, repeat: int) -> tuple[str, ...]:
    """A line of the table: the command, and the bare scan in turn with it."""
    scans = _scans(question, history)
    command = [PROGRAM, "sql", question.sql, "--history", str(history), "--format", "csv"]
    bare = [sys.executable, "-c", BARE]
    spent = [(_process(command), _process(bare, json.dumps(scans))) for _ in range(repeat)]
    asked, floor = zip(*spent, strict=True)
    (whole, cpu), (bared, bare_cpu) = (zip(*each, strict=True) for each in (asked, floor))
    common.note(f"{question.number}. {median(whole):.0f} ms, bare {median(bared):.0f} ms")
    return (
        f"{question.number}. {question.name}",
        f"{median(whole):.0f}",
        spread(whole),
        f"{median(cpu):.0f}",
        f"{median(bared):.0f}",
        f"{median(bare_cpu):.0f}",
        f"{median(cpu) / median(bare_cpu):.2f}",
        f"{sum(len(one.files) for one in scans)}",
        "met" if median(whole) <= GOAL else "MISSED",
    )


def _scans(question: Question, history: Path) -> list[Scan]:
    """What DuckDB says it read. It names the first files only; questions read up to the last."""
    with connect(history) as db:
        ((_, plan),) = db.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {question.sql}").fetchall()
    found = []
    for told in _told(json.loads(plan)):
        table = Path(told["Filename(s)"].split(", ")[0]).parent.parent.name
        files = paths(DeltaTable(str(history / table)))
        read = sorted(files)[-int(told["Total Files Read"]) :]
        named = set(re.findall(r"\w+", str([told["Projections"], told.get("Filters")])))
        found.append(Scan([name for name in SCHEMAS[table].names if name in named], read))
    return found


def _told(part: Any) -> Iterator[dict[str, Any]]:
    """The scans of a plan."""
    if isinstance(part, dict) and "Filename(s)" in part:
        yield part
    for below in part.values() if isinstance(part, dict) else part:
        if isinstance(below, dict | list):
            yield from _told(below)


def _process(command: list[str], given: str = "") -> tuple[float, float]:
    """Milliseconds from start to end, and of CPU."""
    began, used = time.perf_counter(), _used()
    subprocess.run(command, input=given.encode(), capture_output=True, check=True)
    return 1000 * (time.perf_counter() - began), 1000 * (_used() - used)


def _used() -> float:
    """CPU seconds of the processes that were waited for."""
    times = resource.getrusage(resource.RUSAGE_CHILDREN)
    return times.ru_utime + times.ru_stime


if __name__ == "__main__":
    main()
