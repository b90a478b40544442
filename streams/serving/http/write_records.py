"""Bodies as records: validated, given the caller's tenant, appended to the log together.

The body is complete and decompressed (`request_bodies`). Records that `decode` rejects are not
stored, even as dead letters; the reply gives the reason.
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
from streams.serving.http.body_readers import BodyReaders
from streams.serving.http.cloud_events import CloudEvent, InvalidCloudEvent
from streams.serving.http.problems import Fault, Problem, invalid
from streams.serving.http.quotas import TenantQuotas

LONG = 4096
"""Maximum bytes of a plain turn that is kept in decoded form while it waits."""
MOST_REFUSED, MOST_REFUSED_BYTES = 1_000, 4_000_000
"""Maximum rejected records of one request, and their bytes: describing an error takes longer than
accepting a record."""
SHORT = 512
"""Maximum bytes of a nested record that is kept in decoded form while it waits."""
ALIKE = ("", 0, 0)
Form = Callable[[int, bytes], bytes | CloudEvent]
NEXT_FIELD = re.compile(r"; (?=[A-Za-z_][\w.]*: )")
"""Where the detail of a dead letter continues with another field."""


class RecordOutcome(msgspec.Struct, omit_defaults=True):
    """Outcome of one record (schemas.http.RecordResult)."""

    position: int
    ending: Ending
    id: str | None = None
    reason: str | None = None
    field: str | None = None
    detail: str | None = None


class _Good(NamedTuple):
    """A valid record: its line in the log, and its decoded form if that is kept."""

    line: bytes
    decoded: Input | None
    result: RecordOutcome


class _WrittenHead(msgspec.Struct, gc=False):
    """The fields that are read before a record is decoded."""

    tenant: Any = None
    source: Any = None


_head = msgspec.json.Decoder(_WrittenHead).decode


async def submit(
    backend: Backend,
    quotas: TenantQuotas,
    tenant: str,
    records: Sequence[bytes],
    within: float,
    *,
    readers: BodyReaders,
    all_or_none: bool = False,
    form: Form | None = None,
) -> list[RecordOutcome]:
    """The result of each record, in order. `readers`: threads that parse long bodies.
    `all_or_none`: a rejected record rejects all. `form`: converts the sent bytes and their position
    (from 1) to a record.

    Raises NotReady, Busy, OverQuota, Problem without storing anything; NoRoom: the first records of
    a long request may be stored, unless `all_or_none`.
    """
    quotas.check(tenant)
    sent = sum(map(len, records))
    latest = time.time_ns() // 1000 + clock_ahead.MOST
    results, good = await readers.read(tenant, sent, _checked, records, tenant, latest, form)
    if all_or_none and len(good) < len(records):
        return results
    if good:
        lines = [record.line for record in good]
        size = sum(map(len, lines))
        quotas.take(tenant, len(good), size)
        if len(good) < len(records):  # if all are rejected, the whole body is charged
            quotas.charge(tenant, max(sent - size, 0))
        try:
            with WRITE_WAIT_SECONDS.time():
                decoded = [record.decoded for record in good]
                outcomes = await backend.submit(lines, within, decoded, all_or_none)
        except (Busy, NoRoom):
            quotas.give_back(tenant, len(good), size)
            raise
        for record, outcome in zip(good, outcomes, strict=True):
            _end(record.result, outcome)
    return results


def _checked(
    records: Sequence[bytes], tenant: str, latest: int, form: Form | None
) -> tuple[list[RecordOutcome], list[_Good]]:
    """The result of each record, and the valid records. `latest`: see `_check`. Raises Problem if
    too many are rejected: each costs more than a valid one."""
    results: list[RecordOutcome] = []
    good: list[_Good] = []
    refused: list[RecordOutcome] = []
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


def _too_many_refused(refused: Sequence[RecordOutcome]) -> Problem:
    if all(result.reason == "other_tenant" for result in refused):
        return _other_tenant()
    first, *rest = _first_faults(refused)
    detail = (
        f"more than {MOST_REFUSED} records or {MOST_REFUSED_BYTES} bytes are refused, so that none "
        f"is taken; the first is record {first.position}: {first.field}: {first.reason}"
    )
    return Problem(422, "Invalid", detail, errors=[first, *rest])


def _other_tenant() -> Problem:
    return Problem(403, "Forbidden", "the records name another tenant than yours")


def _kept(line: bytes, record: Input) -> Input | None:
    """The decoded record if it is small while it waits: nested data takes up to thirty times its
    bytes once decoded, and the queue is limited by bytes."""
    return record if len(line) <= (LONG if record.plain else SHORT) else None


def _end(result: RecordOutcome, outcome: Outcome) -> None:
    assert outcome.ending != "skipped", "only files and topics are mapped"
    result.ending, result.reason, result.detail = outcome.ending, outcome.reason, outcome.detail
    if result.ending == "dead" and result.detail:
        result.field = _field(result.detail)


def _check(
    record: bytes | CloudEvent, tenant: str, position: int, latest: int
) -> tuple[tuple[bytes, Input] | None, RecordOutcome]:
    """The record as the log stores it with its decoded form, or None if it is rejected. `latest`:
    maximum `occurred_at` (microseconds)."""
    try:
        line = record if isinstance(record, bytes) else record.line()
    except InvalidCloudEvent as error:
        return None, RecordOutcome(
            position, "refused", None, "not_an_event", error.field, str(error)
        )
    if len(line) > MAX_RECORD_BYTES:  # decoding all of it takes its time
        if _is_withheld(line):
            return None, RecordOutcome(position, "withheld")
        detail = f"{len(line)} bytes, at most {MAX_RECORD_BYTES}"
        return None, RecordOutcome(position, "refused", None, "too_large", "record", detail)
    line = _owned(line, tenant)
    decoded = decode(line, ALIKE)
    if type(decoded) is Input:
        content: Any = decoded.record
        record_id = getattr(content, ID_FIELDS[content.type])
        if content.tenant != tenant:
            detail = "tenant: leave it out, or name that of the key"
            return None, RecordOutcome(
                position, "refused", record_id, "other_tenant", "tenant", detail
            )
        if content.occurred_at > latest:
            detail = f"occurred_at: {clock_ahead.REASON}"
            return None, RecordOutcome(
                position, "refused", record_id, "invalid", "occurred_at", detail
            )
        return (line, decoded), RecordOutcome(position, "accepted", record_id)
    if isinstance(decoded, Dead):
        field = _field(decoded.detail)
        return None, RecordOutcome(position, "refused", None, decoded.reason, field, decoded.detail)
    return None, RecordOutcome(position, "withheld")


def _owned(line: bytes, tenant: str) -> bytes:
    """Adds the caller's tenant to a record without one."""
    if tenant == TENANT:
        return line
    try:
        named = _head(line).tenant
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line  # `decode` reports the error
    return line if named is not None else _with(line, "tenant", tenant)


