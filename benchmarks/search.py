"""Search: how often the right session is found, and how long a question takes over 1 M events.

`quality`: questions made from SGD's slots (`search_questions`), asked of one user who had all
5,110 sessions, and of ten and fifty who share them. Beside ours plain BM25 (FTS5 over the same
turns, and over whole sessions) and chance. The events are indexed without their intent and topic,
which would name what a question is about. `--part dev` is what the weights were tuned on.

`speed`: indexing, size on disk, and questions over SGD repeated; beside a bare FTS5 table of the
same texts, asked for the same words.
"""

import random
import sqlite3
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count, islice
from pathlib import Path
from statistics import mean, quantiles
from typing import Any, NamedTuple

from benchmarks import common, search_questions
from schemas.base import DAY, JsonObject, parse_time
from schemas.rows import EventRow
from sinks.delta import History
from sinks.tables import to_arrow
from streams.files import file_runner
from streams.search import Query, search, update
from tests.acceptance import sgd

NOW = parse_time("2026-01-05T00:00:00Z")
TENANT = "default"
SHOWN = 100
BATCH = 20_000
Find = Callable[[str, str], list[str]]
"""(user, text) -> the sessions of the hits, best first."""


class Measured(NamedTuple):
    """Shares of questions whose session is the first, or among the first ten; mean of 1/rank."""

    first: float
    ten: float
    mrr: float


def main() -> None:
    """One of the two."""
    parser = common.arguments(__doc__)
    parser.add_argument("what", choices=["quality", "speed"])
    parser.add_argument("--questions", type=int, default=1500)
    parser.add_argument("--part", choices=["dev", "held"], default="held")
    parser.add_argument("--turns", type=int, default=1_000_000)
    given = parser.parse_args()
    with common.work_folder(given.work) as folder:
        if given.what == "quality":
            for users in (1, 10, 50):
                _quality(folder / str(users), users, given.questions, given.part)
        else:
            _speed(folder, given.turns, given.questions)


# --- quality ----------------------------------------------------------------------------------


def _quality(folder: Path, users: int, most: int, part: str) -> None:
    history = build(folder, users)
    dialogues = search_questions.read(sgd.dialogues(common.sgd_path()))
    owner = {one.session: f"user-{one.number % users}" for one in dialogues}
    asked = [
        one
        for one in search_questions.questions(dialogues, users, 2 * most)
        if one.dev == (part == "dev")
    ][:most]
    ways: dict[str, Find] = {"ours": _ours(history), **_yardsticks(history)}
    rows = []
    for name, find in ways.items():
        ranks = [_rank(find(owner[one.session], one.text), one.session) for one in asked]
        kinds = sorted({one.kind for one in asked})
        both = list(zip(ranks, asked, strict=True))
        parts = {kind: [rank for rank, one in both if one.kind == kind] for kind in kinds}
        by_kind = ", ".join(f"{kind} {measured(some).ten:.1%}" for kind, some in parts.items())
        found = measured(ranks)
        rows.append((name, f"{found.first:.1%}", f"{found.ten:.1%}", f"{found.mrr:.3f}", by_kind))
    shares = sorted(search_questions.share(asked).items())
    counts = ", ".join(f"{count} {kind}" for kind, count in shares)
    title = f"search: {len(asked)} {part} questions ({counts}) to {users} user(s), 5,110 sessions"
    common.show(title, ("", "hit@1", "hit@10", "MRR", "hit@10 by kind"), rows)


def build(folder: Path, users: int) -> Path:
    """A history of SGD, its turns without labels."""
    folder.mkdir(parents=True, exist_ok=True)
    history = folder / "history"
    if not history.exists():
        records = map(_unlabelled, sgd.records(common.sgd_path(), users=users))
        common.write_ndjson(folder / "records.ndjson", records)
        file_runner.run([str(folder / "records.ndjson")], history)
    return history


def _unlabelled(turn: JsonObject) -> JsonObject:
    left_out = ("intent", "topic", "metadata")
    return {name: value for name, value in turn.items() if name not in left_out}


def measured(ranks: list[int | None]) -> Measured:
    """Of the ranks at which the right sessions were found."""
    total = len(ranks)
    found = [rank for rank in ranks if rank is not None]
    return Measured(
        sum(rank == 1 for rank in found) / total,
        sum(rank <= 10 for rank in found) / total,
        sum(1 / rank for rank in found) / total,
    )


def _rank(sessions: list[str], right: str) -> int | None:
    return sessions.index(right) + 1 if right in sessions else None


def _ours(history: Path) -> Find:
    update(history, TENANT)

    def find(user: str, text: str) -> list[str]:
        query = Query(text=text, now=NOW, user_id=user, kinds=("event",), limit=SHOWN)
        page = search(history, TENANT, query, update=False)
        return [one.session_id or "" for one in page.hits]

    return find


def _yardsticks(history: Path) -> dict[str, Find]:
    db = sqlite3.connect(update(history, TENANT))
    rows = db.execute(
        "SELECT p.name, s.name, doc.text FROM doc JOIN passage ON passage.no = doc.id / 16 "
        "JOIN name s ON s.no = passage.session JOIN name p ON p.no = doc.person"
    ).fetchall()
    sessions: dict[tuple[str, str], list[str]] = {}
    for user, session, text in rows:
        sessions.setdefault((user, session), []).append(text)
    whole = [(*key, "\n".join(texts)) for key, texts in sessions.items()]
    chance = random.Random(7)
    of_user: dict[str, list[str]] = {}
    for user, session, _ in rows:
        of_user.setdefault(user, []).append(session)
    return {
        "BM25 of turns": _bm25(rows),
        "BM25 of whole sessions": _bm25(whole),
        "chance": lambda user, _: chance.sample(of_user[user], SHOWN),
    }


