"""`POST /v1/records`: one record, many, NDJSON, or CloudEvents, each with its result."""

import asyncio
import re
from collections.abc import Sequence
from io import BytesIO
from itertools import islice
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from schemas.events import MAX_RECORD_BYTES
from streams.pipeline import withheld
from streams.serving.http import request_headers, submitting
from streams.serving.http.cloud_events import PREFIX, Event, of_headers
from streams.serving.http.media import (
    JSON,
    decoded,
    elements,
    empty,
    media_type,
    too_many,
    unsupported,
)
from streams.serving.http.problems import Fault, Problem
from streams.serving.http.route import reply, serving, tenant_of

NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl", "text/plain")
BLANK = re.compile(rb"\n\s*\n")
"""Lines with nothing in them: millions take their time to be passed over one by one."""
EVENT = "application/cloudevents+json"
EVENTS = "application/cloudevents-batch+json"
EVENT_BYTES = 2 * MAX_RECORD_BYTES
"""Of one event: a record, which base64 makes longer by a third, and its attributes."""
RECORD_TYPES = (JSON, NDJSON[0], EVENT, EVENTS)
"""Media types, as the OpenAPI document has them."""
TAKEN = frozenset({*RECORD_TYPES, *NDJSON})


async def post_records(request: Request) -> Response:
    """Appends input records to the log: turns, recursions, tool results, signals, write plans. 200:
    every record has its outcome; 202: some are stored and not applied yet."""
    here, tenant = serving(request), tenant_of(request)
    records = await _records(request, await request.body(), here.records)
    if withheld.in_headers(request.headers.items()):
        records = [withheld.NOTHING] * len(records)
    key = request_headers.idempotency_key(request)
    if key is not None:
        records = await _keyed(records, tenant, key)
    asked = request_headers.preference(request, here.within)
    results = await submitting.submit(here.backend, here.quotas, tenant, records, asked.wait)
    if len(records) == 1 and isinstance(records[0], bytes) and media_type(request) == JSON:
        _check_json(records[0], results[0])
    status = submitting.status_of(results)
    told = [one for one in results if one.ending in ("refused", "dead") or not asked.minimal]
    return reply({"counts": submitting.counts(results), "results": told}, status)


def _check_json(record: bytes, result: submitting.Result) -> None:
    """Raises Problem, with the place, where a record was refused because it is no JSON."""
    if result.ending == "refused" and result.id is None and result.reason != "too_large":
        decoded(record)


async def _keyed(records: Sequence[Any], tenant: str, key: str) -> list[Any]:
    """The records of a request with an `Idempotency-Key`: those without an id have one made of the
    key, and of their place where there are several."""
    made = []
    for place, record in enumerate(records):
        if place % submitting.CHUNK == submitting.CHUNK - 1:
            await asyncio.sleep(0)
        own = key if len(records) == 1 else f"{key}/{place + 1}"
        whole = submitting.with_key(record, tenant, own) if isinstance(record, bytes) else record
        made.append(whole)
    return made


async def _records(request: Request, body: bytes, most: int) -> list[Any]:
    """The body's records as bytes, or as events, so many at most. Raises Problem."""
    kind = media_type(request)
    if kind not in TAKEN:
        raise unsupported(f"expected one of {', '.join(RECORD_TYPES)}")
    if kind in NDJSON:
        lines = (line for line in BytesIO(BLANK.sub(b"\n", body)) if line.strip())
        taken = list(islice(lines, most + 1))
        if len(taken) > most:
            raise too_many(most)
        return taken
    if not body or body.isspace():  # of lines there may be none
        raise empty()
    if kind == EVENT:
        return [_event(body)]
    if kind == EVENTS:
        return await _events(await elements(body, most))
    if PREFIX + "specversion" in request.headers:
        return [_binary(request, body)]
    if body.lstrip().startswith(b"["):
        return list(await elements(body, most))
    return [body]


async def _events(many: Sequence[bytes]) -> list[Event | bytes]:
    made: list[Event | bytes] = []
    for number, one in enumerate(many):
        if number % submitting.CHUNK == 0 or len(one) > submitting.LONG:
            await asyncio.sleep(0)
        made.append(_event(one))
    return made


def _event(body: bytes) -> Event | bytes:
    _check_event(body)
    if withheld.is_said(body):
        return withheld.NOTHING
    found: Event = decoded(body, Event)
    return found


def _check_event(body: bytes) -> None:
    """What is in it is decoded at once, so that it has to be short. Raises Problem."""
    if len(body) > EVENT_BYTES:
        reason = f"an event of {len(body)} bytes, at most {EVENT_BYTES}"
        raise Problem(413, "Body too large", f"body: {reason}", errors=[Fault("body", reason)])


def _binary(request: Request, body: bytes) -> Event | bytes:
    _check_event(body)
    if withheld.is_said(body):
        return withheld.NOTHING
    decoded(body)  # says what is wrong with it
    return of_headers(request.headers, body)
