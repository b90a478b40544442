"""Index of one tenant: an SQLite file of documents with an FTS5 table of their terms.

Up to `STRETCH` consecutive documents of one session are a *passage*. A document's number is its
passage's number times `STRETCH` plus its place in it, so adjacent turns have adjacent numbers. The
memory of a user (states, preferences) has separate passages.

The FTS5 table maps terms to documents only (`detail=none`, no content): terms come from `tokens`;
counts and positions come from the text of the few ranked documents. A document has further terms
for its kind, session, user and the months of its dates, so the cost of a search of one user
depends on that user's data alone.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from streams.directory import states_held, users_and_sessions
from streams.directory.users_and_sessions import STRETCH as STRETCH
from streams.directory.users_and_sessions import Counts, Spoken
from streams.search import dates_named
from streams.search.document import Doc, event_columns, fts_text, joined, terms_of
from streams.search.query import Kind

FORMAT = 16
"""Format of the file, its terms and dates; an index of another format is rebuilt."""
COMMON = 0.002
"""Share of all documents above which a term's frequency is stored."""

UNSAFE = """
PRAGMA page_size = 8192;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -65536; -- KiB
"""
SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
{users_and_sessions.SCHEMA}{states_held.SCHEMA}CREATE TABLE passage (
    no INTEGER PRIMARY KEY, session INTEGER, person INTEGER, size INTEGER,
    earliest INTEGER, latest INTEGER
);
CREATE INDEX passage_owner ON passage (session, person);
CREATE TABLE doc (
    id INTEGER PRIMARY KEY, -- passage * {STRETCH} + place
    kind TEXT, owner INTEGER, key TEXT, -- owner: a name's number; key: the id there
    person INTEGER, at INTEGER, since INTEGER, ends INTEGER, until INTEGER, newest INTEGER,
    seq INTEGER, length INTEGER,
    -- of an event: characters of the user's words and of the agent's answer in `text`;
    -- microseconds from `at` to its recording
    said INTEGER, answered INTEGER, recorded INTEGER,
    text TEXT, terms TEXT, evidence TEXT,
    about TEXT -- the dates of its text, as `about.format_spans`
);
CREATE INDEX doc_key ON doc (key, kind, owner, since);
CREATE INDEX doc_said ON doc (at, owner, person, recorded) WHERE kind = 'event';
CREATE INDEX doc_held ON doc (owner, kind, until) WHERE kind <> 'event';
CREATE TABLE mark ( -- rows of `ends.MARKS` of users with retracted turns
    name TEXT, person INTEGER, row BLOB, PRIMARY KEY (name, person)
) WITHOUT ROWID;
CREATE INDEX mark_person ON mark (person);
CREATE TABLE changed (no INTEGER PRIMARY KEY, doc INTEGER); -- in order: new texts, for `vectors`
CREATE TABLE common (term TEXT PRIMARY KEY, docs INTEGER) WITHOUT ROWID;
CREATE VIRTUAL TABLE term USING fts5(
    terms, content='', columnsize=0, detail='none', tokenize="ascii tokenchars '.:-'"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(term, row);
"""

_BEGUN = f"""INSERT OR IGNORE INTO begun
    SELECT doc.id, coalesce(passage.session, 0), coalesce(doc.person, 0), at, at + recorded
    FROM doc JOIN passage ON passage.no = doc.id / {STRETCH} WHERE doc.id = ?"""
"""Saves the running version of a turn before its ended version replaces it."""


class New(NamedTuple):
    """A new document with its number from `Index.place`. Valid until `ends`, searchable until
    `until`; `newest`: no later version exists."""

    number: int
    doc: Doc
    ends: int
    until: int
    newest: bool


class Placed(NamedTuple):
    """A document's number, row, terms, and the turn to count, if it is one."""

    number: int
    row: tuple[Any, ...]
    terms: str
    spoken: Spoken | None


class Passage(NamedTuple):
    """The last passage of a session or user: its number of documents, and its period from the first
    time (valid or said) to the last (said)."""

    no: int
    size: int
    earliest: int
    latest: int


class Version(NamedTuple):
    """A stored document's number, validity, sequence number and text."""

    number: int
    since: int
    ends: int
    seq: int
    text: str


class Index:
    """One tenant's index, open; the caller commits."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self._passages: dict[tuple[int | None, int | None], Passage] = {}
        self._grown: dict[int, Passage] = {}
        self.name = lru_cache(maxsize=50_000)(self._name)
        self._counts = Counts(db)
        self._replaced: set[int] = set()  # sessions with replaced turns
        self.docs: int = self.get_meta("docs") or 0

    @classmethod
    def create(cls, path: Path) -> Self:
        """Creates a file, without a journal: an incomplete file is discarded."""
        db = sqlite3.connect(path, isolation_level=None)
        db.executescript(UNSAFE + SCHEMA)
        return cls(db)

    def get_meta(self, key: str) -> Any:
        """Returns a metadata value, or None."""
        result = self.db.execute("SELECT value FROM meta WHERE key = ?", [key]).fetchone()
        return None if result is None else msgspec.json.decode(result[0])

    def set_meta(self, key: str, value: Any) -> None:
        """Stores a metadata value."""
        row = [key, msgspec.json.encode(value).decode()]
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", row)

    def _name(self, kind: str, name: str) -> int:
        sql = "SELECT no FROM name WHERE kind = ? AND name = ?"
        result = self.db.execute(sql, [kind, name]).fetchone()
        if result is None:
            sql = "INSERT INTO name (kind, name) VALUES (?, ?) RETURNING no"
            result = self.db.execute(sql, [kind, name]).fetchone()
        return int(result[0])

    def add(self, docs: Iterable[Doc]) -> None:
        """Adds new documents."""
        self.write([New(self.place(doc), doc, doc.ends, doc.ends, True) for doc in docs])

    def place(self, doc: Doc) -> int:
        """Returns the number for a new document; `write` stores it."""
        session, person = self._names(doc)
        return self._next(session, None if session is not None else person, doc)

    def write(self, docs: Iterable[New]) -> None:
        """Writes new documents."""
        # FTS5 writes ascending numbers in one segment
        placed = [self._placed(new) for new in sorted(docs, key=lambda new: new.number)]
        self.db.executemany(
            f"INSERT INTO doc VALUES ({', '.join('?' * 19)})", (doc.row for doc in placed)
        )
        self._note_changes(doc.number for doc in placed)
        self._write_passages()
        self._counts.add(doc.spoken for doc in placed if doc.spoken)
        self.docs += len(placed)
        self.db.executemany(
            "INSERT INTO term (rowid, terms) VALUES (?, ?)",
            ((doc.number, doc.terms) for doc in placed),
        )

    def _placed(self, new: New) -> "Placed":
        number, doc, ends, until, newest = new
        session, person = self._names(doc)
        owner = session if session is not None else person
        text_terms, answer_terms = terms_of(doc)
        row = (
            number, doc.kind, owner, doc.key, person, doc.at, doc.since, ends, until, int(newest),
            doc.seq, len(text_terms), *event_columns(doc), doc.text,
            joined(text_terms, answer_terms),
            "\n".join(doc.evidence) or None, dates_named.format_spans(doc.about),
        )  # fmt: skip
        words = fts_text(text_terms + answer_terms, doc.kind, session, person, doc.about)
        is_turn = doc.kind == "event" and session is not None
        spoken = Spoken(session or 0, person or 0, doc.at, doc.recorded) if is_turn else None
        return Placed(number, row, words, spoken)

    def _next(self, session: int | None, person: int | None, doc: Doc) -> int:
        """Assigns the number of an owner's next document."""
        owner, at, since = (session, person), doc.at, min(doc.at, doc.since)
        if owner not in self._passages:
            sql = (
                "SELECT no, size, earliest, latest FROM passage "
                "WHERE session IS ? AND person IS ? ORDER BY no DESC"
            )
            row = self.db.execute(sql, owner).fetchone()
            self._passages[owner] = Passage(*row) if row else Passage(0, STRETCH, since, at)
        last = self._passages[owner]
        if last.size == STRETCH:
            sql = "INSERT INTO passage (session, person) VALUES (?, ?)"
            last = Passage(self.db.execute(sql, owner).lastrowid or 0, 0, since, at)
        grown = Passage(last.no, last.size + 1, min(last.earliest, since), max(last.latest, at))
        self._passages[owner] = self._grown[grown.no] = grown
        return last.no * STRETCH + last.size

    def _write_passages(self) -> None:
        sql = "UPDATE passage SET size = ?, earliest = ?, latest = ? WHERE no = ?"
        self.db.executemany(
            sql,
            (
                (passage.size, passage.earliest, passage.latest, passage.no)
                for passage in self._grown.values()
            ),
        )
        self._grown.clear()
        self._passages.clear()

    def _names(self, doc: Doc) -> tuple[int | None, int | None]:
        """The numbers of a document's session and user."""
        return (
            None if doc.session is None else self.name("session", doc.session),
            None if doc.user is None else self.name("user", doc.user),
        )

    def owner(self, doc: Doc) -> int | None:
        """The number of the session, otherwise of the user, in which a document's id is unique."""
        session, person = self._names(doc)
        return person if session is None else session

    def replace(self, number: int, doc: Doc) -> None:
        """Replaces a document."""
        if doc.kind == "event":
            self.db.execute(_BEGUN, [number])
        self._unlist(number)
        session, person = self._names(doc)
        text_terms, answer_terms = terms_of(doc)
        row = [
            person, doc.at, doc.since, doc.ends, doc.ends, doc.seq,
            len(text_terms), *event_columns(doc), doc.text, joined(text_terms, answer_terms),
            "\n".join(doc.evidence) or None, dates_named.format_spans(doc.about), number,
        ]  # fmt: skip
        self.db.execute(
            "UPDATE doc SET person = ?, at = ?, since = ?, ends = ?, until = ?, seq = ?, "
            "length = ?, said = ?, answered = ?, recorded = ?, text = ?, terms = ?, evidence = ?, "
            "about = ? WHERE id = ?",
            row,
        )
        words = fts_text(text_terms + answer_terms, doc.kind, session, person, doc.about)
        self.db.execute("INSERT INTO term (rowid, terms) VALUES (?, ?)", [number, words])
        self._note_changes([number])
        self.widen([(number, doc)])
        if doc.kind == "event" and session is not None:
            self._replaced.add(session)

    def _note_changes(self, numbers: Iterable[int]) -> None:
        self.db.executemany(
            "INSERT INTO changed (doc) VALUES (?)", ((number,) for number in numbers)
        )

    def begin(self, number: int, doc: Doc) -> None:
        """Stores the running version of a turn; `number`: of its ended version."""
        session, person = self._names(doc)
        row = [number, session or 0, person or 0, doc.at, doc.recorded]
        self.db.execute("INSERT OR IGNORE INTO begun VALUES (?, ?, ?, ?, ?)", row)
        self._counts.note_activity(doc.at, doc.recorded)

    def widen(self, docs: Iterable[tuple[int, Doc]]) -> None:
        """Extends the periods of passages to the times of replaced documents, by number."""
        sql = "UPDATE passage SET earliest = min(earliest, ?1, ?2), latest = max(latest, ?1) "
        times = ((doc.at, doc.since, number // STRETCH) for number, doc in docs)
        self.db.executemany(f"{sql} WHERE no = ?3", times)

    def touch(self, kind: str, id: str, at: int) -> None:
        """Notes another record of a session or user than a turn."""
        self._counts.touch(self.name(kind, id), at)

    def plan(self, plans: Iterable[tuple[str, int, int]]) -> None:
        """Adds write plans: (user, time, time of the first recording)."""
        self._counts.plan((at, self.name("user", user), recorded) for user, at, recorded in plans)

    def settle_counts(self) -> None:
        """Updates the counts of sessions and users; call it before the transaction ends."""
        sql = (
            "SELECT passage.session, coalesce(doc.person, 0), at, at + recorded FROM passage "
            f"JOIN doc ON doc.id BETWEEN no * {STRETCH} AND no * {STRETCH} + {STRETCH - 1} "
            "WHERE passage.session = ? AND doc.kind = 'event'"
        )
        for session in self._replaced:
            self._counts.recount(session, map(Spoken._make, self.db.execute(sql, [session])))
        self._replaced.clear()
        self._counts.settle()

    def versions(self, kind: Kind, owner: int | None, key: str) -> list[Version]:
        """Returns the versions of an item of memory, oldest first; an event has one."""
        sql = (
            "SELECT id, since, ends, seq, text FROM doc WHERE key = ? AND kind = ? AND owner = ? "
            f"ORDER BY {'since' if kind == 'state' else 'seq'}"
        )
        return list(map(Version._make, self.db.execute(sql, [key, kind, owner])))

    def bound(self, bounds: Iterable[tuple[int, int, bool]]) -> None:
        """Stores the `until` and `newest` of documents."""
        sql = "UPDATE doc SET until = ?2, newest = ?3 WHERE id = ?1"
        self.db.executemany(sql, bounds)

    def marks(self, person: int) -> dict[str, bytes]:
        """A user's rows with marks of retracted turns, by name."""
        return dict(self.db.execute("SELECT name, row FROM mark WHERE person = ?", [person]))

    def put_marks(self, person: int, rows: Mapping[str, bytes | None]) -> None:
        """Replaces some of them."""
        values = ((name, person, row) for name, row in rows.items())
        self.db.executemany("INSERT OR REPLACE INTO mark VALUES (?, ?, ?)", values)

    def marking(self, names: list[str]) -> list[int]:
        """The users who have one of these rows."""
        sql = f"SELECT DISTINCT person FROM mark WHERE name IN ({', '.join('?' * len(names))})"
        return [person for (person,) in self.db.execute(sql, names)]

    def turns_of(self, person: int, event_id: str) -> list[tuple[int, str]]:
        """The turns of an id with this user or without one: number and session."""
        sql = (
            "SELECT doc.id, name.name FROM doc JOIN name ON name.no = doc.owner "
            "WHERE doc.key = ? AND doc.kind = 'event' AND (person = ? OR person IS NULL)"
        )
        return list(self.db.execute(sql, [event_id, person]))

    def end(self, number: int, at: int) -> None:
        """Ends the validity of a document."""
        self.db.execute("UPDATE doc SET ends = ? WHERE id = ?", [at, number])

    def drop(self, number: int) -> None:
        """Deletes a document."""
        self._unlist(number)
        self.docs -= 1
        self.db.execute("DELETE FROM doc WHERE id = ?", [number])

    def _unlist(self, number: int) -> None:
        # contentless FTS5 deletes only the terms passed to it
        sql = (
            "SELECT doc.terms, doc.kind, session, doc.person, doc.about FROM doc JOIN passage "
            f"ON passage.no = doc.id / {STRETCH} WHERE id = ?"
        )
        terms, kind, session, person, dates = self.db.execute(sql, [number]).fetchone()
        words = fts_text(terms.split(), kind, session, person, dates_named.parse_spans(dates))
        sql = "INSERT INTO term (term, rowid, terms) VALUES ('delete', ?, ?)"
        self.db.execute(sql, [number, words])

    def count(self) -> None:
        """Stores the document frequency of common terms, and the mean length without answers."""
        (length,) = self.db.execute("SELECT avg(length) FROM doc WHERE length > 0").fetchone()
        self.set_meta("length", length or 1.0)
        self.db.execute("DELETE FROM common")
        sql = "INSERT INTO common SELECT term, doc FROM vocabulary WHERE doc > ?"
        self.db.execute(sql, [max(1000, COMMON * self.docs)])
        self.set_meta("counted", self.docs)

    def finish(self) -> None:
        """Switches a new index to WAL mode, for concurrent readers."""
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute("PRAGMA journal_mode = WAL")

    def close(self) -> None:
        """Closes the file."""
        self.db.close()
