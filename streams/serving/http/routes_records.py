"""`POST /v1/records`: one record, many, NDJSON, or CloudEvents, each with its result."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import islice

from starlette.requests import Request
from starlette.responses import Response

from schemas import http
from schemas.events import MAX_RECORD_BYTES
from streams.observability.memory_spans import Operation
from streams.pipeline import json_limits, withheld
from streams.serving.http import request_headers, write_records
from streams.serving.http.cloud_events import PREFIX, CloudEvent, of_headers
from streams.serving.http.content_type import (
    JSON,
    decoded,
    elements,
    empty,
    media_type,
    too_large,
    too_many,
    unsupported,
)
from streams.serving.http.route import WRITE_ERRORS, Endpoints, reply, serving, tenant_of

NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl", "text/plain")
BLANK = re.compile(rb"\n\s*\n")
"""Blank lines: skipping millions of them one by one takes long."""
EVENT = "application/cloudevents+json"
EVENTS = "application/cloudevents-batch+json"
EVENT_BYTES = 2 * MAX_RECORD_BYTES
"""Maximum bytes of one event: a record, which base64 makes longer by a third, and its
attributes."""
RECORD_TYPES = (JSON, NDJSON[0], EVENT, EVENTS)
"""Media types, as the OpenAPI document has them."""
TAKEN = frozenset({*RECORD_TYPES, *NDJSON})


api = Endpoints()


@api.add(
    "POST", "/v1/records", "records", {200: http.RecordsReply, 202: http.RecordsReply},
    operation=Operation("upsert_memory", "records"),
    body="records",
    errors=WRITE_ERRORS,
    example={
        "type": "turn",
        "event_id": "e1",
        "session_id": "s456",
        "user_id": "u123",
        "occurred_at": "2026-03-01T09:30:00Z",
        "user_input": "什么是极限？",
        "agent_answer": "极限是…",
        "intent": "question",
        "topic": "微积分-极限",
    },
)  # fmt: skip
async def post_records(request: Request) -> Response:
    """Appends input records to the log: turns, recursions, tool results, signals, write plans. 200:
    every record has its outcome; 202: some are stored and not applied yet."""
    server, tenant = serving(request), tenant_of(request)
    body = await request.body()
    kind = media_type(request)
    is_binary = kind not in NDJSON and PREFIX + "specversion" in request.headers
    records = await server.readers.read(
        tenant, len(body), _records, body, kind, is_binary, server.records
    )
    form: write_records.Form | None = None
    key = request_headers.idempotency_key(request)
    if withheld.in_headers(request.headers.items()):
        records = [withheld.NOTHING] * len(records)
    elif kind in (EVENT, EVENTS):
        form = _event_form
    elif is_binary:
        form = partial(_binary, dict(request.headers))
    elif key is not None:
        form = partial(_keyed, tenant, key, len(records) > 1)
    prefer = request_headers.preference(request, server.within)
    results = await write_records.submit(
        server.backend,
        server.quotas,
        tenant,
        records,
        prefer.wait,
        readers=server.readers,
        form=form,
    )
    if len(records) == 1 and kind == JSON and not is_binary:
        _check_json(records[0], results[0])
    status = write_records.status_of(results)
    shown_results = [
        result for result in results if result.ending in ("refused", "dead") or not prefer.minimal
    ]
    return reply({"counts": write_records.counts(results), "results": shown_results}, status)


def _check_json(record: bytes, result: write_records.RecordOutcome) -> None:
    """Raises Problem, with the position, for a record that was rejected as invalid JSON."""
    if result.ending == "refused" and result.id is None and result.reason != "too_large":
        decoded(record)


def _keyed(tenant: str, key: str, several: bool, position: int, record: bytes) -> bytes:
    """A record of a request with an `Idempotency-Key`: a missing id is derived from the key, and
    from the position if there are several records."""
    return write_records.with_key(record, tenant, f"{key}/{position}" if several else key)


def _records(body: bytes, kind: str, is_binary: bool, most: int) -> list[bytes]:
    """The body's records or events, undecoded, at most `most`. Raises Problem."""
    if kind not in TAKEN:
        raise unsupported(f"expected one of {', '.join(RECORD_TYPES)}")
    if kind in NDJSON:
        lines = (line for line in BytesIO(BLANK.sub(b"\n", body)) if line.strip())
        records = list(islice(lines, most + 1))
        if len(records) > most:
            raise too_many(most)
        _check_values(records)
        return records
    if not body or body.isspace():  # of lines there may be none
        raise empty()
    if kind == EVENTS or (kind == JSON and not is_binary and body.lstrip()[:1] == b"["):
        _check_values([body])
        return elements(body, most)
    return [body]


def _check_values(documents: Sequence[bytes]) -> None:
    """Raises Problem if the documents of a body contain too many values."""
    most = json_limits.MAX_BODY_VALUES
    if sum(map(len, documents)) <= most:
        return
    if sum(json_limits.values(document, most) for document in documents) > most:
        raise too_large(f"more than {most} names and values; send it in several requests")


def _event_form(position: int, body: bytes) -> CloudEvent | bytes:
    return _event(body)


def _event(body: bytes) -> CloudEvent | bytes:
    _check_event(body)
    if withheld.is_said(body):
        return withheld.NOTHING
    event: CloudEvent = decoded(body, CloudEvent)
    return event


def _check_event(body: bytes) -> None:
    """An event is decoded at once, so it has to be short. Raises Problem."""
    if len(body) > EVENT_BYTES:
        raise too_large(f"an event of {len(body)} bytes, at most {EVENT_BYTES}")
    if (reason := json_limits.too_many_values(body)) is not None:
        raise too_large(reason)


def _binary(headers: Mapping[str, str], position: int, body: bytes) -> CloudEvent | bytes:
    _check_event(body)
    if withheld.is_said(body):
        return withheld.NOTHING
    decoded(body)  # reports the error
    return of_headers(headers, body)
