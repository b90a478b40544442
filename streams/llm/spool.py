"""Records on their way into a history: appended and on disk at once, folded, then gone.

A call that was paid for is in the spool before anything else happens. What a killed run left there
is folded by the next one, less a line that was being written then. Who was forgotten meanwhile is
left out. Once folded a file is removed. `forget` erases from the files that wait (`erase`): they
change under the lock that it has alone (`streams.files.access.erasing`).
"""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from schemas.base import JsonObject
from sinks import locks
from sinks.history import connect
from sinks.letters import GOES, STAYS, Letters
from sinks.root import HistoryWriteError
from streams.errors import ConfigurationError
from streams.files import local
from streams.files.access import FORGET_LOCK, writing
from streams.llm.groups import Group

FOLDER = "_extract"
ERASED_WITHIN = 600.0
"""Seconds that a fold waits for a `forget`."""
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="sorted").encode


class Spool:
    """Where records wait; from one `fold` to the next they share a file."""

    def __init__(self, history: Path) -> None:
        self._history = history
        self._folder = history / FOLDER
        self._begin()

    def _begin(self) -> None:
        self._path = self._folder / f"{time.time_ns() // 1000}.ndjson"

    def append(self, record: JsonObject) -> None:
        """On disk when it returns. Raises HistoryWriteError."""
        try:
            self._append(_encode(record) + b"\n")
        except OSError as error:
            raise HistoryWriteError(f"{self._path}: {error.strerror or error}") from error

    def _append(self, left: bytes) -> None:
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            while left:  # a write may be cut short
                left = left[os.write(handle, left) :]
            os.fsync(handle)
        finally:
            os.close(handle)

    def fold(self) -> None:
        """Takes all that waits into the history, a killed run's too."""
        for path in sorted(self._folder.glob("*.ndjson")):
            with locks.held(self._history / FORGET_LOCK, _refusal(self._history), shared=True,
                            within=ERASED_WITHIN):  # fmt: skip
                _clean(path, self._history)
            local.run([str(path)], self._history, borrow=True)
            path.unlink()
        self._begin()


@contextmanager
def alone(history: Path) -> Iterator[None]:
    """Nobody else asks a model about this history's turns. Raises ConfigurationError where somebody
    does."""
    folder = history / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    refusal = f"{history}: another `turnfold extract` runs here, or a server; wait for it to end"
    with locks.held(folder / "lock", ConfigurationError(refusal)):
        yield


def fold_left(history: Path) -> None:
    """Folds what a killed run left, if anything; a server lends the history for that."""
    if any((history / FOLDER).glob("*.ndjson")):
        Spool(history).fold()


@contextmanager
def spooling(history: Path) -> Iterator[Spool]:
    """A spool for the one extractor of a history. Raises ConfigurationError where one runs."""
    with alone(history):
        with writing(history, borrow=True):  # what cannot be folded is not paid for
            pass
        spool = Spool(history)
        spool.fold()
        try:
            yield spool
        finally:
            spool.fold()


def erase(history: Path, letters: Letters) -> int:
    """Leaves of what waits the whole lines of users whose turns are still in the history, and that
    do not name who was erased; how many of these lines may do so. The caller has the lock of
    `forget`."""
    folder = history / FOLDER
    for rest in folder.glob("*.fresh"):  # of a killed `_clean`
        rest.unlink()
    return sum([_clean(path, history, letters) for path in sorted(folder.glob("*.ndjson"))])


def _refusal(history: Path) -> ConfigurationError:
    return ConfigurationError(f"{history}: `forget` runs; wait for its end")


def _clean(path: Path, history: Path, erased: Letters | None = None) -> int:
    """Leaves the whole lines of users whose turns are still there; how many of them may name who
    was erased. A run that is killed meanwhile does it again: records folded before are
    duplicates."""
    found = [(line, _record(line)) for line in path.read_bytes().split(b"\n")]
    whole = [
        (line, record, verdict)
        for line, record in found
        if record is not None and (verdict := _verdict(erased, line, record)) != GOES
    ]
    stays = known([record for _, record, _ in whole], history)
    kept = [(line, verdict) for (line, _, verdict), one in zip(whole, stays, strict=True) if one]
    fresh = path.with_suffix(".fresh")
    fresh.write_bytes(b"".join([line + b"\n" for line, _ in kept]))
    fresh.replace(path)
    return sum(verdict != STAYS for _, verdict in kept)


def _verdict(erased: Letters | None, line: bytes, record: JsonObject) -> int:
    if erased is None or record.get("tenant") != erased.tenant:
        return STAYS
    return erased.verdict(line, None, None, None)


def _record(line: bytes) -> JsonObject | None:
    """None where a full disk or a kill cut it."""
    try:
        record = _decode(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def known(records: list[JsonObject], history: Path) -> list[bool]:
    """Of each record whether its first turn is in the history: who was forgotten has none, nor has
    a session that was."""
    return are_known([_first_turn(one) for one in records], history)


def _first_turn(record: JsonObject) -> tuple[str, str, str | None, str]:
    event_id = record["extraction"]["event_ids"][0]
    return record["tenant"], record["user_id"], record.get("session_id"), event_id


async def is_there(group: Group, history: Path) -> bool:
    """Whether a group's turns are in the history yet."""
    turn = group.turns[0]
    where = (turn.tenant, turn.user_id, turn.session_id, turn.event_id)
    return (await asyncio.to_thread(are_known, [where], history))[0]


def are_known(turns: Sequence[tuple[str, str, str | None, str]], history: Path) -> list[bool]:
    """Of each turn (tenant, user, session if it is known, event) whether the history has it."""
    if not turns:
        return []
    with connect(history, views=["events"]) as db:
        sql = (
            "SELECT tenant, user_id, session_id, event_id FROM events "
            "WHERE event_id IN (SELECT unnest(?))"
        )
        rows = db.execute(sql, [[event_id for *_, event_id in turns]]).fetchall()
    found = {*rows, *((tenant, user, None, event) for tenant, user, _, event in rows)}
    return [one in found for one in turns]