def _bm25(rows: Iterable[tuple[str, str, str]]) -> Find:
    db = sqlite3.connect(":memory:")
    db.execute(
        "CREATE VIRTUAL TABLE t USING fts5(who UNINDEXED, session UNINDEXED, text, "
        "tokenize='porter unicode61')"
    )
    db.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)

    def find(user: str, text: str) -> list[str]:
        sql = "SELECT session FROM t WHERE t MATCH ? AND who = ? ORDER BY rank LIMIT ?"
        return [session for (session,) in db.execute(sql, [bare_match(text), user, SHOWN])]

    return find


def bare_match(text: str) -> str:
    """Any of a text's words, as FTS5 takes them."""
    words = "".join(one if one.isalnum() else " " for one in text).split()
    return " OR ".join(f'"{word}"' for word in words)


# --- speed ------------------------------------------------------------------------------------


def _speed(folder: Path, turns: int, asked: int) -> None:
    history = folder / "history"
    write_events(history, turns)
    spent = common.in_process(_indexed, history)
    common.note(f"indexed in {spent.seconds:.0f} s")
    index = spent.answer
    bare, bare_size = _bare(folder / "bare.sqlite", index)
    dialogues = search_questions.read(sgd.dialogues(common.sgd_path()))
    texts = [one.text for one in search_questions.questions(dialogues, 1, asked)]
    texts += ["restaurant", "I want to book a table", "yes please", "flight to San Francisco"]
    everybody, one_user = _timed_ours(history, texts, None), _timed_ours(history, texts, "user-7")
    rows = [
        ("ours, everybody's", *_shown(everybody), f"{index.stat().st_size / 1e6:.0f}"),
        ("ours, one of 1,000 users", *_shown(one_user), ""),
        ("bare FTS5, any word, by BM25", *_shown(_timed_bare(bare, texts)), f"{bare_size:.0f}"),
    ]
    title = (
        f"search: {turns:,} events, {len(texts)} questions; indexed at {turns / spent.cpu:,.0f} "
        f"events a CPU second ({turns / spent.seconds:,.0f}/s), {spent.peak:.0f} MB at most"
    )
    head = ("", "p50 ms", "p95 ms", "CPU ms a question", "MB on disk")
    common.show(title, head, rows)


def write_events(history: Path, turns: int) -> None:
    """The table `events` of SGD's turns, repeated; written as the sink would, without the folds."""
    columns = EventRow.model_fields
    records = common.sgd_records(turns)
    with History(history) as tables:
        for version in count():
            batch = list(islice(records, BATCH))
            if not batch:
                break
            rows = [_row(turn, columns, version * BATCH + n) for n, turn in enumerate(batch)]
            tables.append("events", to_arrow("events", rows), "benchmark", version)


def _row(turn: JsonObject, columns: Iterable[str], offset: int) -> tuple[Any, ...]:
    at = parse_time(turn["occurred_at"])
    given: JsonObject = {
        "event_id": turn["event_id"], "session_id": turn["session_id"],
        "user_id": turn["user_id"], "occurred_at": at, "user_input": turn["user_input"],
        "agent_answer": turn["agent_answer"], "status": "done", "source": "chat",
        "image_summaries": [], "doc": "{}",
    }  # fmt: skip
    return (*(given.get(name) for name in columns), TENANT, at, "sgd", 0, offset, at // DAY)


def _indexed(history: Path) -> Path:
    return update(history, TENANT)


def _bare(file: Path, index: Path) -> tuple[sqlite3.Connection, float]:
    db = sqlite3.connect(file)
    db.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize='porter unicode61')")
    db.execute("ATTACH ? AS ours", [str(index)])
    db.execute("INSERT INTO t (rowid, text) SELECT id, text FROM ours.doc")
    db.commit()
    db.execute("PRAGMA mmap_size = 4000000000")
    return db, file.stat().st_size / 1e6


def _timed_ours(history: Path, texts: list[str], user: str | None) -> list[tuple[float, float]]:
    queries = [Query(text=text, now=NOW, user_id=user) for text in texts]
    return [_timed(partial(search, history, TENANT, query)) for query in queries]


def _timed_bare(db: sqlite3.Connection, texts: list[str]) -> list[tuple[float, float]]:
    def ask(text: str) -> list[Any]:
        sql = "SELECT rowid FROM t WHERE t MATCH ? ORDER BY rank LIMIT 10"
        return db.execute(sql, [bare_match(text)]).fetchall()

    return [_timed(partial(ask, text)) for text in texts]


def _timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU milliseconds."""
    began, cpu = time.perf_counter(), time.process_time()
    call()
    return 1000 * (time.perf_counter() - began), 1000 * (time.process_time() - cpu)


def _shown(times: list[tuple[float, float]]) -> tuple[str, str, str]:
    """p50 and p95 of the wall, mean of the CPU."""
    cuts = quantiles([wall for wall, _ in times], n=20)
    return f"{cuts[9]:.1f}", f"{cuts[18]:.1f}", f"{mean(cpu for _, cpu in times):.1f}"


if __name__ == "__main__":
    main()
