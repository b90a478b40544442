"""`backfill` of a history in an object store: folded on this machine, then published there.

1. *Copied*: the records are fetched to a desk (`streams.generations.desk`), a history of its own.
2. *Folded* there, as in any folder. Killed, the same call continues.
3. *Published*: files are uploaded, or copied by the store where the live generation has the same;
   then one commit a table names them.

Nobody holds a lock meanwhile. What of somebody who is forgotten has been copied must not be
published: `forget` notes him in the live generation, then in this one, and fences its tables
(`sinks.fences`). So each commit is made of a state of the table behind which both notes were looked
at; where there are new ones, all begins again.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import msgspec
from deltalake import DeltaTable
from msgspec.structs import replace

from schemas.rows import TABLES
from sinks.delta import History, until_first
from sinks.fences import mark
from sinks.forgotten import NOTES
from sinks.generation import DROPPED, FOLDER, ROOT, folder_of, remove_leftovers
from sinks.links import DataFile, commit, files_at, hold
from sinks.locations import replace as write
from sinks.object_store import ObjectPath
from sinks.root import BACKFILLED, find_root, is_marked, is_run, is_shared, open_root
from sinks.store_errors import patiently
from streams.errors import ConfigurationError, TurnfoldError
from streams.files import extractor_choice, manifest
from streams.files.belonging import check_whole
from streams.files.manifest import Generation, Settings, load, save
from streams.files.runner import Progress
from streams.generations import desk, rebuild, snapshot
from streams.generations.begin import Source, begun, check_begun, source_of

HISTORY = "history"
"""On the desk: the copy of what is read."""
STATE = "state.json"
"""On the desk, once the copy is whole: what it is a copy of."""
COPIED = (*snapshot.READ, "revisions")
PUBLISHER = "turnfold.backfill"
"""The property of a table that says which command publishes it: the last that has begun to."""
TRIES = 3

Passed = Callable[[str], None]


class _State(msgspec.Struct):
    """Of what the desk has a copy: the generation that was begun then, its source, and how many
    notes of who is forgotten there were in either."""

    started_at: int
    source: str
    notes: tuple[int, int]


class _ForgottenError(Exception):
    """Somebody has been forgotten since the copy was made."""


class _Place(NamedTuple):
    """Where a generation is made of what, and by which command."""

    root: ObjectPath
    folder: ObjectPath
    source: Source[ObjectPath]
    publisher: str

    def notes(self) -> tuple[int, int]:
        """How many there are of who is forgotten: in the source, in the generation."""
        return len((self.source.folder / NOTES).sizes()), len((self.folder / NOTES).sizes())


def backfill_in_store(
    history: ObjectPath,
    name: str,
    settings: Settings,
    progress: Progress | None = None,
    passed: Passed = lambda point: None,
) -> Generation:
    """Makes a generation of the live one, anew if it was there. Raises as `rebuild.backfill`, and
    StoreError."""
    root = find_root(history)
    folder = folder_of(root, name)
    source = _checked(root, folder, name, settings)
    with desk.taken(root, name) as at:
        remove_leftovers(root)
        open_root(folder)
        write(folder / BACKFILLED, "{}\n")
        generation = begun(folder, name, settings, History(folder), source)
        generation.stage, generation.ended_at = "reading", None
        save(folder, generation)
        place = _Place(root, folder, source, uuid4().hex)
        for _ in range(TRIES):
            _copy(place, generation, at)
            passed("copied")
            made = rebuild.backfill(at / HISTORY, name, settings, progress)
            passed("folded")
            try:
                _publish(place, _state(at), at / HISTORY, name, passed)
            except _ForgottenError:
                desk.clear(at)
                continue
            if not is_marked(folder):
                raise ConfigurationError(f"generation {name!r} was dropped meanwhile")
            done = _completed(generation, made)
            save(folder, done)
            passed("published")
            desk.end(at)
            return done
    raise ConfigurationError(
        f"generation {name!r}: somebody was forgotten while it was made, {TRIES} times; run the "
        "same command again"
    )


def _checked(
    root: ObjectPath, folder: ObjectPath, name: str, settings: Settings
) -> Source[ObjectPath]:
    """What it is made of. Raises ConfigurationError before anything is written."""
    if name == ROOT:
        raise ConfigurationError(f"{ROOT!r} is what was written first; name another generation")
    source = source_of(root, name)
    if not is_shared(source.folder) and not is_run(source.folder):
        raise ConfigurationError(
            f"{root}: neither sinks nor `run` write this; backfill in the folder that it was "
            "copied from"
        )
    if is_run(source.folder):
        check_whole(source.folder)
    if is_shared(folder):
        raise ConfigurationError(f"generation {name!r} is written by sinks; name another one")
    if (folder / DROPPED).exists():
        raise ConfigurationError(
            f"generation {name!r} is being dropped: `turnfold generations drop {name} --history "
            f"{root}` ends that"
        )
    if (known := load(folder)) is not None:
        check_begun(known, settings, 0)
    return source


def _completed(generation: Generation, made: Generation) -> Generation:
    """What the desk's says of the folding, in the words of this one."""
    return replace(
        made,
        started_at=generation.started_at,
        made_of=generation.made_of,
        source=generation.made_of,
        seconds=round(generation.seconds + made.seconds, 3),
        passes=generation.passes + 1,
    )


