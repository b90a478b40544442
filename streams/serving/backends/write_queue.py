"""Posts to a server of a history, on their way into the log.

One thread appends all gathered posts at once; further posts gather during the write. The log's
order is the fold's order, so tenants take turns by the processing time of their records, and only
as much is appended as is folded soon. Requests with many records are logged in parts.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Condition

import msgspec

from streams.files.inbox import FOLDER, Group, NoRoom
from streams.folds.effects import Input
from streams.folds.outcome import ACCEPTED, Outcome
from streams.pipeline import json_limits
from streams.pipeline.fast_decode import TENANT
from streams.quota import Work
from streams.serving.backends.fold_thread import IngestThread
from streams.serving.backends.tenant_turns import TenantTurns

log = logging.getLogger(__name__)

PART = 16
"""Records of one request that go into the log without others between them."""
GATHER = 0.005
"""Seconds from one write to the log to the next: records posted in between are written together,
with one wait for the disk and one turn of each thread. A single request does not wait."""
AHEAD = 0.2
"""CPU seconds that the log may be ahead of folding: so long a tenant waits for other tenants'
earlier records."""
ALONE_RECORDS, SHARED_RECORDS = 4_000, 512
"""The same in records, where one tenant is alone, and where others post: they bound the time of one
that turns from cheap records to expensive ones."""
LOOK = 0.1
"""Seconds in which it is noticed that the history is not being folded any more."""


class Posted:
    """Records of one request, and their outcomes so far."""

    def __init__(
        self,
        records: Sequence[bytes],
        decoded: Sequence[Input | None] | None,
        loop: asyncio.AbstractEventLoop,
        all_or_none: bool = False,
    ) -> None:
        self.records = [_in_a_line(record) for record in records]
        self.read = decoded
        self.tenant = _tenant_of(self.records[0], decoded[0] if decoded else None)
        self.bytes = sum(map(len, self.records))
        self.outcomes = [ACCEPTED] * len(records)
        self.left = len(records)
        length = len(records) if all_or_none else PART
        self.parts = [PostedPart(self, at, length) for at in range(0, len(records), length)]
        self.logged = False
        self.done: asyncio.Future[None] = loop.create_future()
        self.done.add_done_callback(asyncio.Future.exception)  # its sender may be gone

    def end(self, error: Exception | None = None) -> None:
        """Answers the sender, if it still waits."""
        if self.done.done():
            return
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)


class PostedPart:
    """Some records of a request that go into the log together."""

    def __init__(self, posted: Posted, start: int, length: int) -> None:
        self.posted = posted
        self.places = range(start, min(start + length, len(posted.records)))


class PostedLog:
    """Writes posts to the log and hands them to the folding thread. `refused` receives a request
    that could not be written completely, and the error."""

    def __init__(
        self, root: Path, folder: IngestThread, refused: Callable[[Posted, Exception], None]
    ) -> None:
        self._root = root
        self._folder = folder
        self._refused = refused
        self._posts: TenantTurns[PostedPart] = TenantTurns()
        self._folded = Condition()
        self._ahead: Counter[str] = Counter()  # records of the log that are not folded, by tenant
        self._crowded = float("-inf")  # when several requests were last written together
        self._full = False
        self._waiting: dict[int, tuple[Posted, int]] = {}  # offset -> its place in a request

    def put(self, posted: Posted) -> None:
        self._posts.put(posted.tenant, posted.parts)

    def withdraw(self, posted: Posted) -> bool:
        """Whether it was removed before any of it was logged."""
        return self._posts.withdraw(posted.tenant, posted.parts)

    def end_posts(self) -> None:
        self._posts.end()

    def run(self) -> None:
        """The thread's function: until everything posted before the end is written."""
        while gathered := self._gather():
            self._append(gathered)

    def end(
        self, group: Group, outcomes: Sequence[Outcome], seconds: Mapping[str, float]
    ) -> tuple[list[Posted], list[Work]]:
        """Called by the folding thread with outcomes and processing seconds per tenant; returns the
        finished requests and the work done."""
        ended, records = [], Counter[str]()
        for offset, outcome in enumerate(outcomes, group.first):
            posted, place = self._waiting.pop(offset, (None, 0))
            if posted is None:
                continue
            records[posted.tenant] += 1
            posted.outcomes[place] = outcome
            posted.left -= 1
            if not posted.left:
                ended.append(posted)
        work = [
            Work(tenant, count, seconds[tenant])
            for tenant, count in records.items()
            if tenant in seconds
        ]
        for of_tenant in work:
            self._posts.charge(*of_tenant)
        with self._folded:
            self._ahead -= records
            self._folded.notify()
        return ended, work

    def _gather(self) -> list[PostedPart]:
        """The posts that may be logged now; empty at the end."""
        self._let_fold()
        part = self._posts.take(wait=True)
        if (pause := self._crowded + GATHER - time.monotonic()) > 0:
            time.sleep(pause)
        gathered: dict[
            str, list[PostedPart]
        ] = {}  # of a tenant together: its records are measured so
        records, seconds = self._under_way()
        most = self._most
        while part is not None:
            tenant = part.posted.tenant
            gathered.setdefault(tenant, []).append(part)
            records += len(part.places)
            seconds += len(part.places) * self._posts.seconds_of(tenant)
            is_full = records >= most or seconds >= AHEAD
            part = None if is_full else self._posts.take(wait=False)
        return [part for parts in gathered.values() for part in parts]

    def _let_fold(self) -> None:
        """Waits while the log is ahead of the folding thread, as long as that progresses."""
        while self._folder.is_open:
            records, seconds = self._under_way()
            if records <= self._most / 2 and seconds <= AHEAD / 2:
                return
            with self._folded:
                self._folded.wait(LOOK)

    @property
    def _most(self) -> int:
        return ALONE_RECORDS if self._posts.is_alone else SHARED_RECORDS

    def _under_way(self) -> tuple[int, float]:
        """Records of the log that are not folded, and their estimated processing time."""
        with self._folded:
            ahead = list(self._ahead.items())
        seconds = sum(count * self._posts.seconds_of(tenant) for tenant, count in ahead)
        return sum(count for _, count in ahead), seconds

    def _append(self, gathered: list[PostedPart]) -> None:
        inbox = self._folder.inbox
        assert inbox is not None, "made before this thread was started"
        # what can fail does so before anything is on disk
        decoded, tenants = _read(gathered), _tenants(gathered)
        records = [part.posted.records[place] for part in gathered for place in part.places]
        first = offset = inbox.end + 1  # no other thread appends
        for part in gathered:  # before: the folding thread may find it on disk at once
            for place in part.places:
                self._waiting[offset] = (part.posted, place)
                offset += 1
        with self._folded:
            self._ahead.update(tenants)
        try:
            group = inbox.append(records)
        except Exception as error:
            for waiting in range(first, offset):
                del self._waiting[waiting]
            with self._folded:
                self._ahead -= Counter(tenants)
            if isinstance(error, NoRoom):
                if not self._full:
                    log.warning("%s: %s", self._root / FOLDER, error)
                self._full = True
            else:
                log.exception("%s: nothing can be taken", self._root)
            for posted, last in {part.posted: part for part in gathered}.items():
                if rest := posted.parts[posted.parts.index(last) + 1 :]:
                    self._posts.withdraw(posted.tenant, rest)
                self._refused(posted, error)
            return
        if self._full:
            log.warning("%s: takes records again", self._root / FOLDER)
            self._full = False
        for part in gathered:
            part.posted.logged = part is part.posted.parts[-1]
        self._folder.groups.put(group._replace(read=decoded, tenants=tenants))
        is_crowded = any(part.posted is not gathered[0].posted for part in gathered)
        self._crowded = time.monotonic() if is_crowded else float("-inf")


def _tenant_of(record: bytes, decoded: Input | None) -> str:
    if decoded is not None:
        return decoded.record.tenant
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return str(json_limits.head(record).get("tenant", TENANT))
    return TENANT


def _read(gathered: Sequence[PostedPart]) -> list[Input | None]:
    """The decoded records, as far as they are known."""
    inputs: list[Input | None] = []
    for part in gathered:
        decoded, places = part.posted.read, part.places
        inputs += decoded[places.start : places.stop] if decoded else [None] * len(places)
    return inputs


def _tenants(gathered: Sequence[PostedPart]) -> list[str]:
    return [tenant for part in gathered for tenant in [part.posted.tenant] * len(part.places)]


def _in_a_line(record: bytes) -> bytes:
    """Between JSON tokens a line feed is a blank; inside tokens there is none."""
    return record.replace(b"\n", b" ") if b"\n" in record else record
