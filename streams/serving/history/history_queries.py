"""Queries of the history, in two pools with time limits: queries of its tables, which may take
seconds, and look-ups in its search index, which take milliseconds and never wait for the former."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from logging import getLogger
from threading import Lock
from typing import TypeVar

import _duckdb
from _duckdb import DuckDBPyConnection

from sinks import file_checks, history
from sinks.history_root import HistoryError, HistoryWriteError
from sinks.locations import Location
from sinks.store_errors import DELETED, of_duckdb
from streams.errors import DataRefused, UsageError
from streams.search import (
    ActiveQuery,
    CountQuery,
    Listing,
    NotIndexed,
    Page,
    Query,
    Recall,
    recall,
    search,
)
from streams.serving.backends.backend import Backend, NotReady, Subject
from streams.serving.backends.live_generation import Live
from streams.serving.backends.tenant_threads import TenantThreads
from streams.serving.history.indexing import Indexing
from streams.serving.http.problems import (
    Fault,
    Problem,
    invalid,
    no_history,
    not_found,
    retry_after,
)

THREADS, WAITING = 3, 16
"""Threads for queries of the tables, and maximum waiting queries."""
LOOKUP_THREADS, LOOKUPS_WAITING = 3, 500
"""The same for look-ups: one or two seconds of them may accumulate while the index is updated."""
WRITTEN_WITHIN = 5.0
"""Seconds until the tables have the folded records; usually one."""
SETTINGS = "SET threads = 1; SET memory_limit = '512MB'; SET temp_directory = ''"
"""Settings of each query: they leave resources to the server, and no files on disk."""

BEHIND = "the history does not have the newest records yet; the server's log says why"

T = TypeVar("T")
_log = getLogger(__name__)


class Watch:
    """The connections of one query, with their settings, to be interrupted on a timeout."""

    def __init__(self, settings: str = SETTINGS) -> None:
        self._settings = settings
        self._lock = Lock()
        self._opened: list[DuckDBPyConnection] = []
        self._over = False

    def opened(self, connection: DuckDBPyConnection) -> None:
        connection.execute(self._settings)
        with self._lock:
            if self._over:
                raise TimeoutError
            self._opened.append(connection)

    def interrupt(self) -> None:
        with self._lock:
            self._over = True
            for connection in self._opened:
                with suppress(_duckdb.Error):  # one that was closed in between
                    connection.interrupt()


class HistoryQueries:
    """Queries the history (`streams.history_documents`) of the serving generation; a query never
    reads two generations."""

    def __init__(self, backend: Backend, seconds: float) -> None:
        self._backend = backend
        self._seconds = seconds
        self._tables = TenantThreads("history", THREADS, WAITING)
        self._lookups = TenantThreads("lookup", LOOKUP_THREADS, LOOKUPS_WAITING)
        self._indexes: dict[Location, Indexing] = {}  # of each generation that has answered
        backend.preparing.append(self._prepare)

    def begin(self, tenants: Iterable[str]) -> None:
        """Prepares the indexes of these tenants, which takes time."""
        with suppress(NotReady):
            if (tables := self._backend.live.tables) is not None:
                self._index(tables).begin(tenants)

    async def _prepare(self, live: Live) -> None:
        """Builds the index of another generation, for the tenants that have searched in this
        one."""
        if live.tables is None:
            return
        index = self._index(live.tables)
        await index.whole(self._tenants())

    def _index(self, tables: Location) -> Indexing:
        """The index of a generation; a new one indexes the tenants of the others as well."""
        index = self._indexes.get(tables)
        if index is None:
            tenants = self._tenants()
            index = self._indexes[tables] = Indexing(tables)
            index.begin(tenants)
        return index

    def _tenants(self) -> set[str]:
        return {tenant for index in self._indexes.values() for tenant in index.tenants}

    async def search(self, tenant: str, query: Query) -> Page:
        """As `streams.search`, after everything visible of the query's user or session is written.
        Raises Problem, Busy."""
        await self._caught_up(tenant, _subjects(query.user_id, query.session_id))
        return await self.look_up(tenant, query, search, "search")

    async def recall(self, tenant: str, query: Query) -> Recall:
        """As `search`, for `streams.search.recall`. Raises Problem, Busy."""
        await self._caught_up(tenant, _subjects(query.user_id, query.session_id))
        return await self.look_up(tenant, query, recall, "search")

    async def look_up(
        self,
        tenant: str,
        query: Query | Listing | ActiveQuery | CountQuery,
        find: Callable[..., T],
        noun: str,
    ) -> T:
        """What `find`, a function of `streams.search`, returns of the index, updated if needed;
        `noun` names it in problems. Raises Problem, Busy."""
        tables = self._backend.live.tables
        if tables is None:
            raise no_history(noun)
        indexing = self._index(tables)

        def found(root: Location) -> T:
            try:
                answer = find(root, tenant, query, at_once=True)
                indexing.embed(tenant)
                return answer
            except HistoryWriteError as error:  # a full disk: indexed documents can still be found
                _log.error("the search index is not brought up to date: %s", error)
                return as_built(root)

        def as_built(root: Location) -> T:  # later commits would keep it waiting
            return find(root, tenant, query, update=False)

        with suppress(NotIndexed):
            if not indexing.is_at(tenant):
                return await self._asked(self._lookups, noun, tenant, found)
        await indexing.wait(tenant)
        try:
            return await self._asked(self._lookups, noun, tenant, as_built)
        except NotIndexed:
            raise indexing.not_indexed(tenant) from None

    async def ask(
        self,
        noun: str,
        tenant: str,
        question: Callable[[Location], T],
        *,
        seconds: float | None = None,
        of: Sequence[Subject] = (),
    ) -> T:
        """Runs `question` on the tables; `noun` names its subject in problems. `seconds`: time
        limit; default: the server's. `of`: sessions and users that are first written completely. If
        the subject is not found, the query is repeated after all current changes are written.
        Raises Problem, Busy."""
        await self._caught_up(tenant, of)
        behind = self._backend.unwritten(tenant)  # before: it may be written while this looks
        try:
            return await self._asked(self._tables, noun, tenant, question, seconds)
        except Problem as problem:
            if problem.status != 404 or not behind:
                raise
        await self._backend.written(tenant, WRITTEN_WITHIN)
        return await self._asked(self._tables, noun, tenant, question, seconds)

    async def _caught_up(self, tenant: str, of: Sequence[Subject]) -> None:
        """Waits until a client's applied write can be read. Raises Problem."""
        if not (of and self._backend.unwritten(tenant, *of)):
            return
        if not await self._backend.written(tenant, WRITTEN_WITHIN, *of):
            raise Problem(503, "Not ready", BEHIND, retry_after(1))

    async def _asked(
        self,
        lane: TenantThreads,
        noun: str,
        tenant: str,
        question: Callable[[Location], T],
        seconds: float | None = None,
    ) -> T:
        """Runs the question in a pool. Raises Problem, Busy, NotIndexed."""
        if self._backend.history is None:
            raise no_history(noun)
        watch = Watch()
        within = self._seconds if seconds is None else seconds
        try:
            async with asyncio.timeout(within):
                return await lane.ask(
                    tenant, lambda root: _run(question, root, watch), self._live_tables
                )
        except asyncio.CancelledError:  # its caller no longer waits
            watch.interrupt()
            raise
        except TimeoutError:
            watch.interrupt()
            raise too_slow(within) from None
        except _duckdb.OutOfMemoryException:
            raise Problem(503, "Too slow", "the query needs too much memory; narrow it") from None
        except DataRefused:
            raise not_found(noun) from None
        except UsageError as error:
            field, named, reason = str(error).partition(": ")
            fault = Fault(field, reason) if named and " " not in field else Fault(noun, str(error))
            raise invalid([fault]) from None
        except NotIndexed:
            raise
        except (HistoryError, _duckdb.Error) as error:
            raise unreadable(error) from None

    def close(self) -> None:
        """Drops waiting queries; running ones finish."""
        for index in self._indexes.values():
            index.close()
        self._tables.close()
        self._lookups.close()

    def _live_tables(self) -> Location:
        tables = self._backend.live.tables
        assert tables is not None, "there is a history"
        return tables


