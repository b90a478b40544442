"""The vectors of a tenant's documents, by model, in a file of their own beside the index.

An index that is built again keeps them: they are known by what a document is called and by a digest
of its text. What was forgotten is deleted, and overwritten, here as well.
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
"""Vectors that one question is compared with, without and with a user: of a larger tenant or user,
none are. A thousand take 5 ms."""
AT_ONCE = 4_096
"""Vectors that are in memory at a time, and documents that are looked at for lacking ones."""
WORDS, CHARACTERS = 180, 2000
"""Of a text: so much of its beginning has a vector."""
SCHEMA = """
PRAGMA page_size = 8192;
PRAGMA secure_delete = ON;
CREATE TABLE IF NOT EXISTS vector (
    user TEXT, kind TEXT, session TEXT, key TEXT, -- user, session: empty where it has none
    size INTEGER, digest BLOB, -- of the text: characters, and a hash
    numbers BLOB, -- float16; empty: the model cannot read the text
    PRIMARY KEY (user, kind, session, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (indexed TEXT, upto INTEGER); -- of the changes of which index
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
"""An answer is left out: it is the agent's, and often only says again what the user said."""


class Named(NamedTuple):
    """What a document is called: its session and user are empty where it has none."""

    kind: str
    session: str
    user: str
    key: str


class Lacking(NamedTuple):
    """A document that has no vector of its text."""

    named: Named
    text: str
    digest: bytes


class News(NamedTuple):
    """The documents without a vector among some changes of an index, and what changes these are."""

    texts: list[Lacking]
    of: str
    upto: int


class Near(NamedTuple):
    """How much nearer to a question documents are than the mean of all that it was compared with,
    in standard deviations of the cosine. `best`: the nearest, nearest first."""

    scores: dict[Named, float]
    best: tuple[Named, ...]


NONE = Near({}, ())


def file_of(folder: Path, tenant: str, model: str) -> Path:
    """Where a tenant's vectors by a model are."""
    return folder / f"vectors_{_short(tenant)}_{_short(model)}.sqlite"


def lacking(file: Path, index: Path) -> News | None:
    """The documents among the next changes of an index without a vector of their present text; None
    where all changes were looked at."""
    with _opened(file) as db:
        db.execute("ATTACH ? AS indexed", [f"{index.absolute().as_uri()}?mode=ro"])
        ((name,),) = db.execute("SELECT value FROM indexed.meta WHERE key = 'id'").fetchall()
        seen = db.execute("SELECT upto FROM seen WHERE indexed = ?", [name]).fetchone()
        since = seen[0] if seen else 0
        sql = (
            "SELECT max(no) FROM (SELECT no FROM indexed.changed WHERE no > ? ORDER BY no LIMIT ?)"
        )
        (upto,) = db.execute(sql, [since, AT_ONCE]).fetchone()
        if upto is None:
            return None
        texts: list[Lacking] = []
        for *named, said, size, digest in db.execute(CHANGED, [since, upto]):
            text = " ".join(said.split()[:WORDS])[:CHARACTERS]
            if text and (size != len(text) or digest != _digest(text)):
                texts.append(Lacking(Named(*named), text, _digest(text)))
        return News(texts, name, upto)


def note(file: Path, news: News) -> None:
    """Keeps that some changes were looked at, and what they lacked was made."""
    with _opened(file) as db:
        db.execute("DELETE FROM seen")
        db.execute("INSERT INTO seen VALUES (?, ?)", [news.of, news.upto])


def erasures(file: Path) -> int:
    """How often somebody's vectors were erased from a file. One that is broken is begun again."""
    try:
        with _opened(file) as db:
            return _erasures(db)
    except sqlite3.OperationalError:  # it is locked, or there is no room
        raise
    except sqlite3.DatabaseError:
        _remove(file)
        return 0


def _erasures(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def put(
    file: Path, texts: Sequence[Lacking], vectors: "Sequence[Vector | None]", erased: int = 0
) -> bool:
    """Keeps the vectors of some documents: not where `erasures` is not `erased` any more, as it was
    before the documents were read. They may be of somebody who was forgotten since."""
    import numpy as np  # of the extras; forgetting needs none

    rows = [
        (one.named.user, one.named.kind, one.named.session, one.named.key, len(one.text),
         one.digest, b"" if vector is None else vector.astype(np.float16).tobytes())
        for one, vector in zip(texts, vectors, strict=True)
    ]  # fmt: skip
    with _opened(file) as db:
        db.execute("BEGIN IMMEDIATE")
        if _erasures(db) != erased:
            return False
        db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return True


def nearest(file: Path, vector: "Vector", user: str | None, most: int) -> Near:
    """Compares a question with all documents of a user, or of the tenant; exact. `NONE`
    where these are too many."""
    import numpy as np

    if not file.exists():
        return NONE
    names: list[Named] = []
    blocks: list[Vector] = []
    with _opened(file) as db:
        where, of_user = ("", []) if user is None else (" WHERE user = ?", [user])
        count = db.execute(f"SELECT count(*) FROM vector{where}", of_user).fetchone()[0]
        if count > (MOST if user is None else MOST_OF_USER):
            return NONE
        sql = f"SELECT kind, session, user, key, numbers FROM vector{where}"
        documents = db.execute(sql, of_user)
        while rows := documents.fetchmany(AT_ONCE):
            comparable = [
                (Named(kind, session, owner, key), numbers)
                for kind, session, owner, key, numbers in rows
                if len(numbers) == 2 * len(vector)
            ]
            names += [name for name, _ in comparable]
            blocks.append(_cosines([numbers for _, numbers in comparable], vector))
    if not names:
        return NONE
    cosines = np.concatenate(blocks)
    scores = (cosines - cosines.mean()) / (cosines.std() or 1.0)
    nearest = np.argsort(-cosines, kind="stable")[:most]
    best = tuple(names[place] for place in nearest)
    return Near(dict(zip(names, scores.tolist(), strict=True)), best)


def _cosines(numbers: Sequence[bytes], vector: "Vector") -> "Vector":
    import numpy as np

    block = np.frombuffer(b"".join(numbers), dtype=np.float16)
    cosines: Vector = block.reshape(-1, len(vector)).astype(np.float32) @ vector
    return cosines


def forget(folder: Path, tenant: str, users: Iterable[str], session: str | None = None) -> None:
    """Deletes some users' vectors, those of a session, and those of what sessions remember, which
    may be theirs. A file that cannot be read goes as a whole: its vectors can be made again."""
    gone = [("user", ""), *(("user", one) for one in users)]
    gone += [] if session is None else [("session", session)]
    for file in folder.glob(f"vectors_{_short(tenant)}_*.sqlite"):
        try:
            with _opened(file) as db:
                for column, name in gone:
                    db.execute(f"DELETE FROM vector WHERE {column} = ?", [name])
                db.execute(f"PRAGMA user_version = {_erasures(db) + 1}")
            with closing(sqlite3.connect(file)) as db:
                db.execute("VACUUM")
        except sqlite3.OperationalError:  # it is locked, or there is no room
            raise
        except sqlite3.DatabaseError:
            _remove(file)


def _remove(file: Path) -> None:
    for one in (file, file.with_name(f"{file.name}-journal")):
        one.unlink(missing_ok=True)


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
