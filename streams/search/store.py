"""The index of one tenant: an SQLite file with what is searched and an FTS5 table of its terms.

Up to `STRETCH` consecutive documents of one session are a *passage*, and a document's number is
its passage's times `STRETCH` and its place there: so what stands together is found together. What
is held of a user (states, preferences) fills passages of its own.

The FTS5 table knows which document has which terms and nothing else (`detail=none`, no content):
terms come from `tokens`, counts and places are taken from the text of the few that are ranked.
Next to its words a document has a term for its kind, its session, its user and the months of its
dates, so that a search of one user costs what that user said.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import msgspec

from streams.directory import owners, states_held
from streams.directory.owners import STRETCH as STRETCH
from streams.directory.owners import Counts, Spoken
from streams.search import about
from streams.search.doc import Doc, joined, parts, stored, terms_of
from streams.search.query import Kind

FORMAT = 16
"""Of the file, and of the terms and dates in it: another one is built again."""
COMMON = 0.002
"""A term in more than this share of all documents is listed with their number."""

UNSAFE = """
PRAGMA page_size = 8192;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -65536; -- KiB
"""
SCHEMA = f"""
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
{owners.SCHEMA}{states_held.SCHEMA}CREATE TABLE passage (
    no INTEGER PRIMARY KEY, session INTEGER, person INTEGER, size INTEGER,
    earliest INTEGER, latest INTEGER
);
CREATE INDEX passage_owner ON passage (session, person);
CREATE TABLE doc (
    id INTEGER PRIMARY KEY, -- passage * {STRETCH} + place
    kind TEXT, owner INTEGER, key TEXT, -- owner: a name's number; key: the id there
    person INTEGER, at INTEGER, since INTEGER, ends INTEGER, until INTEGER, newest INTEGER,
    seq INTEGER, length INTEGER,
    -- of an event: characters of `text` that the user said, and that the agent answered;
    -- microseconds from `at` to when it was recorded
    said INTEGER, answered INTEGER, recorded INTEGER,
    text TEXT, terms TEXT, evidence TEXT,
    about TEXT -- the dates that it names, as `about.written`
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
"""How a turn was, before what it is later takes its place."""


class New(NamedTuple):
    """A document that is not there yet, with the number that `Index.place` gave it. It is held up
    to `ends`, shown up to `until`; `newest`: no other version has come after it."""

    number: int
    doc: Doc
    ends: int
    until: int
    newest: bool


class Placed(NamedTuple):
    """A document with its number: its row, its terms, and the turn to count, if it is one."""

    number: int
    row: tuple[Any, ...]
    terms: str
    spoken: Spoken | None


class Passage(NamedTuple):
    """The last passage of a session or user: how many documents it has, from when (the first is
    true, or said) to when (the last was said)."""

    no: int
    size: int
    earliest: int
    latest: int


class Version(NamedTuple):
    """What is known of a document that is there."""

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
        self._replaced: set[int] = set()  # sessions with turns that have ended
        self.docs: int = self.value("docs") or 0

    @classmethod
    def create(cls, path: Path) -> Self:
        """A new file, which is no index before it is whole: written without a journal."""
        db = sqlite3.connect(path, isolation_level=None)
        db.executescript(UNSAFE + SCHEMA)
        return cls(db)

    def value(self, key: str) -> Any:
        """A note of ours, or None."""
        found = self.db.execute("SELECT value FROM meta WHERE key = ?", [key]).fetchone()
        return None if found is None else msgspec.json.decode(found[0])

    def note(self, key: str, value: Any) -> None:
        """Keeps a note."""
        given = [key, msgspec.json.encode(value).decode()]
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", given)

    def _name(self, kind: str, name: str) -> int:
        sql = "SELECT no FROM name WHERE kind = ? AND name = ?"
        found = self.db.execute(sql, [kind, name]).fetchone()
        if found is None:
            sql = "INSERT INTO name (kind, name) VALUES (?, ?) RETURNING no"
            found = self.db.execute(sql, [kind, name]).fetchone()
        return int(found[0])

    def add(self, docs: Iterable[Doc]) -> None:
        """Adds documents that are not there yet."""
        self.write([New(self.place(doc), doc, doc.ends, doc.ends, True) for doc in docs])

    def place(self, doc: Doc) -> int:
        """The number of a document that is not there yet, and will be once it is written."""
        session, person = self._names(doc)
        return self._next(session, None if session is not None else person, doc)

    def write(self, fresh: Iterable[New]) -> None:
        """Writes documents that have got their numbers."""
        # FTS5 takes rising numbers at once
        placed = [self._placed(one) for one in sorted(fresh, key=lambda one: one.number)]
        self.db.executemany(
            f"INSERT INTO doc VALUES ({', '.join('?' * 19)})", (one.row for one in placed)
        )
        self._note_changes(one.number for one in placed)
        self._write_passages()
        self._counts.add(one.spoken for one in placed if one.spoken)
        self.docs += len(placed)
        self.db.executemany(
            "INSERT INTO term (rowid, terms) VALUES (?, ?)",
            ((one.number, one.terms) for one in placed),
        )

    def _placed(self, new: New) -> "Placed":
        number, doc, ends, until, newest = new
        session, person = self._names(doc)
        owner = session if session is not None else person
        said, answered = terms_of(doc)
        row = (
            number, doc.kind, owner, doc.key, person, doc.at, doc.since, ends, until, int(newest),
            doc.seq, len(said), *parts(doc), doc.text, joined(said, answered),
            "\n".join(doc.evidence) or None, about.written(doc.about),
        )  # fmt: skip
        words = stored(said + answered, doc.kind, session, person, doc.about)
        is_turn = doc.kind == "event" and session is not None
        spoken = Spoken(session or 0, person or 0, doc.at, doc.recorded) if is_turn else None
        return Placed(number, row, words, spoken)

    def _next(self, session: int | None, person: int | None, doc: Doc) -> int:
        """The number of the next document of an owner."""
        owner, at, since = (session, person), doc.at, min(doc.at, doc.since)
        if owner not in self._passages:
            sql = (
                "SELECT no, size, earliest, latest FROM passage "
                "WHERE session IS ? AND person IS ? ORDER BY no DESC"
            )
            found = self.db.execute(sql, owner).fetchone()
            self._passages[owner] = Passage(*found) if found else Passage(0, STRETCH, since, at)
        last = self._passages[owner]
        if last.size == STRETCH:
            sql = "INSERT INTO passage (session, person) VALUES (?, ?)"
            last = Passage(self.db.execute(sql, owner).lastrowid or 0, 0, since, at)
        grown = Passage(last.no, last.size + 1, min(last.earliest, since), max(last.latest, at))
        self._passages[owner] = self._grown[grown.no] = grown
        return last.no * STRETCH + last.size

    def _write_passages(self) -> None:
        sql = "UPDATE passage SET size = ?, earliest = ?, latest = ? WHERE no = ?"
        grown = self._grown.values()
        self.db.executemany(sql, ((one.size, one.earliest, one.latest, one.no) for one in grown))
        self._grown.clear()
        self._passages.clear()

    def _names(self, doc: Doc) -> tuple[int | None, int | None]:
        """The numbers of a document's session and user."""
        return (
            None if doc.session is None else self.name("session", doc.session),
            None if doc.user is None else self.name("user", doc.user),
        )

    def owner(self, doc: Doc) -> int | None:
        """The number of the session, or else the user, that a document's id counts in."""
        session, person = self._names(doc)
        return person if session is None else session

    def replace(self, number: int, doc: Doc) -> None:
        """Puts another text in a document's place."""
        if doc.kind == "event":
            self.db.execute(_BEGUN, [number])
        self._unlist(number)
        session, person = self._names(doc)
        said, answered = terms_of(doc)
        given = [
            person, doc.at, doc.since, doc.ends, doc.ends, doc.seq,
            len(said), *parts(doc), doc.text, joined(said, answered),
            "\n".join(doc.evidence) or None, about.written(doc.about), number,
        ]  # fmt: skip
        self.db.execute(
            "UPDATE doc SET person = ?, at = ?, since = ?, ends = ?, until = ?, seq = ?, "
            "length = ?, said = ?, answered = ?, recorded = ?, text = ?, terms = ?, evidence = ?, "
            "about = ? WHERE id = ?",
            given,
        )
        listed = [number, stored(said + answered, doc.kind, session, person, doc.about)]
        self.db.execute("INSERT INTO term (rowid, terms) VALUES (?, ?)", listed)
        self._note_changes([number])
        self.widen([(number, doc)])
        if doc.kind == "event" and session is not None:
            self._replaced.add(session)

    def _note_changes(self, numbers: Iterable[int]) -> None:
        self.db.executemany(
            "INSERT INTO changed (doc) VALUES (?)", ((number,) for number in numbers)
        )

    def begin(self, number: int, doc: Doc) -> None:
        """Notes how a turn was before it ended as the document of this number says."""
        session, person = self._names(doc)
        row = [number, session or 0, person or 0, doc.at, doc.recorded]
        self.db.execute("INSERT OR IGNORE INTO begun VALUES (?, ?, ?, ?, ?)", row)
        self._counts.active(doc.at, doc.recorded)

    def widen(self, told: Iterable[tuple[int, Doc]]) -> None:
        """The passages of these numbers have the times of documents that took others' places."""
        sql = "UPDATE passage SET earliest = min(earliest, ?1, ?2), latest = max(latest, ?1) "
        given = ((doc.at, doc.since, number // STRETCH) for number, doc in told)
        self.db.executemany(f"{sql} WHERE no = ?3", given)

    def touch(self, kind: str, id: str, at: int) -> None:
        """Notes a record of a session or user that is no turn."""
        self._counts.touch(self.name(kind, id), at)

    def plan(self, plans: Iterable[tuple[str, int, int]]) -> None:
        """Notes write plans: (user, time, when the first of them was recorded)."""
        self._counts.plan((at, self.name("user", user), came) for user, at, came in plans)

    def settle_counts(self) -> None:
        """Brings the counts of sessions and users up to date, before the transaction ends."""
        sql = (
            "SELECT passage.session, coalesce(doc.person, 0), at, at + recorded FROM passage "
            f"JOIN doc ON doc.id BETWEEN no * {STRETCH} AND no * {STRETCH} + {STRETCH - 1} "
            "WHERE passage.session = ? AND doc.kind = 'event'"
        )
        for session in self._replaced:
            self._counts.count_again(session, map(Spoken._make, self.db.execute(sql, [session])))
        self._replaced.clear()
        self._counts.settle()

    def versions(self, kind: Kind, owner: int | None, key: str) -> list[Version]:
        """The versions of something held, oldest first; of an event the one."""
        sql = (
            "SELECT id, since, ends, seq, text FROM doc WHERE key = ? AND kind = ? AND owner = ? "
            f"ORDER BY {'since' if kind == 'state' else 'seq'}"
        )
        return list(map(Version._make, self.db.execute(sql, [key, kind, owner])))

    def bound(self, bounds: Iterable[tuple[int, int, bool]]) -> None:
        """Notes until when documents are shown, and whether they are the newest versions."""
        sql = "UPDATE doc SET until = ?2, newest = ?3 WHERE id = ?1"
        self.db.executemany(sql, bounds)

    def marks(self, person: int) -> dict[str, bytes]:
        """A user's rows that say which turns are retracted, by name."""
        return dict(self.db.execute("SELECT name, row FROM mark WHERE person = ?", [person]))

    def put_marks(self, person: int, rows: Mapping[str, bytes | None]) -> None:
        """Replaces some of them."""
        given = ((name, person, row) for name, row in rows.items())
        self.db.executemany("INSERT OR REPLACE INTO mark VALUES (?, ?, ?)", given)

    def marking(self, names: list[str]) -> list[int]:
        """The users who have one of these rows."""
        sql = f"SELECT DISTINCT person FROM mark WHERE name IN ({', '.join('?' * len(names))})"
        return [person for (person,) in self.db.execute(sql, names)]

    def turns_of(self, person: int, event_id: str) -> list[tuple[int, str]]:
        """The turns of an id that are the user's, or nobody's: number and session."""
        sql = (
            "SELECT doc.id, name.name FROM doc JOIN name ON name.no = doc.owner "
            "WHERE doc.key = ? AND doc.kind = 'event' AND (person = ? OR person IS NULL)"
        )
        return list(self.db.execute(sql, [event_id, person]))

    def end(self, number: int, at: int) -> None:
        """It is held no more."""
        self.db.execute("UPDATE doc SET ends = ? WHERE id = ?", [at, number])

    def drop(self, number: int) -> None:
        """Takes a document out."""
        self._unlist(number)
        self.docs -= 1
        self.db.execute("DELETE FROM doc WHERE id = ?", [number])

    def _unlist(self, number: int) -> None:
        # FTS5 without content must be told what it is to forget
        sql = (
            "SELECT doc.terms, doc.kind, session, doc.person, doc.about FROM doc JOIN passage "
            f"ON passage.no = doc.id / {STRETCH} WHERE id = ?"
        )
        listed, kind, session, person, dates = self.db.execute(sql, [number]).fetchone()
        words = stored(listed.split(), kind, session, person, about.read(dates))
        given = [number, words]
        self.db.execute("INSERT INTO term (term, rowid, terms) VALUES ('delete', ?, ?)", given)

    def count(self) -> None:
        """Lists how many documents have each common term, and how long one is, without answers."""
        (length,) = self.db.execute("SELECT avg(length) FROM doc WHERE length > 0").fetchone()
        self.note("length", length or 1.0)
        self.db.execute("DELETE FROM common")
        sql = "INSERT INTO common SELECT term, doc FROM vocabulary WHERE doc > ?"
        self.db.execute(sql, [max(1000, COMMON * self.docs)])
        self.note("counted", self.docs)

    def finish(self) -> None:
        """Makes a new index one that is read while it is written."""
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute("PRAGMA journal_mode = WAL")

    def close(self) -> None:
        """Ends it."""
        self.db.close()
