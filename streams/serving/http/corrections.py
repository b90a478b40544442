"""Shared by corrections of states and of preferences.

Both become a write plan of the extractor `operator`, with a reason that `why` shows. A request
without effect is not written, so it can be repeated. A repeated request that arrives before the
first is applied becomes the same plan.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from schemas.base import Id, format_time
from schemas.citation import Citation
from streams import history_lists
from streams.folds.effects import RowKind, Rows
from streams.folds.ids import make_id
from streams.pipeline import withheld
from streams.serving.backends.backend import NotReady
from streams.serving.http import request_headers, write_records
from streams.serving.http.problems import not_found
from streams.serving.http.route import accepted, encode, reply, serving, tenant_of

OPERATOR = "operator"
"""The extractor's name in the plans made here; its version is the key's id."""

Json = dict[str, Any]
Owner = Annotated[
    Id | None, Query(description="Id of its user. Without it the history is searched.")
]
Why = Annotated[
    str, Query(min_length=1, max_length=2000, description="Why it ends; `why` shows it.")
]


class Kind(NamedTuple):
    """A kind of memory that can be corrected. `name`: of its revisions and citations; `document`: a
    row as replies show it; `listed`: the path that lists a user's rows."""

    name: str
    rows: RowKind[Any]
    document: Callable[[Any], Json]
    listed: str


async def owner_of(request: Request, kind: Kind, id: str, user_id: str | None) -> str:
    """The user of a row: `user_id`, or looked up in the history. Waits until this server shows all
    writes of that user. Raises Problem."""
    server, tenant = serving(request), tenant_of(request)
    owner = user_id
    if owner is None:
        owner = await server.past.ask(
            kind.name, tenant, lambda root: history_lists.owner_of(root, tenant, kind.name, id)
        )
    # another server may just have written what decides whether there is anything to change
    await server.backend.catch_up("users", tenant, owner, server.within)
    return owner


async def rows_of(request: Request, user_id: str) -> Rows:
    """The user's current rows."""
    rows, _ = await serving(request).backend.rows("users", tenant_of(request), user_id)
    return rows


def held(rows: Rows, kind: Kind, id: str) -> Any:
    """A row by its id or its citation in a context pack. Raises Problem."""
    row = rows.get(kind.rows.key(id))
    citation = Citation.read(id) if row is None else None
    if citation is not None and citation.kind == kind.name:
        ids = (
            row_id for row_id in kind.rows.ids(rows) if Citation.of(kind.name, row_id) == citation
        )
        row = rows.get(kind.rows.key(next(ids, "")))
    if row is None:
        raise not_found(kind.name)
    return row


async def written(
    request: Request,
    kind: Kind,
    user_id: str,
    id: str,
    before: Json,
    arguments: list[Any],
    updates: Json,
) -> Response:
    """Submits the `updates` as a plan; replies with the row `id` once it is applied. `before`: the
    row that was read. The same `before` and `arguments` are the same request. A request that is
    withheld is answered with `before`."""
    server, tenant = serving(request), tenant_of(request)
    now = format_time(time.time_ns() // 1000)
    key = request_headers.idempotency_key(request)
    operator = request.scope["state"]["caller"].key_id or ""
    plan = {
        "type": "write_plan",
        "plan_id": write_records.id_of_key(tenant, key) if key else make_id(OPERATOR, id, now),
        "user_id": user_id,
        "occurred_at": now,
        "extractor": {"name": OPERATOR, "version": operator},
        **updates,
    }
    line, same = encode(plan), encode([kind.name, user_id, before, arguments, operator])
    first = ("corrections", tenant, key or "", blake2b(same, digest_size=16).hexdigest())
    is_withheld = withheld.in_headers(request.headers.items())
    line = withheld.NOTHING if is_withheld else server.keys.first(first, line)
    within = request_headers.preference(request, server.within).wait
    (result,) = await write_records.submit(
        server.backend, server.quotas, tenant, [line], within, readers=server.readers
    )
    write_records.check_written(result, "Idempotency-Key" if key else f"{kind.name}_id")
    if result.ending == "withheld":
        return reply(before)
    if result.ending != "accepted":
        with suppress(NotReady):  # a 503 would have it sent again, and it is in the log
            return reply(kind.document(held(await rows_of(request, user_id), kind, id)))
    return accepted(result.id, f"/v1/users/{quote(user_id, safe='')}{kind.listed}")