def _is_withheld(line: bytes) -> bool:
    try:
        source = _head(line).source
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(source, str) and means_withheld(source)


def _with(line: bytes, field: str, value: str) -> bytes:
    """Appends a field to a JSON object; the last one counts if it already exists as null."""
    rest = line.rstrip()[:-1].rstrip()
    comma = b"" if rest.endswith(b"{") else b","
    return b"%s%s%s:%s}" % (rest, comma, _json(field), _json(value))


_json = msgspec.json.Encoder().encode


def _field(detail: str) -> str | None:
    """The field at the start of a dead letter's detail, if any."""
    name, colon, _ = detail.partition(": ")
    return name if colon and " " not in name else None


def with_key(record: bytes, tenant: str, key: str) -> bytes:
    """Adds an id derived from the request's `Idempotency-Key` to a record without one."""
    if len(record) > MAX_RECORD_BYTES:
        return record
    try:
        document = msgspec.json.decode(record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return record
    kind = document.get("type") if isinstance(document, dict) else None
    name = ID_FIELDS.get(kind) if isinstance(kind, str) else None
    if name is None or document.get(name) is not None:
        return record
    return _with(record, name, id_of_key(tenant, key))


def id_of_key(tenant: str, key: str) -> str:
    """The record id derived from an `Idempotency-Key`."""
    return make_id("idempotency", tenant, key)


class IdempotencyCache:
    """The first record of each recent `Idempotency-Key`."""

    def __init__(self, most: int = 4096, most_bytes: int = 16_000_000) -> None:
        self._most = most
        self._room = most_bytes
        self._known: dict[tuple[str, ...], bytes] = {}

    def known(self, key: tuple[str, ...]) -> bytes | None:
        """The first record of the key, or None if it is missing or too old."""
        return self._known.get(key)

    def first(self, key: tuple[str, ...], line: bytes) -> bytes:
        """The first record of the key: the stored one, or this one."""
        stored = self._known.get(key)
        if stored is None:
            stored = self._known[key] = line
            self._room -= len(line)
        while self._known and (len(self._known) > self._most or self._room < 0):
            self.drop(next(iter(self._known)))
        return stored

    def drop(self, key: tuple[str, ...]) -> None:
        """Removes a record that was not applied, so that the key can be reused."""
        self._room += len(self._known.pop(key, b""))


def status_of(results: Sequence[RecordOutcome]) -> HTTPStatus:
    """200, or 202 if some are only accepted. Raises Problem if all were rejected."""
    if results and all(result.ending == "refused" for result in results):
        if all(result.reason == "other_tenant" for result in results):
            raise _other_tenant()
        raise invalid(_first_faults(results))
    accepted = any(result.ending == "accepted" for result in results)
    return HTTPStatus.ACCEPTED if accepted else HTTPStatus.OK


def check_written(result: RecordOutcome, field: str) -> None:
    """Raises Problem if the single record of a request was rejected or became a dead letter;
    `field` is then named."""
    status_of([result])
    if result.ending == "dead":
        status = 409 if result.reason == "conflicting_duplicate" else 422
        detail = f"{result.reason}: {result.detail}"
        raise Problem(status, "Not applied", detail, errors=[Fault(field, detail)])


def _first_faults(refused: Sequence[RecordOutcome]) -> list[Fault]:
    return [fault for result in refused[:100] for fault in _faults(result)]


def _faults(refused: RecordOutcome) -> list[Fault]:
    faults = []
    for part in NEXT_FIELD.split(refused.detail or ""):
        field = _field(part)
        reason = part.removeprefix(f"{field}: ")
        faults.append(Fault(field or refused.field or "record", reason, refused.position))
    return faults


def counts(results: Sequence[RecordOutcome]) -> dict[str, int]:
    return dict(Counter(result.ending for result in results))
