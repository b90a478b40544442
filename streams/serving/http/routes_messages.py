"""`POST /v1/messages`: what user, assistant and tools said, as turns of a session."""

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
"""Of outcomes: a turn's is the first that one of its records has."""
OF_TURNS = {"client_id", "intent", "topic", "artifact", "metadata"}
"""Fields of a body that are said of its turns."""


class _Turn(msgspec.Struct):
    """A turn of a request, and which of its lines are of it."""

    id: str
    status: str
    lines: list[int]


class _Plan(msgspec.Struct):
    """What a request becomes: kept under its key, so that it becomes the same again. `body`: the
    hash of what was sent. `places`: the index of each line's message. `kept_before`: how many
    originals the session has already."""

    body: bytes
    session_id: str
    message_ids: list[str]
    lines: list[bytes]
    places: list[int]
    turns: list[_Turn]
    left_out: dict[str, int]
    is_old: bool = False
    kept_before: int = 0


class _Asked(NamedTuple):
    """A request, read."""

    here: Serving
    tenant: str
    body: NewMessages
    messages: list[JsonObject]
    key: str | None
    digest: bytes
    size: int
    session_id: str
    now: int


class _Overtaken(Exception):  # noqa: N818 - what happened
    """A record of a plan conflicts with what came meanwhile. `problem`: what to reply, if that is
    so each time."""

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
    """Adds messages of a conversation to memory: what the user said, what the assistant answered,
    tool calls and their results. They become turns; an answer belongs to the turn that waits for
    it. All of the request is stored, or nothing. 202: stored and not applied yet."""
    here, tenant = serving(request), tenant_of(request)
    sent = await json_bytes(request)
    read = await here.readers.read(tenant, len(sent), message_bodies.read, sent)
    body, messages = read.body, read.messages
    if body.tenant not in (None, tenant):
        raise Problem(403, "Forbidden", "the body names another tenant than yours")
    key = request_headers.idempotency_key(request)
    asked_for = request_headers.preference(request, here.within)
    now = time.time_ns() // 1000
    session_id = body.session_id or _session_of_day(body.user_id, _first_time(messages) or now)
    if withheld.in_headers(request.headers.items()) or read.is_withheld:
        return reply(_told(_Plan(b"", session_id, [], [], [], [], {}), [], {"withheld": 1}))
    _check_times(messages, now)
    here.quotas.check(tenant)
    asked = _Asked(here, tenant, body, messages, key, read.digest, len(sent), session_id, now)
    until = monotonic() + max(asked_for.wait, here.within)
    async with here.sessions.of(tenant, session_id):
        for attempt in range(ATTEMPTS):
            plan = _kept(asked) or await _plan(asked, until)
            try:
                results = await _submit(asked, plan, asked_for.wait)
                break
            except _Overtaken as overtaken:  # another server has written to the session meanwhile
                if attempt == ATTEMPTS - 1:
                    raise overtaken.problem from None
    status = write_records.status_of(results)
    return reply(_told(plan, results, _counts(plan, results)), status)


# --- what it becomes ----------------------------------------------------------------------------


def _kept(asked: _Asked) -> _Plan | None:
    """The plan that was made when the request first came. Raises Problem."""
    kept = asked.here.keys.known(_cache_key(asked)) if asked.key else None
    if kept is None:
        return None
    plan = msgspec.msgpack.decode(kept, type=_Plan)
    if plan.body != asked.digest:
        raise _conflict([Fault("Idempotency-Key", "was used for other messages")])
    return plan


async def _plan(asked: _Asked, until: float) -> _Plan:
    """What the request becomes, as its session stands, whichever server the messages before it came
    to. Raises Problem, and NotReady where they are not applied until then (`monotonic`)."""
    request = await _request(asked, until)
    rows = await asked.here.rows_after("sessions", asked.tenant, request.session_id, until)
    plan = await asked.here.readers.read(asked.tenant, asked.size, _planned, asked, request, rows)
    if asked.key and not plan.is_old:
        asked.here.keys.first(_cache_key(asked), msgspec.msgpack.encode(plan))
    return plan


def _planned(asked: _Asked, request: session_messages.Request, rows: Rows) -> _Plan:
    """The plan, as the session's rows say. Raises Problem."""
    sent = [one.original for one in asked.body.messages]
    originals = [one and kept_messages.without_images(one) for one in sent]
    try:
        found, made = kept_messages.read(rows, request, originals, lambda: asked.now)
        kept = list(kept_messages.signals(rows, request, originals, asked.now))
    except ImportFault as fault:
        raise invalid([Fault(fault.field or "messages", fault.reason)]) from None
    own = {} if asked.tenant == TENANT else {"tenant": asked.tenant}
    if images := sum(one != kept for one, kept in zip(sent, originals, strict=True)):
        found.left_out[kept_messages.IMAGES] += images
    _name_replaced(asked, request, rows, made)
    lines = [encode(one.record | own) for one in (*made, *kept)]
    plan = _Plan(
        asked.digest,
        request.session_id,
        list(request.ids),
        lines,
        [one.place for one in (*made, *kept)],
        _turns(found),
        dict(found.left_out),
        found.is_old,
        sum(one is not None for one in originals) - len(kept),
    )
    if not plan.is_old:
        _check(rows, plan)
    return plan


