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

MOST = 200_000
"""Vectors that one question is compared with: of a larger tenant, without a user, none are."""
AT_ONCE = 4_096
"""Vectors that are in memory at a time."""
SCHEMA = """
PRAGMA secure_delete = ON;
CREATE TABLE IF NOT EXISTS vector (
    kind TEXT, session TEXT, user TEXT, key TEXT,
    size INTEGER, digest BLOB, -- of the text: characters, and a hash
    numbers BLOB -- float16
);
CREATE UNIQUE INDEX IF NOT EXISTS vector_of ON vector (kind, session, user, key);
CREATE INDEX IF NOT EXISTS vector_user ON vector (user);
"""
LACKING = f"""
SELECT doc.kind, coalesce(s.name, ''), coalesce(u.name, ''), doc.key, doc.text, digest(doc.text)
FROM indexed.doc JOIN indexed.passage ON passage.no = doc.id / {STRETCH}
LEFT JOIN indexed.name s ON s.no = passage.session
LEFT JOIN indexed.name u ON u.no = doc.person
LEFT JOIN vector v ON v.kind = doc.kind AND v.session = coalesce(s.name, '')
    AND v.user = coalesce(u.name, '') AND v.key = doc.key
WHERE doc.newest AND doc.text <> '' AND (
    v.size IS NOT length(doc.text) OR (doc.kind <> 'event' AND v.digest <> digest(doc.text))
)
"""
"""An event's text changes only as its answer comes, and grows: its size says so at less cost."""


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


def file_of(folder: Path, tenant: str, model: str) -> Path:
    """Where a tenant's vectors by a model are."""
    return folder / f"vectors_{_short(tenant)}_{_short(model)}.sqlite"


def lacking(file: Path, index: Path) -> list[Lacking]:
    """The documents of an index without a vector of their present text."""
    with _opened(file) as db:
        db.create_function("digest", 1, _digest, deterministic=True)
        db.execute("ATTACH ? AS indexed", [f"{index.absolute().as_uri()}?mode=ro"])
        return [
            Lacking(Named(kind, session, user, key), text, digest)
            for kind, session, user, key, text, digest in db.execute(LACKING)
        ]


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


def put(file: Path, found: Sequence[Lacking], vectors: "Sequence[Vector]", erased: int = 0) -> bool:
    """Keeps the vectors of some documents: not where `erasures` is not `erased` any more, as it was
    before the documents were read. They may be of somebody who was forgotten since."""
    import numpy as np  # the extra `embeddings`; forgetting needs none

    rows = [
        (*one.named, len(one.text), one.digest, vector.astype(np.float16).tobytes())
        for one, vector in zip(found, vectors, strict=True)
    ]
    with _opened(file) as db:
        db.execute("BEGIN IMMEDIATE")
        if _erasures(db) != erased:
            return False
        db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    return True


def nearest(file: Path, vector: "Vector", user: str | None, most: int) -> list[tuple[Named, float]]:
    """The documents with the greatest cosine, greatest first; exact. None of a tenant
    with more than `MOST`, where no user is named."""
    import numpy as np

    if not file.exists():
        return []
    with _opened(file) as db:
        where, given = ("", []) if user is None else (" WHERE user = ?", [user])
        count = db.execute(f"SELECT count(*) FROM vector{where}", given).fetchone()[0]
        if not 0 < count <= MOST:
            return []
        asked = db.execute(f"SELECT rowid, numbers FROM vector{where}", given)
        numbers: list[int] = []
        compared: list[Vector] = []
        while rows := asked.fetchmany(AT_ONCE):  # names of the nearest alone are read
            same = [one for one in rows if len(one[1]) == 2 * len(vector)]
            numbers += [number for number, _ in same]
            block = np.frombuffer(b"".join(one for _, one in same), dtype=np.float16)
            compared.append(block.reshape(-1, len(vector)).astype(np.float32) @ vector)
        cosines = np.concatenate(compared) if compared else np.empty(0, np.float32)
        found = []
        for place in np.argsort(-cosines, kind="stable")[:most]:
            sql = "SELECT kind, session, user, key FROM vector WHERE rowid = ?"
            if named := db.execute(sql, [numbers[place]]).fetchone():
                found.append((Named(*named), float(cosines[place])))
        return found


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
    return hashlib.blake2b(text.encode(), digest_size=12).digest()


def _short(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:32]
