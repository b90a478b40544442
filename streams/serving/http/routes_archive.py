"""`GET /v1/users/{user_id}/export`: all data of a user, as JSON Lines."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from threading import BoundedSemaphore

import _duckdb
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Send

from schemas import http
from sinks import history
from sinks.history_root import HistoryError
from sinks.locations import Location
from streams.serving.backends.backend import Busy
from streams.serving.history.history_queries import Watch, is_gone, too_slow, unreadable
from streams.serving.http.problems import no_history, not_found
from streams.serving.http.route import HISTORY_ERRORS, Endpoints, UserInPath, serving, tenant_of

MEDIA = "application/x-ndjson"
AT_ONCE = 2
"""Archives that are written at a time, of all tenants together."""
PIECE = 256_000
"""Bytes that are sent at once, at least."""
PIECE_SECONDS = 60.0
"""Seconds in which the history must return the next piece, and the reader must take it: a stalled
archive blocks others."""
SETTINGS = "SET threads = 1"
"""Settings of the query, which leave resources to the server. It may be large, so its memory is not
bounded."""
_room = BoundedSemaphore(AT_ONCE)


api = Endpoints()


@api.add(
    "GET", "/v1/users/{user_id}/export", "users", http.Archive,
    needs="admin", media=MEDIA, errors=HISTORY_ERRORS,
)  # fmt: skip
async def export_user(request: Request, user_id: UserInPath) -> Response:
    """Exports all data of a user (JSON Lines). `turnfold import turnfold` imports it on another
    server; the last line has the kind `end`."""
    tables = serving(request).backend.live.tables
    if tables is None:
        raise no_history("export")
    watch = Watch(SETTINGS)
    pieces = _pieces(tables, tenant_of(request), user_id)
    try:
        try:
            first = await _next(pieces, watch)
        except _duckdb.Error as error:
            if not is_gone(error):
                raise
            pieces = _pieces(tables, tenant_of(request), user_id)
            first = await _next(pieces, watch)
    except TimeoutError:
        raise too_slow(PIECE_SECONDS) from None
    except (HistoryError, _duckdb.Error) as error:
        raise unreadable(error) from None
    if first is None:
        raise not_found("user")
    if request.method == "HEAD":
        return Response(media_type=MEDIA)
    name = {"content-disposition": 'attachment; filename="turnfold-export.jsonl"'}
    return ArchiveResponse(_sent(first, pieces, watch), media_type=MEDIA, headers=name)


class ArchiveResponse(StreamingResponse):
    """Aborted if its reader or the history stalls: an export without its last line is
    incomplete."""

    async def stream_response(self, send: Send) -> None:
        async def within(message: Message) -> None:
            async with asyncio.timeout(PIECE_SECONDS):
                await send(message)

        await super().stream_response(within)


async def _sent(first: bytes, pieces: Iterator[bytes], watch: Watch) -> AsyncIterator[bytes]:
    piece: bytes | None = first
    while piece is not None:
        yield piece
        piece = await _next(pieces, watch)


async def _next(pieces: Iterator[bytes], watch: Watch) -> bytes | None:
    """Raises TimeoutError; the query is then interrupted."""
    token = history.WATCH.set(watch.opened)
    try:
        async with asyncio.timeout(PIECE_SECONDS):
            return await asyncio.to_thread(next, pieces, None)
    except BaseException:  # the waiting client has gone as well
        watch.interrupt()
        raise
    finally:
        history.WATCH.reset(token)


def _pieces(tables: Location, tenant: str, user_id: str) -> Iterator[bytes]:
    """Occupies a slot until it ends or is closed. Raises Busy, TimeoutError."""
    from streams.apps.export_person import export as lines_of  # not needed before

    if not _room.acquire(blocking=False):
        raise Busy(f"{AT_ONCE} archives are being written; ask again in a while")
    gathered = bytearray()
    try:
        for line in lines_of(tables, tenant, user_id):
            gathered += line
            if len(gathered) >= PIECE:
                yield bytes(gathered)
                gathered.clear()
        if gathered:
            yield bytes(gathered)
    except _duckdb.InterruptException:
        raise TimeoutError from None
    finally:
        _room.release()
