"""Questions to the history, in two lanes, each within a time: those to its tables, which may take
seconds, and look-ups in its search index, which take milliseconds and wait for none of them."""

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
    OwnerCounts,
    Page,
    Query,
    Recall,
    Session,
    User,
    active_as_of,
    counts_as_of,
    recall,
    search,
    sessions,
    users,
)
from streams.serving.backends.backend import Backend, NotReady, Subject
from streams.serving.backends.live_generation import Live
from streams.serving.history.indexing import Indexing
from streams.serving.history.thread_pool import Lane
from streams.serving.http.problems import (
    Fault,
    Problem,
    invalid,
    no_history,
    not_found,
    retry_after,
)

THREADS, WAITING = 3, 16
"""Of questions to the tables."""
LOOKUP_THREADS, LOOKUPS_WAITING = 3, 500
"""Of look-ups: a second or two of them may gather while the index is brought up to date."""
WRITTEN_WITHIN = 5.0
"""Seconds until the tables have what was folded; usually one."""
SETTINGS = "SET threads = 1; SET memory_limit = '512MB'; SET temp_directory = ''"
"""Of each question: the server has other things to do, and nothing is left on disk."""

BEHIND = "the history does not have the newest records yet; the server's log says why"

T = TypeVar("T")
_log = getLogger(__name__)


class Watch:
    """The connections one question opens, under these settings, to be interrupted when its time is
    over."""

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
                with suppress(_duckdb.Error):  # one that was closed meanwhile
                    connection.interrupt()


