"""All places that may store personal data: `forget` clears them, docs/erasure.md is generated from
this list, and tests compare it with a scan of all bytes.

A file below a history's folder that no place describes fails a test: declare new files here.
"""

from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Literal, NamedTuple

from schemas.generated.history import DeadLetter
from schemas.rows import TABLES
from sinks import (
    erased_ids,
    generation,
    locations,
    pointer,
    power_loss,
    rewrite_files,
    scratch,
)
from sinks.dead_letter_owners import GOES, Letters
from sinks.forgotten_users import FILE as FORGOTTEN
from sinks.forgotten_users import NOTES, UNFINISHED
from sinks.history_root import DROPPED, LOCAL, MARKER, OWNER
from sinks.locations import Location
from sinks.sink_history import LOCKS
from streams.apps import erasure_requests
from streams.files import extractor_choice, inbox, manifest, open_generation
from streams.generations import in_parts
from streams.search import index_path as search

STORE = "_store"

Left = Literal["nothing", "hashes", "counted", "named", "yours"]
"""Remains after `forget`: none; hashes of ids; counted in the receipt under `may_remain`; named
there under `elsewhere`; only accessible to the operator."""


class Erasing(NamedTuple):
    """One erasure in a history: its target, start (microseconds), and receipt."""

    root: Location
    letters: Letters
    target: erasure_requests.Target
    asked_at: int
    receipt: dict[str, Any]


class DataLocation(NamedTuple):
    """A place. `patterns` of paths in a history's folder and in each generation's (`*` is any text,
    TABLE each table), empty if it is elsewhere. `clear`: called by `forget` after the tables;
    returns the number of remaining items that may name the person."""

    name: str
    holds: str
    left: Left
    forget: str
    patterns: tuple[str, ...] = ()
    clear: Callable[[Erasing], int] | None = None


def _count_letters(erasing: Erasing) -> int:
    """Remaining dead letters that may name the person, in all generations."""
    tables = [erasing.receipt["tables"], *erasing.receipt.get("generations", {}).values()]
    letters = [report.get(DeadLetter.table, {}) for report in tables if isinstance(report, dict)]
    return sum(report.get("may_remain", 0) for report in letters)


def _clear_interrupted(erasing: Erasing) -> int:
    """Removes temporary files of killed processes."""
    root = erasing.root
    if not isinstance(root, Path):
        return 0
    folders = [root, root / erasure_requests.FOLDER, root / pointer.NUMBERED]
    for name in generation.names(root):
        generation_folder = generation.folder_of(root, name)
        folders += [generation_folder, *(generation_folder / erased_ids.FOLDER).glob("*")]
    for folder in folders:
        locations.clear_left(folder)
    return 0


def _clear_requests(erasing: Erasing) -> int:
    root, letters, target, asked_at, receipt = erasing
    if not isinstance(root, Path):
        return 0
    return erasure_requests.clear(root, letters, target, asked_at, receipt)


def _count_lines(erasing: Erasing) -> int:
    """Lines of an embedded server's log that name the person; a running server has it open."""
    if not isinstance(erasing.root, Path):
        return 0
    count = 0
    for file in (erasing.root / LOCAL).glob("*.log"):
        with file.open("rb") as lines:
            verdicts = (erasing.letters.verdict(line, None, None, None) for line in lines)
            count += sum(verdict == GOES for verdict in verdicts)
    return count


def _clear_scratch(erasing: Erasing) -> int:
    scratch.clear_left()
    return 0