# --- the copy -----------------------------------------------------------------------------------


def _state(at: Path) -> _State | None:
    try:
        return msgspec.json.decode((at / STATE).read_bytes(), type=_State)
    except (FileNotFoundError, msgspec.MsgspecError):
        return None


def _copy(place: _Place, generation: Generation, at: Path) -> None:
    """The records that are read, on the desk; a copy that is whole stays, if nobody has been
    forgotten since."""
    now = _State(generation.started_at, place.source.name, place.notes())  # before anything is read
    if _state(at) == now:
        return
    desk.clear(at)
    folder = at / HISTORY
    open_root(folder)
    _fetch(place.source.folder, folder)
    write(at / STATE, msgspec.json.encode(now).decode())


def _fetch(source: ObjectPath, folder: Path) -> None:
    for name in (manifest.FILE, extractor_choice.FILE):
        try:
            write(folder / name, (source / name).read_text())
        except FileNotFoundError:
            continue
    tables = History(folder)
    found = {name: patiently(partial(files_at, source / name)) for name in COPIED}
    try:
        for name, files in found.items():
            for one in files:
                target = folder / name / one.path
                target.parent.mkdir(parents=True, exist_ok=True)
                (source / name / one.path).download(target, one.size)
            hold(tables, name, files)
    except FileNotFoundError:
        raise TurnfoldError(
            f"{source}: files were deleted while they were copied; run the same command again"
        ) from None
    except OSError as error:
        raise TurnfoldError(f"{folder}: {error.strerror or error}") from error


# --- publishing ---------------------------------------------------------------------------------


def _publish(place: _Place, state: _State | None, history: Path, name: str, passed: Passed) -> None:
    """Raises _ForgottenError, ConfigurationError where another command has begun to publish."""
    assert state is not None
    made, tables = history / FOLDER / name, History(place.folder)
    files = {table: files_at(made / table) for table in TABLES}
    for table, some in files.items():
        if some:
            until_first(partial(tables.made, table))
    for table in tables.tables():
        mark(tables, table, PUBLISHER, place.publisher)
    passed("claimed")
    try:
        for table in tables.tables():
            _check_nobody(place, state)
            _upload(place, history, made, table, files[table])
            passed(f"uploaded {table}")
            until_first(partial(_name, place, state, tables, table, files[table]))
            passed(f"named {table}")
    finally:
        for table in tables.tables():
            until_first(partial(_sweep, place, tables, table))


def _check_nobody(place: _Place, state: _State) -> None:
    """Raises _ForgottenError where somebody is noted who was not when the copy was made."""
    if place.notes() != state.notes:
        raise _ForgottenError


def _check_ours(place: _Place, delta: DeltaTable) -> None:
    if delta.metadata().configuration.get(PUBLISHER) != place.publisher:
        raise ConfigurationError(
            f"generation {place.folder.name!r}: another `turnfold backfill` publishes it now"
        )


def _upload(place: _Place, history: Path, made: Path, table: str, files: list[DataFile]) -> None:
    """Files that lie there whole are left, as those of a killed command."""
    there = (place.folder / table).sizes()
    for one in files:
        target = place.folder / table / one.path
        if there.get(str(target)) == one.size:
            continue
        if (history / table / one.path).exists():  # the live generation's own
            try:
                (place.source.folder / table / one.path).copy_to(target)
                continue
            except FileNotFoundError:  # it was compacted meanwhile
                pass
        target.upload(made / table / one.path)


def _name(place: _Place, state: _State, tables: History, table: str, files: list[DataFile]) -> None:
    """The table consists of these files."""
    delta = tables.newest(table)
    assert delta is not None, "a table stays"
    # looked at after the table's state: what is noted or claimed later refuses the commit
    _check_nobody(place, state)
    _check_ours(place, delta)
    with tables.writing(table):
        commit(delta, table, files)


def _sweep(place: _Place, tables: History, table: str) -> None:
    """Deletes the files that were replaced, and those that were uploaded in vain: by this command,
    or by one that was killed."""
    found = (place.folder / table).sizes()
    delta = tables.newest(table)
    assert delta is not None, "a table stays"
    _check_ours(place, delta)  # who publishes later has uploaded later than was listed
    log = f"{place.folder / table}/_delta_log/"
    gone = found.keys() - set(delta.file_uris())
    place.folder.unlink_all(one for one in gone if not one.startswith(log))
