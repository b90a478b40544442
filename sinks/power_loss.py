"""Repairs the logs of a folder's tables after a loss of power (docs/recovery.md).

A writer flushes its commits (`sinks.disk.flush`) before it relies on them. Of a commit after the
last flush, the log's entry, its data file or a checkpoint may be missing, empty or short.
"""

import json
import time
from collections.abc import Callable, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec

from sinks.errors import REMEDY, HistoryError
from sinks.file_checks import CHECKPOINT, COMMIT, MAGIC
from sinks.locations import replace

FLUSHED = "_flushed.json"
"""Table -> version up to which all its commits are known to be on disk; later ones may be torn."""
TRANSACTIONS = "transactions"
"""Key of a commit's metadata: the number of its app transactions."""
LOST = {"path": "date=1970-01-01/lost.parquet", "dataChange": True}
"""The file that an empty commit removes: readers of a table's changes then read the whole table."""


def flushed(root: Path) -> dict[str, int]:
    """The note of a folder. Without it, or if it is damaged, all commits may be torn."""
    try:
        return msgspec.json.decode((root / FLUSHED).read_bytes(), type=dict[str, int])
    except (FileNotFoundError, msgspec.DecodeError):
        return {}


def note_flushed(root: Path, versions: Mapping[str, int]) -> None:
    """Adds versions to the note; other sinks' are kept. Raises OSError."""
    noted = flushed(root)
    newer = {name: at for name, at in versions.items() if at > noted.get(name, -1)}
    if newer:
        replace(root / FLUSHED, json.dumps(noted | newer) + "\n")


def drop_torn_checkpoints(table: Path, before: int | None = None) -> None:
    """Removes the newest checkpoints of a table that are not whole, and those from version `before`
    on. Its log is read without them; if it cannot be, because `compact` has cut it, they are damage
    and stay. Raises OSError."""
    log = table / "_delta_log"

    def is_torn(file: Path) -> bool:
        return (before is not None and _version(file) >= before) or not _is_parquet(file)

    checkpoints = sorted(_named(log, CHECKPOINT.fullmatch), reverse=True)
    torn = list(takewhile(is_torn, checkpoints))  # older ones were flushed
    is_needed = len(torn) == len(checkpoints) and not (log / f"{0:020}.json").exists()
    if before is None and is_needed:
        return
    for file in torn:
        file.unlink()
    pointer = log / "_last_checkpoint"
    try:
        version = json.loads(pointer.read_bytes())["version"]
    except FileNotFoundError:
        return
    except (ValueError, TypeError, KeyError):
        version = -1
    if not (log / f"{version:020}.checkpoint.parquet").exists():
        pointer.unlink()


def checked_versions(table: Path, flushed: int) -> list[int]:
    """Versions of a table's log, ascending. Raises HistoryError for a damage up to `flushed` that
    readers do not notice: the log ends before it, or an entry is empty."""
    log = table / "_delta_log"
    versions = sorted(map(_version, _named(log, COMMIT.fullmatch)))
    last = versions[-1] if versions else -1
    if last < flushed:
        raise HistoryError(
            f"{table}: its log ends at version {last}, but version {flushed} was on disk{REMEDY}"
        )
    read_from = max(map(_version, _named(log, CHECKPOINT.fullmatch)), default=-1) + 1
    for version in range(max(versions[0], read_from) if versions else 0, flushed + 1):
        file = log / f"{version:020}.json"
        if file.exists() and file.stat().st_size == 0:
            raise HistoryError(f"{file}: is empty{REMEDY}")
    return versions


def void_torn(table: Path, flushed: int, creation: Callable[[], str]) -> bool:
    """Makes the first torn commit of a table and all later ones empty: their rows and app versions
    are gone, so that the writer writes them again. Returns whether there were any.

    Versions only grow, since readers remember them. `flushed`: last version that is known to be on
    disk (-1: none). `creation`: commit that creates the table. The caller is the only writer.
    Raises OSError, and HistoryError as `checked_versions`.
    """
    log = table / "_delta_log"
    versions = checked_versions(table, flushed)
    if not versions:
        return False
    checkpoints = sorted(map(_version, _named(log, CHECKPOINT.fullmatch)))
    last = max([versions[-1], *checkpoints])  # an entry may be lost, and its checkpoint not
    start = versions[0] if checkpoints else 0  # only `compact` deletes entries, before a checkpoint
    torn = _first_torn(table, max(start, flushed + 1), last)
    if torn is None:
        return False
    drop_torn_checkpoints(table, torn)
    # one more, as readers may remember the last; the torn one last, since it is found again if
    # the process is killed here
    for version in range(last + 1, torn - 1, -1):
        replace(log / f"{version:020}.json", creation() if version == 0 else _empty())
    return True


def _first_torn(table: Path, first: int, last: int) -> int | None:
    torn, removed = None, set[str]()
    for version in range(last, first - 1, -1):
        try:
            text = (table / "_delta_log" / f"{version:020}.json").read_bytes()
            actions: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
        except (FileNotFoundError, ValueError):
            actions = []
        adds = [action["add"] for action in actions if "add" in action]
        present = [add for add in adds if add["path"] not in removed]
        if not _is_complete(actions) or not all(
            _is_whole(table / unquote(add["path"]), add["size"]) for add in present
        ):
            torn = version
        removed |= {action["remove"]["path"] for action in actions if "remove" in action}
    return torn


def _is_complete(actions: list[dict[str, Any]]) -> bool:
    """Whether a log entry has all its lines. The first one has the number of transactions, which
    come last; merged files have no transactions, and metrics there."""
    if not actions:
        return False
    commit = actions[0].get("commitInfo", {})
    metrics = commit.get("operationMetrics", {})
    files = metrics.get("numFilesAdded", 0) + metrics.get("numFilesRemoved", 0)
    return _count(actions, "txn") >= int(commit.get(TRANSACTIONS, 0)) and (
        _count(actions, "add", "remove") >= files
    )


def _count(actions: list[dict[str, Any]], *kinds: str) -> int:
    return sum(kind in action for action in actions for kind in kinds)


def _empty() -> str:
    now = time.time_ns() // 1_000_000
    info = {"timestamp": now, "operation": "VOID", "operationParameters": {}}
    remove = {**LOST, "deletionTimestamp": now}
    return f"{json.dumps({'commitInfo': info})}\n{json.dumps({'remove': remove})}\n"


def _named(log: Path, is_named: Callable[[str], object]) -> list[Path]:
    return [file for file in log.iterdir() if is_named(file.name)] if log.is_dir() else []


def _version(file: Path) -> int:
    return int(file.name[:20])


def _is_whole(file: Path, size: int) -> bool:
    try:
        return file.stat().st_size == size and _is_parquet(file)
    except FileNotFoundError:
        return False


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - len(MAGIC)))
        return stream.read() == MAGIC
