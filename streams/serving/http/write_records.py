"""Bodies into records: checked, given the caller's tenant, appended to the log as one.

The body is whole and unpacked (`bodies`). What `decode` refuses here is no input:
it reaches no topic and no dead letter, and its sender is told why.
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec

from schemas.events import MAX_RECORD_BYTES
from schemas.http import Ending
from streams.apps.metrics_registry import WRITE_WAIT_SECONDS
from streams.files.inbox import NoRoom
from streams.folds.effects import Input
from streams.folds.ids import make_id
from streams.folds.outcome import Outcome
from streams.pipeline import clock_ahead
from streams.pipeline.decode import Dead, decode, means_withheld
from streams.pipeline.fast_decode import TENANT
from streams.record_kinds import ID_FIELDS
from streams.serving.backends.backend import Backend, Busy
from streams.serving.http.body_readers import Readers
from streams.serving.http.cloud_events import Event, NotAnEvent
from streams.serving.http.problems import Fault, Problem, invalid
from streams.serving.http.quotas import TenantQuotas

LONG = 4096
"""Bytes of a plain turn of which what it says is kept while it waits."""
MOST_REFUSED, MOST_REFUSED_BYTES = 1_000, 4_000_000
"""Records of one request that may be refused, and their bytes: to say why takes longer than to take
one."""
SHORT = 512
"""Bytes of a record with something nested in it of which what it says is kept while it waits."""
ALIKE = ("", 0, 0)
Form = Callable[[int, bytes], bytes | Event]
NEXT_FIELD = re.compile(r"; (?=[A-Za-z_][\w.]*: )")
"""Where the detail of a dead letter continues with another field."""


class Result(msgspec.Struct, omit_defaults=True):
    """What became of one record (schemas.http.RecordResult)."""

    position: int
    ending: Ending
    id: str | None = None
    reason: str | None = None
    field: str | None = None
    detail: str | None = None


class _Good(NamedTuple):
    """A record that is taken: as the log takes it, and what it says where that is kept."""

    line: bytes
    kept: Input | None
    result: Result


class _Head(msgspec.Struct, gc=False):
    """What is looked at of a record before all of it is decoded."""

    tenant: Any = None
    source: Any = None


_head = msgspec.json.Decoder(_Head).decode


async def submit(
    backend: Backend,
    quotas: TenantQuotas,
    tenant: str,
    records: Sequence[bytes],
    within: float,
    *,
    all_or_none: bool = False,
    readers: Readers | None = None,
    form: Form | None = None,
) -> list[Result]:
    """The result of each record, in order. `all_or_none`: where one is refused, none is taken.
    `readers`: the threads that read what is long; None: the event loop reads it. `form`: what a
    record is made of what was sent, and of its position (from 1).

    Raises NotReady, Busy, OverQuota, Problem: nothing was taken then; NoRoom: of a long request the
    first records may have been, unless `all_or_none`.
    """
    quotas.check(tenant)
    sent = sum(map(len, records))
    latest = time.time_ns() // 1000 + clock_ahead.MOST
    if readers is None:
        checked = _checked(records, tenant, latest, form)
    else:
        checked = await readers.read(tenant, sent, _checked, records, tenant, latest, form)
    results, good = checked
    if all_or_none and len(good) < len(records):
        return results
    if good:
        lines = [one.line for one in good]
        size = sum(map(len, lines))
        quotas.take(tenant, len(good), size)
        if len(good) < len(records):  # where all are refused, the whole body is charged
            quotas.charge(tenant, max(sent - size, 0))
        try:
            with WRITE_WAIT_SECONDS.time():
                kept = [one.kept for one in good]
                outcomes = await backend.submit(lines, within, kept, all_or_none)
        except (Busy, NoRoom):
            quotas.give_back(tenant, len(good), size)
            raise
        for one, outcome in zip(good, outcomes, strict=True):
            _end(one.result, outcome)
    return results


def _checked(
    records: Sequence[bytes], tenant: str, latest: int, form: Form | None
) -> tuple[list[Result], list[_Good]]:
    """The result of each record, and those that are taken. `latest`: see `_check`. Raises Problem
    where too many are refused to go on: each costs more than what is taken."""
    results: list[Result] = []
    good: list[_Good] = []
    refused: list[Result] = []
    refused_bytes = 0
    for position, sent in enumerate(records, 1):
        checked, result = _check(
            sent if form is None else form(position, sent), tenant, position, latest
        )
        results.append(result)
        if checked is not None:
            good.append(_Good(checked[0], _kept(*checked), result))
        elif result.ending == "refused":
            refused.append(result)
            refused_bytes += len(sent)
            if len(refused) > MOST_REFUSED or refused_bytes > MOST_REFUSED_BYTES:
                raise _too_many_refused(refused)
    return results, good


def _too_many_refused(refused: Sequence[Result]) -> Problem:
    if all(one.reason == "other_tenant" for one in refused):
        return _other_tenant()
    first, *others = _first_faults(refused)
    detail = (
        f"more than {MOST_REFUSED} records or {MOST_REFUSED_BYTES} bytes are refused, so that none "
        f"is taken; the first is record {first.position}: {first.field}: {first.reason}"
    )
    return Problem(422, "Invalid", detail, errors=[first, *others])


def _other_tenant() -> Problem:
    return Problem(403, "Forbidden", "the records name another tenant than yours")


def _kept(line: bytes, given: Input) -> Input | None:
    """What a record says, where it is small while it waits: what is nested takes up to thirty times
    its bytes once it is decoded, and waiting records are counted by their bytes."""
    return given if len(line) <= (LONG if given.plain else SHORT) else None


def _end(result: Result, outcome: Outcome) -> None:
    assert outcome.ending != "skipped", "only files and topics are mapped"
    result.ending, result.reason, result.detail = outcome.ending, outcome.reason, outcome.detail
    if result.ending == "dead" and result.detail:
        result.field = _field(result.detail)


def _check(
    record: bytes | Event, tenant: str, position: int, latest: int
) -> tuple[tuple[bytes, Input] | None, Result]:
    """The record as the log takes it and what it says, or None where it is not taken. `latest`:
    the time after which no record may have occurred (microseconds)."""
    try:
        line = record if isinstance(record, bytes) else record.line()
    except NotAnEvent as error:
        return None, Result(position, "refused", None, "not_an_event", error.field, str(error))
    if len(line) > MAX_RECORD_BYTES:  # decoding all of it takes its time
        if _is_withheld(line):
            return None, Result(position, "withheld")
        detail = f"{len(line)} bytes, at most {MAX_RECORD_BYTES}"
        return None, Result(position, "refused", None, "too_large", "record", detail)
    line = _owned(line, tenant)
    given = decode(line, ALIKE)
    if type(given) is Input:
        said: Any = given.record
        own = getattr(said, ID_FIELDS[said.type])
        if said.tenant != tenant:
            detail = "tenant: leave it out, or name that of the key"
            return None, Result(position, "refused", own, "other_tenant", "tenant", detail)
        if said.occurred_at > latest:
            detail = f"occurred_at: {clock_ahead.REASON}"
            return None, Result(position, "refused", own, "invalid", "occurred_at", detail)
        return (line, given), Result(position, "accepted", own)
    if isinstance(given, Dead):
        field = _field(given.detail)
        return None, Result(position, "refused", None, given.reason, field, given.detail)
    return None, Result(position, "withheld")


def _owned(line: bytes, tenant: str) -> bytes:
    """The record with the caller's tenant, where it names none."""
    if tenant == TENANT:
        return line
    try:
        named = _head(line).tenant
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line  # `decode` says what is wrong with it
    return line if named is not None else _with(line, "tenant", tenant)