PLACES = (
    DataLocation(
        "data files of the tables", "all records, memory and dead letters", "counted",
        "rewrites them without the person's rows and deletes every file that the newest version of "
        "its table does not list; counts remaining dead letters that may name the person",
        ("TABLE/[!_]*",), _count_letters,
    ),
    DataLocation(
        "logs of the tables", "names, sizes and times of data files; no text and no id", "nothing",
        "keeps them", ("TABLE/_delta_log*", power_loss.FLUSHED),
    ),
    DataLocation(
        "rows of the folds", "memory of users and sessions, cold rows too", "nothing",
        "removes the rows and rewrites the database", (f"{STORE}/*",),
    ),
    DataLocation(
        "search indexes and vectors", "texts and embeddings", "nothing",
        "deletes the tenant's index and the person's vectors", (f"{search.FOLDER}/*",),
    ),
    DataLocation(
        "the log of a server", "records that were posted and are not committed yet", "nothing",
        "commits them first, then erases them from the tables", (f"{inbox.FOLDER}/*",),
    ),
    DataLocation(
        "requests of erasure", "ids of users, sessions and turns to erase", "counted",
        "completes the person's requests; deletes unreadable files that name the person, counts "
        "others", (f"{erasure_requests.FOLDER}/*",), _clear_requests,
    ),
    DataLocation(
        "the note of an erasure", "sessions and users of an unfinished `forget`", "nothing",
        "deletes it at its end", (f"{UNFINISHED}*",),
    ),
    DataLocation(
        "who is forgotten", "SHA-256 of tenant and id, by which sinks skip late rows", "hashes",
        "writes it", (FORGOTTEN, f"{NOTES}/*", f"{erased_ids.FOLDER}/*"),
    ),
    DataLocation(
        "work of `backfill`", "sorted records", "nothing",
        "deletes it and drops an unfinished generation",
        (f"{manifest.WORK}/*", f"{in_parts.LOCKS}/*", f"{generation.FOLDER}/.*"),
    ),
    DataLocation(
        "generations", "each has all of these places", "nothing", "erases in each",
        (f"{generation.FOLDER}/*/*",),
    ),
    DataLocation(
        "files that were being replaced", "the same as the replaced file", "nothing",
        "deletes the files of killed processes", (".*", "*/.*-*"), _clear_interrupted,
    ),
    DataLocation(
        "a local server", "its address, its key and its log", "counted",
        "counts lines of the log that name the person", (f"{LOCAL}/*",), _count_lines,
    ),
    DataLocation(
        "settings and locks",
        "names of generations, extractors and owners; filters of retractions", "nothing",
        "keeps them",
        (MARKER, "turnfold.lock", "turnfold.asked", OWNER, DROPPED,
         manifest.FILE, extractor_choice.FILE, pointer.FILE, f"{pointer.NUMBERED}/*",
         open_generation.FORGET_LOCK, f"{LOCKS}/*"),
    ),
    DataLocation(
        "a history in an object store", "the tables", "nothing",
        "rewrites them and deletes unreferenced objects; names versions and copies in the store "
        "under `elsewhere`", (f"{rewrite_files.SCRATCH}/*",),
    ),
    DataLocation(
        "temporary files of this machine", "rows being sorted, copies of checkpoints "
        "(`turnfold-scratch-*` in the system's temporary folder)", "nothing",
        "deletes the folders of killed commands; a running command deletes its own at its end",
        clear=_clear_scratch,
    ),
    DataLocation(
        "folders of this machine for a history in an object store", "search indexes", "named",
        "erases here; names other machines under `elsewhere`",
    ),
    DataLocation(
        "memory of running processes", "sessions and users that a server has read last", "nothing",
        "a server drops them",
    ),
    DataLocation(
        "Kafka: topics and changelogs", "records, history rows, documents, tables of workers",
        "named", "with [keys](#keys-for-kafka) destroys the keys of the user and of the user's "
        "sessions; names remaining records under `elsewhere` "
        "([how to remove them](#histories-that-sinks-write))",
    ),
    DataLocation(
        "Kafka: disks of workers and servers", "copies of the changelogs (`--store rocksdb`)",
        "named", "with keys they are unreadable as the topics are; without keys they follow the "
        "topics",
    ),
    DataLocation(
        "the key store", "wrapped keys; hashes of destroyed keys' owners, with times", "hashes",
        "destroys keys, and logs their hashes",
    ),
    DataLocation(
        "input files, exports and details", "input records, exported data", "yours",
        "delete them",
    ),
    DataLocation(
        "spools of clients", "records not yet sent (`spool=`)", "yours",
        "send or delete them, then call `forget` again; with keys workers withhold them",
    ),
    DataLocation(
        "brokers of a killed `turnfold dev`",
        "topics (`turnfold-broker-*` in the system's temporary folder)", "yours", "delete them",
    ),
    DataLocation(
        "backups, logs of containers, traces", "copies of the above; logs and traces have no text",
        "yours", "follow your own procedure",
    ),
    DataLocation(
        "a model's endpoint", "turns and texts sent to it", "yours",
        "contact its provider",
    ),
)  # fmt: skip


def clear(erasing: Erasing) -> dict[str, int]:
    """Clears all places besides tables and the fold's rows; returns place -> number of remaining
    items that may name the person, if any. In a folder the caller has the locks of the history and
    of `forget`. Raises OSError."""
    counts = {place.name: place.clear(erasing) for place in PLACES if place.clear is not None}
    return {name: count for name, count in counts.items() if count}


def of_file(path: str) -> Iterator[DataLocation]:
    """The places that describe a file, by its path in the history's folder or in its
    generation's."""
    folder, name, path_inside = [*path.split("/", 2), "", ""][:3]
    if folder == generation.FOLDER and path_inside and not name.startswith("."):
        path = path_inside
        folder = path.partition("/")[0]
    if folder in TABLES:
        path = f"TABLE{path.removeprefix(folder)}"
    return (place for place in PLACES if any(fnmatch(path, pattern) for pattern in place.patterns))
