"""`POST /v1/messages`: messages of users, assistants and tools, as turns of a session."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from time import monotonic
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from schemas.base import HOUR, SECOND, JsonObject
from schemas.messages import MessagesReply, NewMessages
from streams.files.inbox import NoRoom
from streams.folds.effects import Input, Rows
from streams.folds.ids import make_id
from streams.importers import session_messages
from streams.importers.base import ImportFault
from streams.importers.session_lookup import conflicts
from streams.importers.turns import Made
from streams.observability.memory_spans import Operation
from streams.pipeline import clock_ahead, retract_turns, withheld
from streams.pipeline.decode import decode
from streams.pipeline.fast_decode import TENANT
from streams.serving.backends.backend import Busy
from streams.serving.http import (
    kept_messages,
    message_bodies,
    request_headers,
    write_records,
)
from streams.serving.http.content_type import json_bytes
from streams.serving.http.problems import Fault, Problem, invalid
from streams.serving.http.quotas import OverQuota
from streams.serving.http.route import (
    WRITE_ERRORS,
    Endpoints,
    Serving,
    encode,
    reply,
    serving,
    tenant_of,
)

ATTEMPTS = 3
"""To read a request's messages, where other servers write to its session at the same time."""
ORDER = ("withheld", "accepted", "applied", "duplicate")
"""Order of outcomes: a turn's is the first that one of its records has."""
OF_TURNS = {"client_id", "intent", "topic", "artifact", "metadata"}
"""Fields of a body that are said of its turns."""


class _TurnLines(msgspec.Struct):
    """A turn of a request, with the indexes of its lines."""

    id: str
    status: str
    lines: list[int]


class _Plan(msgspec.Struct):
    """The records of a request, stored under its key for repeats. `body`: hash of the request.
    `places`: index of each line's message. `kept_before`: number of originals that the session
    already has."""

    body: bytes
    session_id: str
    message_ids: list[str]
    lines: list[bytes]
    places: list[int]
    turns: list[_TurnLines]
    left_out: dict[str, int]
    is_old: bool = False
    kept_before: int = 0


class _Post(NamedTuple):
    """A parsed request."""

    server: Serving
    tenant: str
    body: NewMessages
    messages: list[JsonObject]
    key: str | None
    digest: bytes
    size: int
    session_id: str
    now: int


class _Overtaken(Exception):  # noqa: N818 - what happened
    """A record of a plan conflicts with a concurrent write. `problem`: the reply if that
    repeats."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


api = Endpoints()


@api.add(
    "POST", "/v1/messages", "records", {200: MessagesReply, 202: MessagesReply},
    operation=Operation("upsert_memory", "add"),
    body=NewMessages,
    errors=WRITE_ERRORS,
    example={
        "user_id": "maya",
        "session_id": "chat-1",
        "messages": [
            {"role": "user", "content": "I moved to Oslo."},
            {"role": "assistant", "content": "Welcome to Oslo!"},
        ],
    },
)  # fmt: skip
async def post_messages(request: Request) -> Response:
    """Adds messages of a conversation to memory: user messages, assistant answers, tool calls and
    their results. They become turns; an answer belongs to the turn that waits for it. A request is
    stored completely or not at all. 202: stored and not applied yet."""
    server, tenant = serving(request), tenant_of(request)
    sent = await json_bytes(request)
    content = await server.readers.read(tenant, len(sent), message_bodies.read, sent)
    body, messages = content.body, content.messages
    if body.tenant not in (None, tenant):
        raise Problem(403, "Forbidden", "the body names another tenant than yours")
    key = request_headers.idempotency_key(request)
    prefer = request_headers.preference(request, server.within)
    now = time.time_ns() // 1000
    session_id = body.session_id or _session_of_day(body.user_id, _first_time(messages) or now)
    if withheld.in_headers(request.headers.items()) or content.is_withheld:
        return reply(_told(_Plan(b"", session_id, [], [], [], [], {}), [], {"withheld": 1}))
    _check_times(messages, now)
    server.quotas.check(tenant)
    post = _Post(server, tenant, body, messages, key, content.digest, len(sent), session_id, now)
    until = monotonic() + max(prefer.wait, server.within)
    async with server.session_lock(tenant, session_id):
        for attempt in range(ATTEMPTS):
            plan = _kept(post) or await _plan(post, until)
            try:
                results = await _submit(post, plan, prefer.wait)
                break
            except _Overtaken as overtaken:  # another server has written to the session in between
                if attempt == ATTEMPTS - 1:
                    raise overtaken.problem from None
    status = write_records.status_of(results)
    return reply(_told(plan, results, _counts(plan, results)), status)


# --- what it becomes ----------------------------------------------------------------------------


def _kept(post: _Post) -> _Plan | None:
    """The plan of the request's first attempt. Raises Problem."""
    stored = post.server.keys.known(_cache_key(post)) if post.key else None
    if stored is None:
        return None
    plan = msgspec.msgpack.decode(stored, type=_Plan)
    if plan.body != post.digest:
        raise _conflict([Fault("Idempotency-Key", "was used for other messages")])
    return plan


