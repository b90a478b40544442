"""Queue of a server's erasures: each is on disk before it is accepted, and continues after a
kill."""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

import msgspec

from sinks.disk import trouble
from sinks.history_root import HistoryError
from streams.apps.erasure_requests import BROKEN, FOLDER, Erasure, decode, finished, write
from streams.errors import TurnfoldError

log = logging.getLogger(__name__)

AGAIN = 2.0
"""Seconds until a failed erasure is retried."""
INDEX_WITHIN = 5.0
"""Seconds to wait for a search index being built; then other erasures go first."""
BACK_WITHIN = 5.0
"""Seconds to wait until the server has the history again, before an erasure counts as done."""
LOOK_EVERY = 0.01
END_WITHIN = 20.0
"""Seconds for the current erasure when the server stops; the next start continues it."""


class Erasures:
    """Erasures of one history, run in sequence by a thread that borrows the history's lock from the
    server, as `forget` does. `is_back`: whether the server has the lock again, so that it can
    answer requests."""

    def __init__(self, root: Path, is_back: Callable[[], bool] = lambda: True) -> None:
        self._root = root
        self._is_back = is_back
        self._folder = root / FOLDER
        self._lock = Lock()
        self._waiting: dict[str, Erasure] = {}
        self._under_way: str | None = None
        self._asked = Event()
        self._ending = Event()
        self._thread = Thread(target=self._run, name="erase", daemon=True)

    def start(self) -> None:
        """Continues the erasures of an earlier process. Raises OSError."""
        for file in sorted(self._folder.glob("*.json")):
            try:
                erasure = decode(file.read_bytes())
            except msgspec.MsgspecError:  # its words may quote a name
                aside = file.with_suffix(BROKEN)
                file.replace(aside)
                log.error("%s: cannot be read, so this erasure is not done: request it again, then "
                          "delete the file", aside)  # fmt: skip
                continue
            if erasure.finished_at is None:
                self._waiting[erasure.id] = erasure
        self._asked.set()
        self._thread.start()

    def close(self) -> None:
        """Starts no more erasures; waits for the current one."""
        self._ending.set()
        self._asked.set()
        self._thread.join(END_WITHIN)

    def ask(
        self,
        tenant: str,
        user_id: str | None = None,
        *,
        session_id: str | None = None,
        event_id: str | None = None,
    ) -> Erasure:
        """Queues the erasure of a user, a session or a turn, durably; returns a waiting one for the
        same target. One in progress is queued again, as it ignores later records. Raises
        OSError."""
        with self._lock:
            target = (tenant, user_id, session_id, event_id)
            for waiting in self._waiting.values():
                if waiting.target == target and waiting.id != self._under_way:
                    return waiting
            now = time.time_ns() // 1000
            erasure = Erasure(uuid4().hex, tenant, now, user_id, session_id, event_id)
            self._folder.mkdir(exist_ok=True)
            write(self._root, erasure)
            self._waiting[erasure.id] = erasure
        self._asked.set()
        return erasure

    def find(self, tenant: str, id: str) -> Erasure | None:
        """An erasure of a tenant by its id, or None if unknown."""
        erasure = self._waiting.get(id)
        if erasure is None:
            try:
                erasure = decode((self._folder / f"{id}.json").read_bytes())
            except (FileNotFoundError, msgspec.MsgspecError):
                return None
        return erasure if erasure.tenant == tenant else None

    def _run(self) -> None:
        while not self._ending.is_set():
            self._asked.wait()
            self._asked.clear()
            while not self._ending.is_set() and (erasure := self._next()):
                if not self._done(erasure):
                    self._leave(erasure)
                    self._ending.wait(AGAIN)

    def _next(self) -> Erasure | None:
        """The longest waiting erasure, which becomes the current one."""
        with self._lock:
            erasure = next(iter(self._waiting.values()), None)
            self._under_way = None if erasure is None else erasure.id
        return erasure

    def _leave(self, erasure: Erasure) -> None:
        """Moves a failed erasure behind the others."""
        with self._lock:
            self._under_way = None
            self._waiting[erasure.id] = self._waiting.pop(erasure.id)

    def _done(self, erasure: Erasure) -> bool:
        """Runs an erasure; returns whether it succeeded."""
        try:
            receipt = _erased(self._root, erasure)
            write(self._root, finished(erasure, receipt))
        except (TurnfoldError, HistoryError, OSError) as error:
            log.warning("erasure %s: %s; trying again", erasure.id, trouble(error) or str(error))
            return False
        except Exception as error:  # its words may quote a record
            log.error("erasure %s: %s; trying again", erasure.id, type(error).__name__)
            return False
        self._await_history()
        with self._lock:
            self._under_way = None
            del self._waiting[erasure.id]
        log.info("erasure %s: done", erasure.id)
        return True

    def _await_history(self) -> None:
        deadline = time.monotonic() + BACK_WITHIN
        while not self._is_back() and time.monotonic() < deadline:
            if self._ending.wait(LOOK_EVERY):
                return


def _erased(root: Path, erasure: Erasure) -> dict[str, Any]:
    """Runs an erasure; returns the receipt. Raises TurnfoldError, HistoryError, OSError."""
    from streams.apps.compact_and_forget import forget
    from streams.apps.forget_session import forget_session  # not needed before, and slow to load

    if erasure.session_id is not None:
        return forget_session(
            root, erasure.tenant, erasure.session_id, erasure.event_id, INDEX_WITHIN
        )
    assert erasure.user_id is not None, "a waiting erasure has a target"
    return forget(root, erasure.tenant, erasure.user_id, INDEX_WITHIN)
