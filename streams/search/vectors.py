"""Stores the vectors of a tenant's documents, one SQLite file per model next to the index.

Vectors are identified by the document's name and a digest of its text, so they outlive a rebuild of
the index. Erased vectors are deleted and overwritten.
"""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from streams.search.store import STRETCH

if TYPE_CHECKING:
    from streams.search.embedding import Vector

MOST, MOST_OF_USER = 20_000, 200_000
"""Maximum vectors compared per query, without and with a user; above it, none are. A thousand take
5 ms."""
AT_ONCE = 4_096
"""Maximum vectors in memory at a time, and changes checked per call of `missing_vectors`."""
WORDS, CHARACTERS = 180, 2000
"""Maximum start of a text that its vector covers."""
SCHEMA = """
PRAGMA page_size = 8192;
PRAGMA secure_delete = ON;
CREATE TABLE IF NOT EXISTS vector (
    user TEXT, kind TEXT, session TEXT, key TEXT, -- user, session: empty where it has none
    size INTEGER, digest BLOB, -- of the text: characters, and a hash
    numbers BLOB, -- float16; empty: the model cannot read the text
    PRIMARY KEY (user, kind, session, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (indexed TEXT, upto INTEGER); -- checked changes of an index
"""
CHANGED = f"""
SELECT doc.kind, coalesce(s.name, ''), coalesce(u.name, ''), doc.key,
    substr(doc.text, 1, length(doc.text) - coalesce(doc.answered, 0)) AS said, v.size, v.digest
FROM (SELECT DISTINCT doc FROM indexed.changed WHERE no > ? AND no <= ?) AS changed
JOIN indexed.doc ON doc.id = changed.doc
JOIN indexed.passage ON passage.no = doc.id / {STRETCH}
LEFT JOIN indexed.name s ON s.no = passage.session
LEFT JOIN indexed.name u ON u.no = doc.person
LEFT JOIN vector v ON v.kind = doc.kind AND v.session = coalesce(s.name, '')
    AND v.user = coalesce(u.name, '') AND v.key = doc.key
WHERE doc.newest
"""
"""Answers are left out: they often repeat the user's words."""


class DocName(NamedTuple):
    """Identifies a document; session and user are empty if it has none."""

    kind: str
    session: str
    user: str
    key: str


class MissingVector(NamedTuple):
    """A document without a vector of its current text."""

    name: DocName
    text: str
    digest: bytes


class IndexChanges(NamedTuple):
    """The documents without a vector among the changes up to number `upto` of the index
    `index_id`."""

    docs: list[MissingVector]
    index_id: str
    upto: int


class Similarities(NamedTuple):
    """Similarity of documents to a query: cosine relative to the mean of all compared documents, in
    standard deviations. `best`: the most similar ones, in order."""

    scores: dict[DocName, float]
    best: tuple[DocName, ...]


NO_SIMILARITIES = Similarities({}, ())


def file_of(folder: Path, tenant: str, model: str) -> Path:
    """The file of a tenant's vectors by a model."""
    return folder / f"vectors_{_short(tenant)}_{_short(model)}.sqlite"


def missing_vectors(file: Path, index: Path) -> IndexChanges | None:
    """Returns the documents without a current vector among the next changes of an index, or None
    after the last change."""
    with _opened(file) as db:
        db.execute("ATTACH ? AS indexed", [f"{index.absolute().as_uri()}?mode=ro"])
        ((index_id,),) = db.execute("SELECT value FROM indexed.meta WHERE key = 'id'").fetchall()
        result = db.execute("SELECT upto FROM seen WHERE indexed = ?", [index_id]).fetchone()
        since = result[0] if result else 0
        sql = (
            "SELECT max(no) FROM (SELECT no FROM indexed.changed WHERE no > ? ORDER BY no LIMIT ?)"
        )
        (upto,) = db.execute(sql, [since, AT_ONCE]).fetchone()
        if upto is None:
            return None
        docs: list[MissingVector] = []
        for *name, full_text, size, digest in db.execute(CHANGED, [since, upto]):
            text = " ".join(full_text.split()[:WORDS])[:CHARACTERS]
            if text and (size != len(text) or digest != _digest(text)):
                docs.append(MissingVector(DocName(*name), text, _digest(text)))
        return IndexChanges(docs, index_id, upto)


