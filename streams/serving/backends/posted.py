"""What was posted to a server of a history, on its way into the log.

One thread appends what has gathered, all at once; while that is under way the next posts gather.
The log's order is that of folding, so tenants take turns here, and no more is appended than is
folded soon: what is in the log stands before all that comes.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Condition

import msgspec

from streams.files.inbox import FOLDER, Group, NoRoom
from streams.folds.outcome import ACCEPTED, Outcome
from streams.folds.rows import Input
from streams.pipeline import bounds
from streams.pipeline.plain import TENANT
from streams.serving.backends.ingest import IngestThread
from streams.serving.backends.turns import TenantTurns

log = logging.getLogger(__name__)

GROUP_RECORDS = 4_000
"""Of one write to the log."""
GATHER = 0.005
"""Seconds from one write to the log to the next: what is posted meanwhile goes together, and costs
one wait for the disk and one turn of each thread. Not after a write of one request: who posts alone
does not wait."""
AHEAD = 0.2
"""Seconds of folding that the log is ahead of it: so long a tenant waits for what others have
posted before it."""
LOOK = 0.1
"""Seconds in which it is noticed that the history is not being folded any more."""
SAME = 1_000
"""Bytes that cost about as much as a record does whatever its length."""


class Posted:
    """Records of one request, and what they ended as so far."""

    def __init__(
        self,
        records: Sequence[bytes],
        read: Sequence[Input | None] | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.records = [_in_a_line(record) for record in records]
        self.read = read
        self.tenant = _tenant_of(self.records[0], read[0] if read else None)
        self.bytes = sum(map(len, self.records))
        self.outcomes = [ACCEPTED] * len(records)
        self.left = len(records)
        self.logged = False
        self.done: asyncio.Future[None] = loop.create_future()
        self.done.add_done_callback(asyncio.Future.exception)  # its sender may be gone

    def end(self, error: Exception | None = None) -> None:
        """Its sender hears, if it is still there."""
        if self.done.done():
            return
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)


class PostedLog:
    """Writes posts to the log and hands them to the folding thread. `refused` hears of a request
    of which nothing could be written, and why."""

    def __init__(
        self, root: Path, folder: IngestThread, refused: Callable[[Posted, Exception], None]
    ) -> None:
        self._root = root
        self._folder = folder
        self._refused = refused
        self._posts: TenantTurns[Posted] = TenantTurns(_cost)
        self._folded = Condition()
        self._crowded = float("-inf")  # when several requests were last written together
        self._full = False
        self._waiting: dict[int, tuple[Posted, int]] = {}  # offset -> its place in a request

    def put(self, posted: Posted) -> None:
        """Behind what its tenant has posted."""
        self._posts.put(posted.tenant, posted)

    def withdraw(self, posted: Posted) -> bool:
        """Whether it was not on its way into the log yet; nothing of it is taken then."""
        return self._posts.withdraw(posted.tenant, posted)

    def end_posts(self) -> None:
        """No more will be posted."""
        self._posts.end()

    def run(self) -> None:
        """The thread's: until all is written that was posted before the end."""
        while gathered := self._gather():
            self._append(gathered)

    def end(self, group: Group, outcomes: Sequence[Outcome]) -> list[Posted]:
        """The folding thread tells what records ended as; requests that have ended with them."""
        with self._folded:
            self._folded.notify()
        ended = []
        for offset, outcome in enumerate(outcomes, group.first):
            posted, place = self._waiting.pop(offset, (None, 0))
            if posted is None:
                continue
            posted.outcomes[place] = outcome
            posted.left -= 1
            if not posted.left:
                ended.append(posted)
        return ended

    def _gather(self) -> list[Posted]:
        """What was posted and may go into the log now; nothing at the end."""
        self._let_fold()
        posted = self._posts.take(wait=True)
        if (pause := self._crowded + GATHER - time.monotonic()) > 0:
            time.sleep(pause)
        gathered: list[Posted] = []
        records, most = 0, min(GROUP_RECORDS, self._folder.records_within(AHEAD))
        while posted is not None:
            gathered.append(posted)
            records += len(posted.records)
            posted = self._posts.take(wait=False) if records < most else None
        return gathered

    def _let_fold(self) -> None:
        """Waits while the log is far ahead of the folding thread, as long as that goes on."""
        folder = self._folder
        with self._folded:
            while folder.is_open and folder.unfolded > folder.records_within(AHEAD):
                self._folded.wait(LOOK)

    def _append(self, gathered: list[Posted]) -> None:
        inbox = self._folder.inbox
        assert inbox is not None, "made before this thread was started"
        read = _read(gathered)  # what can fail does so before anything is on disk
        first = offset = inbox.end + 1  # no other thread appends
        for posted in gathered:  # before: the folding thread may find it on disk at once
            for place in range(len(posted.records)):
                self._waiting[offset] = (posted, place)
                offset += 1
        try:
            group = inbox.append([record for posted in gathered for record in posted.records])
        except Exception as error:
            for waiting in range(first, offset):
                del self._waiting[waiting]
            if isinstance(error, NoRoom):
                if not self._full:
                    log.warning("%s: %s", self._root / FOLDER, error)
                self._full = True
            else:
                log.exception("%s: nothing can be taken", self._root)
            for posted in gathered:
                self._refused(posted, error)
            return
        if self._full:
            log.warning("%s: takes records again", self._root / FOLDER)
            self._full = False
        for posted in gathered:
            posted.logged = True
        self._folder.groups.put(group._replace(read=read))
        self._crowded = time.monotonic() if len(gathered) > 1 else float("-inf")


def _tenant_of(record: bytes, read: Input | None) -> str:
    if read is not None:
        return read.record.tenant
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return str(bounds.head(record).get("tenant", TENANT))
    return TENANT


def _cost(posted: Posted) -> float:
    return len(posted.records) + posted.bytes / SAME


def _read(gathered: Sequence[Posted]) -> list[Input | None]:
    """What the records say, as far as it is known."""
    found: list[Input | None] = []
    for posted in gathered:
        found += posted.read or [None] * len(posted.records)
    return found


def _in_a_line(record: bytes) -> bytes:
    """Between the tokens of JSON a line feed is a blank; within them there is none."""
    return record.replace(b"\n", b" ") if b"\n" in record else record
