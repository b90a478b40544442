"""Checks data files against a table's log: missing, truncated, unreadable.

Pages are read on demand only: that costs as much as reading the whole history.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import _duckdb

from sinks.errors import HistoryError, in_a_line, unreadable
from sinks.locations import Location
from sinks.object_store import ObjectPath

MAGIC = b"PAR1"
DATA_FILE = re.compile(r"""["']([^"'\n]+/date=[^"'\n]+\.parquet)["']""")
"""Path of a data file in a DuckDB error."""
COMMIT = re.compile(r"[0-9]{20}\.json")
CHECKPOINT = re.compile(r"[0-9]{20}\.checkpoint.*\.parquet")


class Damage(NamedTuple):
    """A damaged file, and the reason."""

    file: str
    reason: str


def damage(table: Location, *, full: bool = False) -> tuple[int, list[Damage]]:
    """Returns the number of files of a table's newest version, and the damaged ones. `full`: reads
    all pages of a folder's files. Raises HistoryError if the log cannot be read."""
    sizes = _logged_sizes(table)
    damages = list(_damaged(table, sizes, full))
    if damages:  # a concurrent `compact` or `forget` may have removed them
        sizes = _logged_sizes(table)
        damages = list(_damaged(table, sizes, full))
    return len(sizes), damages


def of_duckdb(error: BaseException, folder: Location | None = None) -> HistoryError | None:
    """Translates a DuckDB error that a data file caused, or returns None for other errors. `folder`
    contains the tables, and is searched if the error names no file."""
    if not isinstance(error, _duckdb.Error):
        return None
    if match := DATA_FILE.search(str(error)):
        return _data_file_error(match[1], _reason(error, match[1]))
    if type(error) is not _duckdb.Error:  # errors in a file's content are raised without its name
        return None
    from schemas.rows import TABLES  # an import that no query needs

    tables = [folder / name for name in TABLES] if folder else []
    for file, reason in (entry for table in tables for entry in damage(table)[1]):
        return _data_file_error(file, reason)
    return HistoryError(
        f"{folder or 'the history'}: the content of a data file cannot be read "
        f"({in_a_line(error).strip()}); `turnfold admin doctor --full` names it in a folder "
        '(docs/recovery.md, "A damaged history")'
    )


def _data_file_error(file: str, reason: str) -> HistoryError:
    table = file.rpartition("/date=")[0] or file.rpartition("/")[0]
    history = table.rpartition("/")[0]
    return HistoryError(
        f"{file}: a data file of the history {reason}; run `turnfold admin doctor --history "
        f"{history}`"
    )


def _reason(error: BaseException, file: str) -> str:
    if not file.startswith("/"):
        return f"cannot be read: {in_a_line(error).partition(': LINE')[0]}"
    damage = next(_of_file(Path(file), None), None)
    return damage.reason if damage else "could not be read; it can be now"


def _logged_sizes(table: Location) -> dict[str, int]:
    """File -> size in bytes, according to the log."""
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
        raise unreadable(table, error) from error
    paths = [str(table / unquote(path)) for path in actions.column("path").to_pylist()]
    return dict(zip(paths, actions.column("size_bytes").to_pylist(), strict=True))


def _has_log(table: Path) -> bool:
    """Raises HistoryError if the folder cannot be read, or has data files but no log."""
    try:
        if not table.exists():
            return False
        log = table / "_delta_log"
        names = [entry.name for entry in log.iterdir()] if log.exists() else []
        if any(COMMIT.fullmatch(name) or CHECKPOINT.fullmatch(name) for name in names):
            return True
        file = next(table.glob("**/date=*/*.parquet"), None)
    except OSError as error:
        raise HistoryError(f"{error.filename or table}: {error.strerror}") from error
    if file is not None:
        raise HistoryError(f"{table}: has data files ({file.name}, ...) and no log (_delta_log)")
    return False


def _damaged(table: Location, sizes: dict[str, int], full: bool) -> Iterator[Damage]:
    if isinstance(table, ObjectPath):
        present = table.sizes() if sizes else {}
        for file, size in sizes.items():
            if file not in present:
                yield Damage(file, "is missing")
            elif present[file] != size:
                yield _other_size(file, present[file], size)
        return
    for file, size in sizes.items():
        yield from _of_file(Path(file), size, full=full)


def _of_file(file: Path, size: int | None, *, full: bool = False) -> Iterator[Damage]:
    """Checks one file; `size` is the log's, `full` reads its pages."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with file.open("rb") as stream:
            length = os.fstat(stream.fileno()).st_size
            if size is not None and length != size:
                yield _other_size(str(file), length, size)
                return
            start = stream.read(len(MAGIC))
        with pq.ParquetFile(file) as content:
            for _ in content.iter_batches() if full else ():
                pass
    except FileNotFoundError:
        yield Damage(str(file), "is missing")
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or in_a_line(error).partition(". ")[0]
        yield Damage(str(file), f"cannot be read: {reason}")
    else:
        if start != MAGIC:
            yield Damage(str(file), "does not start as a Parquet file")


def _other_size(file: str, length: int, size: int) -> Damage:
    return Damage(file, f"has {length:,} bytes, its table's log says {size:,}")