def _name_replaced(
    asked: _Asked, request: session_messages.Request, rows: Rows, made: Sequence[Made]
) -> None:
    """Turns say in whose place they come. Raises Problem."""
    replaces = {
        request.ids[place]: (place, message.replaces)
        for place, message in enumerate(asked.body.messages)
        if message.replaces is not None
    }
    for place, event_id in replaces.values():
        if not retract_turns.is_turn(rows, event_id):
            reason = "no turn of this session begins with that message"
            raise invalid([Fault(f"messages[{place}].replaces", reason)])
    for _, record in made:
        if record["type"] == "turn" and record["event_id"] in replaces:
            record["replaces"] = replaces[record["event_id"]][1]


async def _request(asked: _Asked, until: float) -> session_messages.Request:
    """In the session of its day; shortly after midnight in that of the day before, if it goes on
    there."""
    body = asked.body
    request = session_messages.Request(
        asked.session_id,
        body.user_id,
        _ids(asked),
        asked.messages,
        body.model_dump(mode="json", exclude_none=True, include=OF_TURNS),
    )
    if body.session_id is None and _first_time(asked.messages) is None:
        before = _session_of_day(body.user_id, asked.now - HOUR)
        if before != asked.session_id:
            earlier = request._replace(session_id=before)
            rows = await asked.here.rows_after("sessions", asked.tenant, before, until)
            if session_messages.goes_on(rows, earlier):
                return earlier
    return request


def _ids(asked: _Asked) -> list[str]:
    """Of each message: its own, or one made of the key and its position."""
    key = asked.key or uuid4().hex
    return [
        message.get("id") or make_id("message", asked.tenant, key, index)
        for index, message in enumerate(asked.messages)
    ]


def _session_of_day(user_id: str, at: int) -> str:
    day = datetime.fromtimestamp(at // SECOND, UTC).date()
    return make_id("session", user_id, day.isoformat())


def _first_time(messages: Sequence[JsonObject]) -> int | None:
    """Raises Problem."""
    try:
        return session_messages.first_time(messages)
    except ImportFault as fault:
        raise invalid([Fault(fault.field or "messages", fault.reason)]) from None


def _check_times(messages: Sequence[JsonObject], now: int) -> None:
    """Raises Problem where a message is from the future: of an answer no record keeps the time."""
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


def _turns(found: session_messages.Records) -> list[_Turn]:
    """The turns that the records belong to, in order."""
    turns: dict[str, _Turn] = {}
    for line, (_, record) in enumerate(found.made):
        turn_id = record.get("task_id") or record["event_id"]
        status = "running" if turn_id == found.open_turn else "done"
        turn = turns.setdefault(turn_id, _Turn(turn_id, status, []))
        turn.lines.append(line)
    return list(turns.values())


def _check(rows: Rows, plan: _Plan) -> None:
    """Raises Problem where messages of these ids came before with other content, or in another
    turn: nothing is written then."""
    places = set()
    for line, place in zip(plan.lines, plan.places, strict=True):
        given = decode(line, write_records.ALIKE)
        if isinstance(given, Input) and conflicts(rows, given.record, given.fingerprint):
            places.add(place)
    if places:
        reason = "came before with other content, or in a turn with other content"
        raise _conflict([Fault(f"messages[{place}].id", reason) for place in sorted(places)])


# --- what became of it --------------------------------------------------------------------------


async def _submit(asked: _Asked, plan: _Plan, wait: float) -> list[write_records.Result]:
    """The results of the plan's records: all are taken, or none, if there is room. Raises Problem,
    and _Overtaken where the session has not stayed as the plan takes it to be."""
    here, tenant = asked.here, asked.tenant
    if plan.is_old:
        return [write_records.Result(at, "duplicate") for at in range(1, len(plan.lines) + 1)]
    try:
        results = await write_records.submit(
            here.backend, here.quotas, tenant, plan.lines, wait,
            all_or_none=True, readers=here.readers,
        )  # fmt: skip
    except (Busy, NoRoom, OverQuota):  # nothing of it was taken
        here.keys.drop(_cache_key(asked))
        raise
    faults = [
        (one, Fault(f"messages[{place}]", one.detail or one.reason or one.ending))
        for one, place in zip(results, plan.places, strict=True)
        if one.ending in ("refused", "dead")
    ]
    if faults:
        here.keys.drop(_cache_key(asked))
        if any(one.ending == "refused" for one, _ in faults):
            raise invalid([fault for _, fault in faults[: message_bodies.MOST_FAULTS]])
        detail = f"{faults[0][1].field}: {faults[0][1].reason}"
        told = [fault for _, fault in faults]
        if any(one.reason == "conflicting_duplicate" for one, _ in faults):
            raise _Overtaken(Problem(409, "Not applied", detail, errors=told))
        raise Problem(422, "Not applied", detail, errors=told)
    return results


def _counts(plan: _Plan, results: Sequence[write_records.Result]) -> dict[str, int]:
    counts = write_records.counts(results)
    if plan.kept_before:
        counts["duplicate"] = counts.get("duplicate", 0) + plan.kept_before
    return counts


def _conflict(faults: Sequence[Fault]) -> Problem:
    detail = f"{faults[0].field}: {faults[0].reason}"
    return Problem(409, "Not applied", detail, errors=faults[: message_bodies.MOST_FAULTS])


def _cache_key(asked: _Asked) -> tuple[str, ...]:
    return ("messages", asked.tenant, asked.key or "")


def _told(
    plan: _Plan, results: Sequence[write_records.Result], counts: dict[str, int]
) -> dict[str, Any]:
    """The reply (schemas.messages.MessagesReply)."""
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