def _is_withheld(line: bytes) -> bool:
    try:
        source = _head(line).source
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(source, str) and means_withheld(source)


def _with(line: bytes, field: str, value: str) -> bytes:
    """A JSON object with one more field, behind the others: where it is there as null, too, the
    last one counts."""
    rest = line.rstrip()[:-1].rstrip()
    comma = b"" if rest.endswith(b"{") else b","
    return b"%s%s%s:%s}" % (rest, comma, _json(field), _json(value))


_json = msgspec.json.Encoder().encode


def _field(detail: str) -> str | None:
    """The field that a dead letter's detail begins with, if it does."""
    name, colon, _ = detail.partition(": ")
    return name if colon and " " not in name else None


def with_key(record: bytes, tenant: str, key: str) -> bytes:
    """The record with an id made of the request's `Idempotency-Key`, if it has none."""
    if len(record) > MAX_RECORD_BYTES:
        return record
    try:
        said = msgspec.json.decode(record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return record
    kind = said.get("type") if isinstance(said, dict) else None
    name = ID_FIELDS.get(kind) if isinstance(kind, str) else None
    if name is None or said.get(name) is not None:
        return record
    return _with(record, name, id_of_key(tenant, key))


def id_of_key(tenant: str, key: str) -> str:
    """The record's id that an `Idempotency-Key` stands for."""
    return make_id("idempotency", tenant, key)


class IdempotencyCache:
    """What was first sent under each `Idempotency-Key`, of the newest."""

    def __init__(self, most: int = 4096, most_bytes: int = 16_000_000) -> None:
        self._most = most
        self._room = most_bytes
        self._known: dict[tuple[str, ...], bytes] = {}

    def known(self, key: tuple[str, ...]) -> bytes | None:
        """What was first sent under the key; None: nothing, or it is too long ago."""
        return self._known.get(key)

    def first(self, key: tuple[str, ...], line: bytes) -> bytes:
        """The record that was first sent under the key: this one, if none was."""
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = line
            self._room -= len(line)
        while self._known and (len(self._known) > self._most or self._room < 0):
            self.drop(next(iter(self._known)))
        return known

    def drop(self, key: tuple[str, ...]) -> None:
        """It was not applied: what comes next under the key may be another."""
        self._room += len(self._known.pop(key, b""))


def status_of(results: Sequence[Result]) -> HTTPStatus:
    """200, or 202 where some are only accepted. Raises Problem where all were refused."""
    if results and all(one.ending == "refused" for one in results):
        if all(one.reason == "other_tenant" for one in results):
            raise _other_tenant()
        raise invalid(_first_faults(results))
    accepted = any(one.ending == "accepted" for one in results)
    return HTTPStatus.ACCEPTED if accepted else HTTPStatus.OK


def check_written(result: Result, field: str) -> None:
    """Raises Problem where the one record of a request was refused, or became a dead letter, for
    which `field` is named."""
    status_of([result])
    if result.ending == "dead":
        status = 409 if result.reason == "conflicting_duplicate" else 422
        detail = f"{result.reason}: {result.detail}"
        raise Problem(status, "Not applied", detail, errors=[Fault(field, detail)])


def _first_faults(refused: Sequence[Result]) -> list[Fault]:
    return [fault for one in refused[:100] for fault in _faults(one)]


def _faults(refused: Result) -> list[Fault]:
    """One for each field that the detail names."""
    found = []
    for part in NEXT_FIELD.split(refused.detail or ""):
        field = _field(part)
        reason = part.removeprefix(f"{field}: ")
        found.append(Fault(field or refused.field or "record", reason, refused.position))
    return found


def counts(results: Sequence[Result]) -> dict[str, int]:
    """How many records ended so."""
    return dict(Counter(one.ending for one in results))
