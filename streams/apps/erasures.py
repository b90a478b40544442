"""Erasures that a server was asked for: each is on disk before it is promised, and goes on after a
kill.

`_erasures/ID.json` in a history's folder says which user or session is to be erased and, once that
is done, the receipt in place of the name. A file that cannot be read is set aside: what it asked
for is asked for again.
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
from sinks.letters import GOES, STAYS, Letters
from sinks.root import HistoryError, replace
from streams.errors import TurnfoldError

log = logging.getLogger(__name__)

FOLDER = "_erasures"
ASIDE = ".broken"
"""In place of `.json`: a file that could not be read."""
AGAIN = 2.0
"""Seconds until an erasure that could not be done is tried again."""
INDEX_WITHIN = 5.0
"""Seconds that one waits for an index of its tenant that is being built; then others go first."""
BACK_WITHIN = 5.0
"""Seconds that one is not told as done, if the server has not got the history back yet."""
LOOK_EVERY = 0.01
END_WITHIN = 20.0
"""Seconds that one under way may take, once the server ends; a later start continues it."""


class Erasure(msgspec.Struct, frozen=True):
    """One erasure, of a user or of a session; times in microseconds. Once it is done
    (`finished_at`) it names neither."""

    id: str
    tenant: str
    requested_at: int
    user_id: str | None = None
    session_id: str | None = None
    finished_at: int | None = None
    receipt: dict[str, Any] | None = None

    @property
    def whose(self) -> tuple[str, str | None, str | None]:
        """What it is still to erase."""
        return self.tenant, self.user_id, self.session_id


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
                found = _decode(file.read_bytes())
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
        self, tenant: str, user_id: str | None = None, *, session_id: str | None = None
    ) -> Erasure:
        """The erasure of a user or of a session, on disk; one that waits already is not asked for
        again. One under way is: it leaves what came after it began. Raises OSError."""
        with self._lock:
            for known in self._waiting.values():
                if known.whose == (tenant, user_id, session_id) and known.id != self._under_way:
                    return known
            made = Erasure(uuid4().hex, tenant, time.time_ns() // 1000, user_id, session_id)
            self._folder.mkdir(exist_ok=True)
            _write(self._root, made)
            self._waiting[made.id] = made
        self._asked.set()
        return made

    def find(self, tenant: str, id: str) -> Erasure | None:
        """An erasure of a tenant."""
        known = self._waiting.get(id)
        if known is None:
            try:
                known = _decode((self._folder / f"{id}.json").read_bytes())
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
            _write(self._root, _ended(erasure, receipt))
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


def clear(
    root: Path,
    letters: Letters,
    whose: tuple[str, str | None, str | None],
    asked_at: int,
    receipt: dict[str, Any],
) -> int:
    """Completes the requests that an erasure, begun at `asked_at`, has done; how many of the others
    may name whom it erased. One that cannot be read goes if it does. Raises OSError."""
    stay = 0
    for file in sorted((root / FOLDER).glob("[!.]*")):
        content = file.read_bytes()
        try:
            found = _decode(content)
        except msgspec.MsgspecError:
            found = None
        if found is not None and found.finished_at is not None:
            continue
        if found is not None and found.whose == whose and found.requested_at <= asked_at:
            _write(root, _ended(found, receipt))
            continue
        verdict = letters.verdict(content, None, None, None)
        if found is None and verdict == GOES and letters.is_of_tenant(content):
            file.unlink()
        elif verdict != STAYS and (found is None or found.tenant == letters.tenant):
            stay += 1
    return stay


def _ended(erasure: Erasure, receipt: dict[str, Any]) -> Erasure:
    return msgspec.structs.replace(
        erasure, user_id=None, session_id=None, finished_at=time.time_ns() // 1000, receipt=receipt
    )


def _write(root: Path, erasure: Erasure) -> None:
    text = msgspec.json.encode(erasure).decode()
    replace(root / FOLDER / f"{erasure.id}.json", text + "\n")


def _erased(root: Path, erasure: Erasure) -> dict[str, Any]:
    """Erases what it names; the receipt. Raises TurnfoldError, HistoryError, OSError."""
    from streams.apps.forget_session import forget_session  # not needed before, and slow to load
    from streams.apps.maintenance import forget

    if erasure.session_id is not None:
        return forget_session(root, erasure.tenant, erasure.session_id, INDEX_WITHIN)
    assert erasure.user_id is not None, "it waits, so it names whom"
    return forget(root, erasure.tenant, erasure.user_id, INDEX_WITHIN)


_decode = msgspec.json.Decoder(Erasure).decode
