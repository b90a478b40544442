"""An owner's revisions: what each turn changed, when something changed, and what the states were
at any time, as known at any other."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import msgspec

from schemas.time import format_time, parse_time
from sinks.kept import Source
from sinks.lookup import Lookup
from streams.chronicle.series import CLOCKS_KEPT, Newest
from streams.reading import FAR
from streams.task_status import Said, with_status_then

Json = dict[str, Any]
Steps = list[tuple[int, str]]

STEPS = 2000
"""The newest times of a slider."""
MOOD = "long_mood_state"
NOT_TOLD = ("affect", "link", "thread")
"""Entities whose changes are told otherwise: the mood, and how turns belong together."""


class Revision(NamedTuple):
    """A row of the table `revisions`. `document` is that after it, of what is gone the one before;
    there is none of what is `NOT_TOLD`."""

    entity_type: str
    entity_id: str
    kind: str | None
    op: str
    reason: str | None
    plan_id: str | None
    seq: int
    occurred_at: int
    recorded_at: int
    gone: bool
    document: str | None
    cites: list[str]


SHOWN = (
    *Revision._fields[:7], "epoch_us(occurred_at)", "epoch_us(recorded_at)", '"after" IS NULL',
    f'CASE WHEN entity_type NOT IN {NOT_TOLD} THEN "after" END', "evidence_event_ids",
)  # fmt: skip


class _Head(msgspec.Struct):
    """What places a version of a state in time."""

    valid_from: str
    valid_to: str | None = None
    kind: str | None = None
    body_text: str | None = None


_head = msgspec.json.Decoder(_Head).decode


class Version(NamedTuple):
    """What a revision made of a version of a state; known from `learnt_at` on."""

    learnt_at: int
    begins: int
    ends: int | None
    kind: str | None
    revision: Revision


class StateLife:
    """A state's versions by when they begin, each with its revisions in order."""

    def __init__(self, owner: str, revisions: Iterable[Revision]) -> None:
        self.owner = owner
        self._versions: dict[int, list[Version]] = {}
        learnt = -FAR
        for one in revisions:
            learnt = max(learnt, one.recorded_at)
            head = _head(one.document or "{}")
            begins = parse_time(head.valid_from)
            ends = None if head.valid_to is None else parse_time(head.valid_to)
            made = Version(learnt, begins, ends, head.kind, one)
            self._versions.setdefault(begins, []).append(made)
        self._begins = sorted(self._versions)

    def _known(self, begins: int, known_at: int) -> Version | None:
        """A version as it was known, unless it was gone then."""
        every = self._versions[begins]
        number = bisect_right(every, known_at, key=lambda one: one.learnt_at)
        return every[number - 1] if number and not every[number - 1].revision.gone else None

    def standing(self, as_of: int, known_at: int) -> Version | None:
        """The version that was true: the last that had begun, unless it had ended."""
        for place in range(bisect_right(self._begins, as_of) - 1, -1, -1):
            found = self._known(self._begins[place], known_at)
            if found is not None:
                return found if found.ends is None or as_of < found.ends else None
        return None

    def ended(self, known_at: int) -> Iterator[tuple[int, Json]]:
        """When its versions ended, with what they were; a version ends at the latest where the next
        begins."""
        known = [one for at in self._begins if (one := self._known(at, known_at))]
        for one, after in zip(known, [*known[1:], None], strict=False):
            following = FAR if after is None else after.begins
            own = FAR if one.ends is None else one.ends
            at = min(own, following)
            if at < FAR and one.kind not in (MOOD, None):
                yield at, {
                    "state_id": one.revision.entity_id, "kind": one.kind,
                    "body_text": _head(one.revision.document or "{}").body_text,
                    "valid_from": format_time(one.begins), "ended_at": format_time(at),
                    "followed": after is not None and following <= own,
                }  # fmt: skip

    def said(self, begins: int, known_at: int) -> list[Said]:
        """What revisions made of the status of a task's version."""
        return [
            Said(one.revision.occurred_at, _status(one.revision.document))
            for one in self._versions[begins]
            if one.learnt_at <= known_at and not one.revision.gone
        ]