def _subjects(user_id: str | None, session_id: str | None) -> list[Subject]:
    subjects: list[Subject] = []
    if user_id is not None:
        subjects.append(("users", user_id))
    if session_id is not None:
        subjects.append(("sessions", session_id))
    return subjects


def _run(question: Callable[[Location], T], root: Location, watch: Watch) -> T:
    token = history.WATCH.set(watch.opened)
    try:
        return question(root)
    except _duckdb.Error as error:
        if not is_gone(error):
            raise
        return question(root)
    finally:
        history.WATCH.reset(token)


def is_gone(error: Exception) -> bool:
    """Whether a query failed because `compact` or `forget` has just replaced a file."""
    return isinstance(error, _duckdb.IOException) or (
        isinstance(error, _duckdb.Error) and DELETED in str(error)
    )


def unreadable(error: Exception) -> Problem:
    """The reply while tables cannot be read. Raises the error if it has another cause."""
    failure: Exception | None
    if isinstance(error, HistoryError | _duckdb.IOException):
        failure = file_checks.of_duckdb(error) or error
    else:
        failure = of_duckdb(error) or file_checks.of_duckdb(error)
        if failure is None:
            raise error
    _log.error("%s", failure)
    detail = "the history cannot be read now; the server's log says why"
    return Problem(503, "Not ready", detail, retry_after(5))


def too_slow(seconds: float) -> Problem:
    detail = f"the history did not answer in {seconds:g} s; ask for less, or later"
    return Problem(503, "Too slow", detail, retry_after(5))
