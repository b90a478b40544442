"""Builds search indexes in a separate thread: that may take minutes, and other queries continue."""

import asyncio
import sqlite3
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from logging import getLogger
from threading import Event, Lock, Thread

import _duckdb

from sinks.history_root import HistoryError, HistoryWriteError
from sinks.locations import Location
from streams.errors import TurnfoldError, Unreachable
from streams.search import NotIndexed, embed, update
from streams.search.vector_search import embedder
from streams.serving.http.problems import Problem, retry_after

WAIT_SECONDS = 5.0
"""Seconds that a search waits for its index: enough for a small one."""
ATTEMPTS = 2
"""The tables may be compacted under the first."""

_log = getLogger(__name__)


class Indexing:
    """Builds the indexes of a generation's tenants one after the other, awaited ones first. Belongs
    to one event loop."""

    def __init__(self, root: Location) -> None:
        self._root = root
        self._thread = ThreadPoolExecutor(1, "index")
        self._embedding = False  # whether a thread does
        self._to_embed: set[str] = set()
        self._ending = Event()
        self._under_way: dict[str, Future[None]] = {}
        self._lock = Lock()
        self._next: list[str] = []  # the last one first
        self._unwritable: set[str] = set()  # tenants with a last build that could not be written
        self.tenants: set[str] = set()
        """Those that have searched."""

    def begin(self, tenants: Iterable[str]) -> None:
        """Updates these indexes in the background."""
        for tenant in tenants:
            self._begun(tenant)

    async def whole(self, tenants: Iterable[str]) -> None:
        """Waits until these indexes are up to date; errors are logged."""
        for tenant in tenants:
            await asyncio.shield(asyncio.wrap_future(self._begun(tenant)))

    def is_at(self, tenant: str) -> bool:
        """Whether a tenant's index is being built or queued."""
        building = self._under_way.get(tenant)
        return building is not None and not building.done()

    async def wait(self, tenant: str) -> None:
        """Waits until a tenant's index is up to date, as far as possible. Raises Problem."""
        building = asyncio.wrap_future(self._begun(tenant))
        with self._lock:
            if tenant in self._next:
                self._next.remove(tenant)
                self._next.append(tenant)
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                await asyncio.shield(building)  # others also wait for it
        except TimeoutError:
            raise self.not_indexed(tenant) from None

    def not_indexed(self, tenant: str) -> Problem:
        """The problem of a search without an index."""
        detail = (
            "the search index cannot be written; the server's log says why"
            if tenant in self._unwritable
            else "the search index is being built; other questions are answered meanwhile"
        )
        return Problem(503, "Not indexed", detail, retry_after(5))

    def _begun(self, tenant: str) -> Future[None]:
        self.tenants.add(tenant)
        if not self.is_at(tenant):
            self._under_way = {
                name: building for name, building in self._under_way.items() if not building.done()
            }
            self._under_way[tenant] = Future()
            with self._lock:
                self._next.insert(0, tenant)
            self._thread.submit(self._build_next)
        return self._under_way[tenant]

    def _build_next(self) -> None:
        with self._lock:
            tenant = self._next.pop()
        try:
            self._build(tenant)
        finally:
            self._under_way[tenant].set_result(None)

    def _build(self, tenant: str) -> None:
        self._unwritable.discard(tenant)
        for _ in range(ATTEMPTS):
            try:
                update(self._root, tenant, ending=self._ending)
            except NotIndexed:
                return  # another process is at it, or the server ends
            except HistoryWriteError as error:  # a full disk: a retry does not help
                self._unwritable.add(tenant)
                _log.error("the search index cannot be written: %s", error)
                return
            except (HistoryError, TurnfoldError, OSError, _duckdb.Error) as error:
                _log.warning("the search index is not up to date: %s", error)
            except Exception:
                _log.exception("the search index is not up to date")
            else:
                self.embed(tenant)
                return

    def embed(self, tenant: str) -> None:
        """Computes vectors of newly indexed texts in a separate daemon thread: searches and the end
        of the process do not wait for an endpoint."""
        with self._lock:
            if embedder() is None:
                return
            self._to_embed.add(tenant)
            if self._embedding:
                return
            self._embedding = True
        Thread(target=self._embed_all, name="embed", daemon=True).start()

    def _embed_all(self) -> None:
        while True:
            with self._lock:  # documents indexed from now on belong to the next run
                if not self._to_embed or self._ending.is_set():
                    self._embedding = False
                    return
                tenant = self._to_embed.pop()
            self._embed(tenant)

    def _embed(self, tenant: str) -> None:
        from streams.search.embedding import log_fault  # of an extra

        try:
            embed(self._root, tenant, ending=self._ending)
        except (Unreachable, HistoryError, OSError, sqlite3.Error) as error:
            log_fault(str(error))  # each search tries again
        except Exception:
            _log.exception("vectors are not made")
        else:
            log_fault("")

    def close(self) -> None:
        """Stops the current build at its next batch; the next start continues."""
        self._ending.set()
        self._thread.shutdown(wait=False, cancel_futures=True)