class HistoryQueries:
    """Queries the history (`streams.history_documents`) of the serving generation; a query never
    reads two generations."""

    def __init__(self, backend: Backend, seconds: float) -> None:
        self._backend = backend
        self._seconds = seconds
        self._tables = Lane("history", THREADS, WAITING)
        self._lookups = Lane("lookup", LOOKUP_THREADS, LOOKUPS_WAITING)
        self._indexes: dict[Location, Indexing] = {}  # of each generation that has answered
        backend.preparing.append(self._prepare)

    def begin(self, tenants: Iterable[str]) -> None:
        """What these are likely to ask for takes its time: it is begun now."""
        with suppress(NotReady):
            if (tables := self._backend.live.tables) is not None:
                self._index(tables).begin(tenants)

    async def _prepare(self, live: Live) -> None:
        """The index of another generation, for the tenants that have searched in this one."""
        if live.tables is None:
            return
        index = self._index(live.tables)
        await index.whole(self._tenants())

    def _index(self, tables: Location) -> Indexing:
        """That of a generation; what others have indexed, one that is new here indexes, too."""
        found = self._indexes.get(tables)
        if found is None:
            tenants = self._tenants()
            found = self._indexes[tables] = Indexing(tables)
            found.begin(tenants)
        return found

    def _tenants(self) -> set[str]:
        return {tenant for index in self._indexes.values() for tenant in index.tenants}

    async def search(self, tenant: str, query: Query) -> Page:
        """As `streams.search` answers; with a user or session, of all that memory shows of these.
        Raises Problem, Busy."""
        await self._caught_up(tenant, _subjects(query.user_id, query.session_id))
        return await self._found(tenant, query, search)

    async def recall(self, tenant: str, query: Query) -> Recall:
        """As `streams.search` recalls, as `search` does. Raises Problem, Busy."""
        await self._caught_up(tenant, _subjects(query.user_id, query.session_id))
        return await self._found(tenant, query, recall)

    async def users(self, tenant: str, query: Listing) -> list[User]:
        """As `streams.search` lists them. Raises Problem, Busy."""
        return await self._found(tenant, query, users, "users")

    async def sessions(self, tenant: str, asked: Listing) -> list[Session]:
        """As `streams.search` lists them. Raises Problem, Busy."""
        return await self._found(tenant, asked, sessions, "sessions")

    async def active_as_of(self, tenant: str, query: ActiveQuery) -> dict[str, int]:
        """As `streams.search` lists them. Raises Problem, Busy."""
        return await self._found(tenant, query, active_as_of, f"{query.kind}s")

    async def counts_as_of(self, tenant: str, query: CountQuery) -> dict[str, OwnerCounts]:
        """As `streams.search` counts. Raises Problem, Busy."""
        return await self._found(tenant, query, counts_as_of, f"{query.kind}s")

    async def _found(
        self,
        tenant: str,
        query: Query | Listing | ActiveQuery | CountQuery,
        find: Callable[..., T],
        what: str = "search",
    ) -> T:
        tables = self._backend.live.tables
        if tables is None:
            raise no_history(what)
        indexing = self._index(tables)

        def found(root: Location) -> T:
            try:
                answer = find(root, tenant, query, at_once=True)
                indexing.embed(tenant)
                return answer
            except HistoryWriteError as error:  # a full disk: what is indexed can still be found
                _log.error("the search index is not brought up to date: %s", error)
                return as_built(root)

        def as_built(root: Location) -> T:  # what was committed meanwhile would keep it waiting
            return find(root, tenant, query, update=False)

        with suppress(NotIndexed):
            if not indexing.is_at(tenant):
                return await self._asked(self._lookups, what, tenant, found)
        await indexing.wait(tenant)
        try:
            return await self._asked(self._lookups, what, tenant, as_built)
        except NotIndexed:
            raise indexing.not_indexed(tenant) from None

    async def ask(
        self,
        what: str,
        tenant: str,
        question: Callable[[Location], T],
        *,
        seconds: float | None = None,
        of: Sequence[Subject] = (),
    ) -> T:
        """The tables' answer; `what` names it in problems. It may take so many `seconds`, as many
        as any question by default. `of`: the sessions and users of whom the tables then have all
        that memory shows. What is not there is looked for once more when the tables have what
        memory had. Raises Problem, Busy."""
        await self._caught_up(tenant, of)
        behind = self._backend.unwritten(tenant)  # before: it may be written while this looks
        try:
            return await self._asked(self._tables, what, tenant, question, seconds)
        except Problem as problem:
            if problem.status != 404 or not behind:
                raise
        await self._backend.written(tenant, WRITTEN_WITHIN)
        return await self._asked(self._tables, what, tenant, question, seconds)

    async def _caught_up(self, tenant: str, of: Sequence[Subject]) -> None:
        """Whoever was told that a write is applied reads it. Raises Problem."""
        if not (of and self._backend.unwritten(tenant, *of)):
            return
        if not await self._backend.written(tenant, WRITTEN_WITHIN, *of):
            raise Problem(503, "Not ready", BEHIND, retry_after(1))

    async def _asked(
        self,
        lane: Lane,
        what: str,
        tenant: str,
        question: Callable[[Location], T],
        seconds: float | None = None,
    ) -> T:
        """The answer, on a lane. Raises Problem, Busy, NotIndexed."""
        if self._backend.history is None:
            raise no_history(what)
        watch = Watch()
        within = self._seconds if seconds is None else seconds
        try:
            async with asyncio.timeout(within):
                return await lane.ask(
                    tenant, lambda root: _run(question, root, watch), self._live_tables
                )
        except asyncio.CancelledError:  # nobody waits for it any more
            watch.interrupt()
            raise
        except TimeoutError:
            watch.interrupt()
            raise too_slow(within) from None
        except _duckdb.OutOfMemoryException:
            raise Problem(503, "Too slow", "the query needs too much memory; narrow it") from None
        except DataRefused:
            raise not_found(what) from None
        except UsageError as error:
            field, named, reason = str(error).partition(": ")
            fault = Fault(field, reason) if named and " " not in field else Fault(what, str(error))
            raise invalid([fault]) from None
        except NotIndexed:
            raise
        except (HistoryError, _duckdb.Error) as error:
            raise unreadable(error) from None

    def close(self) -> None:
        """Questions that wait are dropped, those under way left to end."""
        for index in self._indexes.values():
            index.close()
        self._tables.close()
        self._lookups.close()

    def _live_tables(self) -> Location:
        tables = self._backend.live.tables
        assert tables is not None, "there is a history"
        return tables


def _subjects(user_id: str | None, session_id: str | None) -> list[Subject]:
    """What a query is about."""
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
    """Whether a question failed for a file that `compact` or `forget` has just replaced."""
    return isinstance(error, _duckdb.IOException) or (
        isinstance(error, _duckdb.Error) and DELETED in str(error)
    )


def unreadable(error: Exception) -> Problem:
    """The reply where tables cannot be read now. Raises the error where it is another's fault."""
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
    """What is answered where the history takes longer."""
    detail = f"the history did not answer in {seconds:g} s; ask for less, or later"
    return Problem(503, "Too slow", detail, retry_after(5))
