"""Data files that are not as a table's log names them: missing, cut, unreadable.

What lies in a file's pages is not looked at: that costs as much as reading the whole history.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import _duckdb

from sinks.errors import HistoryError, in_a_line
from sinks.locations import Location
from sinks.object_store import ObjectPath

MAGIC = b"PAR1"
NAMED = re.compile(r"""["']([^"'\n]+/date=[^"'\n]+\.parquet)["']""")
"""A data file in an error of DuckDB's."""
COMMIT = re.compile(r"[0-9]{20}\.json")
CHECKPOINT = re.compile(r"[0-9]{20}\.checkpoint.*\.parquet")


class Damage(NamedTuple):
    """A file, and what is wrong with it."""

    file: str
    why: str


def damage(table: Location) -> tuple[int, list[Damage]]:
    """How many files a table's newest version has, and those that are damaged. Raises
    HistoryError where its log cannot be read."""
    named = _named(table)
    found = list(_damaged(table, named))
    if found:  # `compact` or `forget` may have taken them out of the table meanwhile
        named = _named(table)
        found = list(_damaged(table, named))
    return len(named), found


def of_duckdb(error: BaseException, folder: Location | None = None) -> HistoryError | None:
    """A data file that keeps DuckDB from answering, as one line of ours; None where it is something
    else. `folder` has the tables: there it is looked for where DuckDB does not name it."""
    if not isinstance(error, _duckdb.Error):
        return None
    if found := NAMED.search(str(error)):
        return _told(found[1], _why(error, found[1]))
    if type(error) is not _duckdb.Error:  # of a file's content, which it raises without a name
        return None
    from schemas.rows import TABLES  # imports what no question needs

    tables = [folder / name for name in TABLES] if folder else []
    for file, why in (one for table in tables for one in damage(table)[1]):
        return _told(file, why)
    return HistoryError(
        f"{folder or 'the history'}: the content of a data file cannot be read "
        f"({in_a_line(error).strip()}); restore the history from a backup, or make it anew "
        '(docs/recovery.md, "A damaged history")'
    )


def _told(file: str, why: str) -> HistoryError:
    table = file.rpartition("/date=")[0] or file.rpartition("/")[0]
    history = table.rpartition("/")[0]
    return HistoryError(
        f"{file}: a data file of the history {why}; run `turnfold admin doctor --history {history}`"
    )


def _why(error: BaseException, file: str) -> str:
    if not file.startswith("/"):
        return f"cannot be read: {in_a_line(error).partition(': LINE')[0]}"
    found = next(_of_file(Path(file), None), None)
    return found.why if found else "could not be read; it can be now"


def _named(table: Location) -> dict[str, int]:
    """File -> its size, as the log has them."""
    if isinstance(table, ObjectPath):
        from sinks import object_files

        return {file: size for file, (_, size) in object_files.sizes(table).items()}
    if not _has_log(table):
        return {}
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        actions = DeltaTable(str(table)).get_add_actions(flatten=True)
    except (DeltaError, OSError) as error:
        raise HistoryError(f"{table}: the table cannot be read: {in_a_line(error)}") from error
    paths = [str(table / unquote(path)) for path in actions.column("path").to_pylist()]
    return dict(zip(paths, actions.column("size_bytes").to_pylist(), strict=True))


def _has_log(table: Path) -> bool:
    """Raises HistoryError where it cannot be told, or data files are there without one."""
    try:
        if not table.exists():
            return False
        log = table / "_delta_log"
        names = [one.name for one in log.iterdir()] if log.exists() else []
        if any(COMMIT.fullmatch(name) or CHECKPOINT.fullmatch(name) for name in names):
            return True
        file = next(table.glob("**/date=*/*.parquet"), None)
    except OSError as error:
        raise HistoryError(f"{error.filename or table}: {error.strerror}") from error
    if file is not None:
        raise HistoryError(f"{table}: has data files ({file.name}, ...) and no log (_delta_log)")
    return False


def _damaged(table: Location, named: dict[str, int]) -> Iterator[Damage]:
    if isinstance(table, ObjectPath):
        there = table.sizes() if named else {}
        for file, size in named.items():
            if file not in there:
                yield Damage(file, "is missing")
            elif there[file] != size:
                yield _other_size(file, there[file], size)
        return
    for file, size in named.items():
        yield from _of_file(Path(file), size)


def _of_file(file: Path, size: int | None) -> Iterator[Damage]:
    """What is wrong with one file; `size`: as the log has it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with file.open("rb") as opened:
            has = os.fstat(opened.fileno()).st_size
            if size is not None and has != size:
                yield _other_size(str(file), has, size)
                return
            begins = opened.read(len(MAGIC))
        pq.read_metadata(file)
    except FileNotFoundError:
        yield Damage(str(file), "is missing")
    except (OSError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or in_a_line(error).partition(". ")[0]
        yield Damage(str(file), f"cannot be read: {why}")
    else:
        if begins != MAGIC:
            yield Damage(str(file), "does not begin as a Parquet file")


def _other_size(file: str, has: int, size: int) -> Damage:
    return Damage(file, f"has {has:,} bytes, its table's log says {size:,}")
