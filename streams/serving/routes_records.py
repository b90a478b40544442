"""`POST /v1/records`: one record, many, NDJSON, or CloudEvents, each with its result."""

import re
from io import BytesIO
from itertools import islice
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from streams.serving import asking, submitting
from streams.serving.cloud_events import PREFIX, Event, of_headers
from streams.serving.media import JSON, decoded, media_type, unsupported
from streams.serving.problems import Fault, Problem, invalid
from streams.serving.route import reply, serving, tenant_of

NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl", "text/plain")
BLANK = re.compile(rb"\n\s*\n")
"""Lines with nothing in them: millions take their time to be passed over one by one."""
EVENT = "application/cloudevents+json"
EVENTS = "application/cloudevents-batch+json"
RECORD_TYPES = (JSON, NDJSON[0], EVENT, EVENTS)
"""Media types, as the OpenAPI document has them."""


async def post_records(request: Request) -> Response:
    """Appends input records to the log (design 03): turns, recursions, tool results, signals,
    write plans. 200: all have ended; 202: some are in the log for good, and not applied yet."""
    here, tenant = serving(request), tenant_of(request)
    records = _records(request, await request.body())
    _check_number(records)
    key = asking.idempotency_key(request)
    if key is not None:
        records = [_keyed(records, tenant, key)]
    asked = asking.preference(request, here.within)
    results = await submitting.submit(here.memory, tenant, records, asked.wait)
    status = submitting.status_of(results)
    told = [one for one in results if one.ending in ("refused", "dead") or not asked.minimal]
    return reply({"counts": submitting.counts(results), "results": told}, status)


def _check_number(records: list[Any]) -> None:
    """Raises Problem."""
    if len(records) > submitting.MOST:
        raise Problem(413, "Too many records", f"at most {submitting.MOST} at once")


def _keyed(records: list[Any], tenant: str, key: str) -> bytes:
    """The one record of a request with an `Idempotency-Key`. Raises Problem."""
    if len(records) != 1 or not isinstance(records[0], bytes):
        raise invalid([Fault("Idempotency-Key", "goes with one record; several have ids")])
    return submitting.with_key(records[0], tenant, key)


def _records(request: Request, body: bytes) -> list[Any]:
    """The body's records as bytes, or as events. Raises Problem."""
    kind = media_type(request)
    if kind in NDJSON:
        lines = (line for line in BytesIO(BLANK.sub(b"\n", body)) if line.strip())
        return list(islice(lines, submitting.MOST + 1))  # one too many is enough to refuse them
    if kind == EVENT:
        return [decoded(body, Event)]
    if kind == EVENTS:
        return list(decoded(body, list[Event]))
    if kind != JSON:
        raise unsupported(f"expected one of {', '.join(RECORD_TYPES)}")
    if PREFIX + "specversion" in request.headers:
        return [_binary(request, body)]
    if body.lstrip().startswith(b"["):
        many = decoded(body, list[msgspec.Raw])
        _check_number(many)
        return [bytes(one) for one in many]
    return [body] if body.strip() else []


def _binary(request: Request, body: bytes) -> Event:
    decoded(body)  # says what is wrong with it
    return of_headers(request.headers, body)