def note(file: Path, changes: IndexChanges) -> None:
    """Marks changes as done."""
    with _opened(file) as db:
        db.execute("DELETE FROM seen")
        db.execute("INSERT INTO seen VALUES (?, ?)", [changes.index_id, changes.upto])


def erasures(file: Path) -> int:
    """Returns the number of erasures from a file. A broken file is deleted."""
    try:
        with _opened(file) as db:
            return _erasures(db)
    except sqlite3.OperationalError:  # locked, or disk full
        raise
    except sqlite3.DatabaseError:
        _remove(file)
        return 0


def _erasures(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def put(
    file: Path,
    missing: Sequence[MissingVector],
    vectors: "Sequence[Vector | None]",
    erasures: int = 0,
) -> bool:
    """Stores vectors, unless the number of erasures has changed from `erasures`, its value before
    the documents were read: they may be erased since. Returns whether they are stored."""
    import numpy as np  # from the extras; `forget` must work without

    rows = [
        (doc.name.user, doc.name.kind, doc.name.session, doc.name.key, len(doc.text),
         doc.digest, b"" if vector is None else vector.astype(np.float16).tobytes())
        for doc, vector in zip(missing, vectors, strict=True)
    ]  # fmt: skip
    with _opened(file) as db:
        db.execute("BEGIN IMMEDIATE")
        if _erasures(db) != erasures:
            return False
        db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return True


def nearest(file: Path, vector: "Vector", user: str | None, most: int) -> Similarities:
    """Compares a query's vector with all vectors of a user, or of the tenant; exact. Returns
    `NO_SIMILARITIES` for more than `MOST` or `MOST_OF_USER` vectors."""
    import numpy as np

    if not file.exists():
        return NO_SIMILARITIES
    names: list[DocName] = []
    blocks: list[Vector] = []
    with _opened(file) as db:
        where, parameters = ("", []) if user is None else (" WHERE user = ?", [user])
        count = db.execute(f"SELECT count(*) FROM vector{where}", parameters).fetchone()[0]
        if count > (MOST if user is None else MOST_OF_USER):
            return NO_SIMILARITIES
        sql = f"SELECT kind, session, user, key, numbers FROM vector{where}"
        documents = db.execute(sql, parameters)
        while rows := documents.fetchmany(AT_ONCE):
            comparable = [
                (DocName(kind, session, owner, key), numbers)
                for kind, session, owner, key, numbers in rows
                if len(numbers) == 2 * len(vector)
            ]
            names += [name for name, _ in comparable]
            blocks.append(_cosines([numbers for _, numbers in comparable], vector))
    if not names:
        return NO_SIMILARITIES
    cosines = np.concatenate(blocks)
    scores = (cosines - cosines.mean()) / (cosines.std() or 1.0)
    nearest = np.argsort(-cosines, kind="stable")[:most]
    best = tuple(names[place] for place in nearest)
    return Similarities(dict(zip(names, scores.tolist(), strict=True)), best)


def _cosines(numbers: Sequence[bytes], vector: "Vector") -> "Vector":
    import numpy as np

    block = np.frombuffer(b"".join(numbers), dtype=np.float16)
    cosines: Vector = block.reshape(-1, len(vector)).astype(np.float32) @ vector
    return cosines


def forget(folder: Path, tenant: str, users: Iterable[str], session: str | None = None) -> None:
    """Deletes the vectors of these users, of a session, and of all session memory, which may be
    theirs. An unreadable file is deleted: its vectors can be recomputed."""
    erased = [("user", ""), *(("user", user) for user in users)]
    erased += [] if session is None else [("session", session)]
    for file in folder.glob(f"vectors_{_short(tenant)}_*.sqlite"):
        try:
            with _opened(file) as db:
                for column, name in erased:
                    db.execute(f"DELETE FROM vector WHERE {column} = ?", [name])
                db.execute(f"PRAGMA user_version = {_erasures(db) + 1}")
            with closing(sqlite3.connect(file)) as db:
                db.execute("VACUUM")
        except sqlite3.OperationalError:  # locked, or disk full
            raise
        except sqlite3.DatabaseError:
            _remove(file)


def _remove(file: Path) -> None:
    for path in (file, file.with_name(f"{file.name}-journal")):
        path.unlink(missing_ok=True)


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    uri = f"{file.absolute().as_uri()}?mode=rwc"
    with closing(sqlite3.connect(uri, uri=True, timeout=30)) as db:
        db.executescript(SCHEMA)
        with db:
            yield db


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()


def _short(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:32]