async def _plan(post: _Post, until: float) -> _Plan:
    """The records of the request, given the session's latest state. Raises Problem; NotReady if
    earlier messages are not applied by `until` (`monotonic`)."""
    request = await _request(post, until)
    rows = await post.server.rows_after("sessions", post.tenant, request.session_id, until)
    plan = await post.server.readers.read(post.tenant, post.size, _planned, post, request, rows)
    if post.key and not plan.is_old:
        post.server.keys.first(_cache_key(post), msgspec.msgpack.encode(plan))
    return plan


def _planned(post: _Post, request: session_messages.Request, rows: Rows) -> _Plan:
    """The plan for the session's rows. Raises Problem."""
    sent = [message.original for message in post.body.messages]
    originals = [original and kept_messages.without_images(original) for original in sent]
    try:
        records, turns = kept_messages.read(rows, request, originals, lambda: post.now)
        signals = list(kept_messages.signals(rows, request, originals, post.now))
    except ImportFault as fault:
        raise invalid([Fault(fault.field or "messages", fault.reason)]) from None
    tenant_field = {} if post.tenant == TENANT else {"tenant": post.tenant}
    if images := sum(
        new != original_sent for new, original_sent in zip(sent, originals, strict=True)
    ):
        records.left_out[kept_messages.IMAGES] += images
    _name_replaced(post, request, rows, turns)
    lines = [encode(record.record | tenant_field) for record in (*turns, *signals)]
    plan = _Plan(
        post.digest,
        request.session_id,
        list(request.ids),
        lines,
        [record.place for record in (*turns, *signals)],
        _turns(records),
        dict(records.left_out),
        records.is_old,
        sum(original is not None for original in originals) - len(signals),
    )
    if not plan.is_old:
        _check(rows, plan)
    return plan


def _name_replaced(
    post: _Post, request: session_messages.Request, rows: Rows, turns: Sequence[Made]
) -> None:
    """Adds the replaced turn to each turn that replaces one. Raises Problem."""
    replaces = {
        request.ids[place]: (place, message.replaces)
        for place, message in enumerate(post.body.messages)
        if message.replaces is not None
    }
    for place, event_id in replaces.values():
        if not retract_turns.is_turn(rows, event_id):
            reason = "no turn of this session begins with that message"
            raise invalid([Fault(f"messages[{place}].replaces", reason)])
    for _, record in turns:
        if record["type"] == "turn" and record["event_id"] in replaces:
            record["replaces"] = replaces[record["event_id"]][1]


async def _request(post: _Post, until: float) -> session_messages.Request:
    """The request in the session of its day; shortly after midnight in the previous day's, if that
    conversation continues."""
    body = post.body
    request = session_messages.Request(
        post.session_id,
        body.user_id,
        _ids(post),
        post.messages,
        body.model_dump(mode="json", exclude_none=True, include=OF_TURNS),
    )
    if body.session_id is None and _first_time(post.messages) is None:
        before = _session_of_day(body.user_id, post.now - HOUR)
        if before != post.session_id:
            earlier = request._replace(session_id=before)
            rows = await post.server.rows_after("sessions", post.tenant, before, until)
            if session_messages.goes_on(rows, earlier):
                return earlier
    return request


def _ids(post: _Post) -> list[str]:
    """The id of each message: its own, or derived from the key and its position."""
    key = post.key or uuid4().hex
    return [
        message.get("id") or make_id("message", post.tenant, key, index)
        for index, message in enumerate(post.messages)
    ]


