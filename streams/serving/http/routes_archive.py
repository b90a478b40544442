"""`GET /v1/users/{user_id}/export`: everything that is held of a person, as JSON lines."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import BoundedSemaphore

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from sinks.root import HistoryError
from streams.serving.backends.backend import Busy
from streams.serving.http.problems import Problem, no_history, not_found, retry_after
from streams.serving.http.route import UserInPath, serving, tenant_of

MEDIA = "application/x-ndjson"
AT_ONCE = 2
"""Archives that are written at a time, of all tenants together."""
PIECE = 256_000
"""Bytes that are sent at once, at least."""
_room = BoundedSemaphore(AT_ONCE)


async def export(request: Request, user_id: UserInPath) -> Response:
    """Everything that the history holds of a user, as `turnfold export` writes it."""
    tables = serving(request).backend.live.tables
    if tables is None:
        raise no_history("export")
    pieces = _pieces(tables, tenant_of(request), user_id)
    try:
        first = await asyncio.to_thread(next, pieces, None)
    except HistoryError:
        detail = "the history cannot be read now; the server's log says why"
        raise Problem(503, "Not ready", detail, retry_after(5)) from None
    if first is None:
        raise not_found("user")
    if request.method == "HEAD":
        return Response(media_type=MEDIA)
    name = {"content-disposition": 'attachment; filename="turnfold-export.jsonl"'}
    return StreamingResponse(_sent(first, pieces), media_type=MEDIA, headers=name)


async def _sent(first: bytes, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    piece: bytes | None = first
    while piece is not None:
        yield piece
        piece = await asyncio.to_thread(next, pieces, None)


def _pieces(tables: Path, tenant: str, user_id: str) -> Iterator[bytes]:
    """Has its room until it ends, or is dropped. Raises Busy."""
    from streams.apps.archive import export as lines_of  # not needed before

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
    finally:
        _room.release()
