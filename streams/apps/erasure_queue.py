"""Erasures that a server was asked for: each is on disk before it is promised, and goes on after a
kill.
"""

import logging
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

import msgspec

from sinks.disk import trouble
from sinks.root import HistoryError
from streams.apps.erasure_requests import ASIDE, FOLDER, Erasure, decode, ended, write
from streams.errors import TurnfoldError

log = logging.getLogger(__name__)

AGAIN = 2.0
"""Seconds until an erasure that could not be done is tried again."""
INDEX_WITHIN = 5.0
"""Seconds that one waits for an index of its tenant that is being built; then others go first."""
BACK_WITHIN = 5.0
"""Seconds that one is not told as done, if the server has not got the history back yet."""
LOOK_EVERY = 0.01
END_WITHIN = 20.0
"""Seconds that one under way may take, once the server ends; a later start continues it."""


class Erasures:
    """Those of one history, done in a thread of their own, one after the other, while it is
    entered. The history is borrowed of its server, as the command `forget` does. `is_back`: whether
    the server has it again, so that what is asked next is answered."""

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
        """Continues what an earlier process was asked for. Raises OSError."""
        for file in sorted(self._folder.glob("*.json")):
            try:
                found = decode(file.read_bytes())
            except msgspec.MsgspecError:  # its words may quote a name
                aside = file.with_suffix(ASIDE)
                file.replace(aside)
                log.error("%s: cannot be read, so what it asked for is not done: ask for it again, "
                          "then delete the file", aside)  # fmt: skip
                continue
            if found.finished_at is None:
                self._waiting[found.id] = found
        self._asked.set()
        self._thread.start()

    def close(self) -> None:
        """Begins no more; one under way may end."""
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
        """The erasure of a user, of a session or of a turn of it, on disk; one that waits already
        is not asked for again. One under way is: it leaves what came after it began. Raises
        OSError."""
        with self._lock:
            whose = (tenant, user_id, session_id, event_id)
            for known in self._waiting.values():
                if known.whose == whose and known.id != self._under_way:
                    return known
            now = time.time_ns() // 1000
            made = Erasure(uuid4().hex, tenant, now, user_id, session_id, event_id)
            self._folder.mkdir(exist_ok=True)
            write(self._root, made)
            self._waiting[made.id] = made
        self._asked.set()
        return made

    def find(self, tenant: str, id: str) -> Erasure | None:
        """An erasure of a tenant."""
        known = self._waiting.get(id)
        if known is None:
            try:
                known = decode((self._folder / f"{id}.json").read_bytes())
            except (FileNotFoundError, msgspec.MsgspecError):
                return None
        return known if known.tenant == tenant else None

    def _run(self) -> None:
        while not self._ending.is_set():
            self._asked.wait()
            self._asked.clear()
            while not self._ending.is_set() and (erasure := self._next()):
                if not self._done(erasure):
                    self._leave(erasure)
                    self._ending.wait(AGAIN)

    def _next(self) -> Erasure | None:
        """The one that waits longest; from now on it is under way."""
        with self._lock:
            found = next(iter(self._waiting.values()), None)
            self._under_way = None if found is None else found.id
        return found

    def _leave(self, erasure: Erasure) -> None:
        """It waits behind the others, who may have no such trouble."""
        with self._lock:
            self._under_way = None
            self._waiting[erasure.id] = self._waiting.pop(erasure.id)

    def _done(self, erasure: Erasure) -> bool:
        """Whether it is done now."""
        try:
            receipt = _erased(self._root, erasure)
            write(self._root, ended(erasure, receipt))
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
    """Erases what it names; the receipt. Raises TurnfoldError, HistoryError, OSError."""
    from streams.apps.forget_session import forget_session  # not needed before, and slow to load
    from streams.apps.maintenance import forget

    if erasure.session_id is not None:
        return forget_session(
            root, erasure.tenant, erasure.session_id, erasure.event_id, INDEX_WITHIN
        )
    assert erasure.user_id is not None, "it waits, so it names whom"
    return forget(root, erasure.tenant, erasure.user_id, INDEX_WITHIN)