def _session_of_day(user_id: str, at: int) -> str:
    day = datetime.fromtimestamp(at // SECOND, UTC).date()
    return make_id("session", user_id, day.isoformat())


def _first_time(messages: Sequence[JsonObject]) -> int | None:
    try:
        return session_messages.first_time(messages)
    except ImportFault as fault:
        raise invalid([Fault(fault.field or "messages", fault.reason)]) from None


def _check_times(messages: Sequence[JsonObject], now: int) -> None:
    """Raises Problem for a message from the future: an answer's time is not stored."""
    try:
        times = session_messages.given_times(messages)
    except ImportFault as fault:
        raise invalid([Fault(fault.field or "messages", fault.reason)]) from None
    faults = [
        Fault(f"messages[{index}].created_at", clock_ahead.REASON)
        for index, at in enumerate(times)
        if at is not None and at > now + clock_ahead.MOST
    ]
    if faults:
        raise invalid(faults[: message_bodies.MOST_FAULTS])


def _turns(records: session_messages.Records) -> list[_TurnLines]:
    turns: dict[str, _TurnLines] = {}
    for line, (_, record) in enumerate(records.made):
        turn_id = record.get("task_id") or record["event_id"]
        status = "running" if turn_id == records.open_turn else "done"
        turn = turns.setdefault(turn_id, _TurnLines(turn_id, status, []))
        turn.lines.append(line)
    return list(turns.values())


def _check(rows: Rows, plan: _Plan) -> None:
    """Raises Problem if messages with these ids exist with different content or in another turn;
    the request is then not written."""
    places = set()
    for line, place in zip(plan.lines, plan.places, strict=True):
        decoded = decode(line, write_records.ALIKE)
        if isinstance(decoded, Input) and conflicts(rows, decoded.record, decoded.fingerprint):
            places.add(place)
    if places:
        reason = "came before with other content, or in a turn with other content"
        raise _conflict([Fault(f"messages[{place}].id", reason) for place in sorted(places)])


# --- what became of it --------------------------------------------------------------------------


async def _submit(post: _Post, plan: _Plan, wait: float) -> list[write_records.RecordOutcome]:
    """Results of the plan's records, which are stored together. Raises Problem, and _Overtaken if
    the session has changed since the plan."""
    server, tenant = post.server, post.tenant
    if plan.is_old:
        return [
            write_records.RecordOutcome(at, "duplicate") for at in range(1, len(plan.lines) + 1)
        ]
    try:
        results = await write_records.submit(
            server.backend, server.quotas, tenant, plan.lines, wait,
            all_or_none=True, readers=server.readers,
        )  # fmt: skip
    except (Busy, NoRoom, OverQuota):  # it was rejected as a whole
        server.keys.drop(_cache_key(post))
        raise
    faults = [
        (result, Fault(f"messages[{place}]", result.detail or result.reason or result.ending))
        for result, place in zip(results, plan.places, strict=True)
        if result.ending in ("refused", "dead")
    ]
    if faults:
        server.keys.drop(_cache_key(post))
        if any(result.ending == "refused" for result, _ in faults):
            raise invalid([fault for _, fault in faults[: message_bodies.MOST_FAULTS]])
        detail = f"{faults[0][1].field}: {faults[0][1].reason}"
        errors = [fault for _, fault in faults]
        if any(result.reason == "conflicting_duplicate" for result, _ in faults):
            raise _Overtaken(Problem(409, "Not applied", detail, errors=errors))
        raise Problem(422, "Not applied", detail, errors=errors)
    return results


def _counts(plan: _Plan, results: Sequence[write_records.RecordOutcome]) -> dict[str, int]:
    counts = write_records.counts(results)
    if plan.kept_before:
        counts["duplicate"] = counts.get("duplicate", 0) + plan.kept_before
    return counts


def _conflict(faults: Sequence[Fault]) -> Problem:
    detail = f"{faults[0].field}: {faults[0].reason}"
    return Problem(409, "Not applied", detail, errors=faults[: message_bodies.MOST_FAULTS])


def _cache_key(post: _Post) -> tuple[str, ...]:
    return ("messages", post.tenant, post.key or "")


def _told(
    plan: _Plan, results: Sequence[write_records.RecordOutcome], counts: dict[str, int]
) -> dict[str, Any]:
    turns = [
        {
            "id": turn.id,
            "status": turn.status,
            "ending": min((results[line].ending for line in turn.lines), key=ORDER.index),
        }
        for turn in plan.turns
    ]
    return {
        "session_id": plan.session_id,
        "message_ids": plan.message_ids,
        "turns": turns,
        "counts": counts,
        "left_out": plan.left_out,
    }