class Revisions:
    """All revisions of a user, or of a session."""

    def __init__(self, owner: str, tenant: str, rows: Iterable[Revision]) -> None:
        self.owner, self._tenant = owner, tenant
        self._rows = sorted(rows, key=lambda one: one.seq)
        self._ended = lru_cache(CLOCKS_KEPT)(self._ended_by)

    @cached_property
    def _states(self) -> dict[str, StateLife]:
        found = defaultdict[str, list[Revision]](list)
        for one in self._rows:
            if one.entity_type == "state":
                found[one.entity_id].append(one)
        return {name: StateLife(self.owner, some) for name, some in found.items()}

    @cached_property
    def citing(self) -> dict[str, list[Revision]]:
        """By event: the revisions that rest on it, of what is told, in order."""
        found = defaultdict[str, list[Revision]](list)
        for one in self._rows:
            if one.entity_type not in NOT_TOLD:
                for event_id in set(one.cites):
                    found[event_id].append(one)
        return dict(found)

    @cached_property
    def as_of_steps(self) -> Steps:
        """When something was said that changed something: the newest times."""
        return _steps(one.occurred_at for one in self._rows)

    @cached_property
    def known_at_steps(self) -> Steps:
        """When it was learnt."""
        return _steps(one.recorded_at for one in self._rows)

    def states(self, as_of: int, known_at: int | None) -> list[Json]:
        """What was true (schemas.memory.State), as `streams.reading.states` has it."""
        known = FAR if known_at is None else known_at
        held = [one for life in self._states.values() if (one := life.standing(as_of, known))]
        held.sort(key=lambda one: (one.kind or "", one.begins, one.revision.entity_id))
        return with_status_then(
            [_state(self._tenant, self.owner, one) for one in held], as_of,
            lambda state: self._states[state["state_id"]].said(
                parse_time(state["valid_from"]), known
            ),
        )  # fmt: skip

    def ended(self, as_of: int, known_at: int | None, limit: int) -> Newest[Json]:
        """What was true and is no more, the last ended first. `followed`: another version of the
        same state took its place."""
        times, found = self._ended(FAR if known_at is None else known_at)
        count = bisect_right(times, as_of)
        return Newest(found[max(0, count - limit) : count][::-1], count)

    def _ended_by(self, known_at: int) -> tuple[list[int], list[Json]]:
        every = [one for life in self._states.values() for one in life.ended(known_at)]
        every.sort(key=lambda one: one[1]["state_id"], reverse=True)
        every.sort(key=lambda one: one[0])
        return [at for at, _ in every], [one for _, one in every]


def _state(tenant: str, owner: str, one: Version) -> Json:
    said = _document(one.revision.document)

    def time_of(name: str) -> str | None:
        at = said.get(name)
        return None if at is None else format_time(parse_time(at))

    return {
        "tenant": tenant, "owner_id": owner, "state_id": one.revision.entity_id,
        "kind": one.kind, "body_text": said.get("body_text"), "payload": said.get("payload"),
        "confidence": float(said["confidence"]), "valid_from": format_time(one.begins),
        "valid_to": time_of("valid_to"), "last_confirmed_at": time_of("last_confirmed_at"),
        "status": said.get("status"), "evidence_event_ids": said.get("evidence_event_ids"),
        "updated_at": time_of("updated_at"),
    }  # fmt: skip


def _status(text: str | None) -> str | None:
    payload = _document(text).get("payload")
    return payload.get("status") if isinstance(payload, dict) else None


def _document(text: str | None) -> Json:
    found: Json = msgspec.json.decode(text or "{}")
    return found


def _steps(times: Iterable[int]) -> Steps:
    return [(at, format_time(at)) for at in sorted(set(times))[-STEPS:]]


def steps(every: Iterable[Revisions]) -> Json:
    """The times at which something changed for some owners: `as_of` when it was said, `known_at`
    when it was learnt; the newest of each, oldest first."""
    owners = list(every)

    def merged(of: Callable[[Revisions], Steps]) -> list[str]:
        if len(owners) == 1:
            return [text for _, text in of(owners[0])]
        return [text for _, text in sorted({step for one in owners for step in of(one)})[-STEPS:]]

    return {
        "as_of": merged(lambda one: one.as_of_steps),
        "known_at": merged(lambda one: one.known_at_steps),
    }


def _read(about: Lookup, owner: str) -> list[Revision]:
    """`before` is half of their text, and counts only of what is gone: it is read where there is
    such a one. A user and a session may have one id, and then their `seq` are not unique."""
    every = list(map(Revision._make, about.rows("revisions", SHOWN, "owner_id = ?", owner)))
    if not any(one.gone and one.entity_type not in NOT_TOLD for one in every):
        return every
    gone = f'owner_id = ? AND "after" IS NULL AND entity_type NOT IN {NOT_TOLD}'
    rows = about.rows("revisions", ("entity_type", "entity_id", "seq", '"before"'), gone, owner)
    before = {tuple(names): document for *names, document in rows}
    return [
        one._replace(document=before.get((one.entity_type, one.entity_id, one.seq)))
        if one.gone
        else one
        for one in every
    ]


REVISIONS: Source[Revisions] = Source(
    "revisions", ("revisions",), _read,
    lambda owner, about, rows: Revisions(owner, about.tenant, rows),
)  # fmt: skip
