"""Ends: a plan's `ends` close matching states and revoke matching preferences.

An end matches by family and by words of the value, without an id. Rows `e/{family}` store ends, so
that an earlier state is closed even if it arrives later. Rows `v/{event_id}` store retractions of
events: memory supported only by retracted events ends. Rules: docs/rules.md, "Long-term memory".
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from schemas.events import EndUpdate, EventUpdate, WritePlan
from schemas.row import Row, replace
from streams.folds.effects import SEP, Effects, RowKey, RowKind, Rows
from streams.folds.ids import normalise
from streams.folds.plan_order import FIRST, NEVER, Place
from streams.folds.quote_reason import shortened

MAX_ENDS = 64
"""Stored ends per family: the latest."""
MAX_FAMILIES = 1_000
"""Families with stored ends: the families with the latest ends."""
MAX_MARKS = 1_000
"""Stored marks of events that support no memory: the latest."""

MAX_VERSIONS = 64
"""Limit of a message's versions that are ordered: the neighbours of the new version."""

MAX_TEXT = 512
"""Characters of a value or text that ends are compared with: the length of an end's own `value`."""
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$")
_VOWELS = "aeiou"


class End(Row, frozen=True):
    """An end of a plan, effective at `at`. `evidence` are event ids in the session `session_id`
    (`retraction`); `told_at` is the plan's time, `place` its position among the user's plans."""

    at: int
    plan_id: str
    ordinal: int
    value: str
    whose: str
    reason: str
    evidence: tuple[str, ...]
    told_at: int = 0
    place: Place = FIRST
    families: tuple[str, ...] = ()
    session_id: str | None = None

    def order(self) -> tuple[int, str, int]:
        """Sort key: the earliest of several ends counts."""
        return self.at, self.plan_id, self.ordinal

    def is_contradicted(self, stated_at: int) -> bool:
        """Whether a later plan, of that time, states what the end would close."""
        return self.told_at < stated_at and self.at <= stated_at


class Target(NamedTuple):
    """The parts of a state or preference that ends match; `whose` is a person close to the user,
    or "" for the user."""

    families: tuple[str, ...]
    value: str
    whose: str = ""


RowTarget = tuple[str, Target]
"""The id of a row, and its content for ends."""


class Ends(Row, frozen=True):
    """The ends of one family, oldest first."""

    ends: tuple[End, ...]


ENDS = RowKind("e", Ends)
"""By family."""


SEVERAL = ""
"""Session id of evidence from several sessions."""


Event = tuple[str, str | None]
"""An event's id and session."""


class HasEvidence(Protocol):
    """A row with supporting events of a session."""

    @property
    def evidence(self) -> tuple[str, ...]: ...
    @property
    def session_id(self) -> str | None: ...


def events_of(source: HasEvidence) -> Iterator[Event]:
    """Returns the supporting events of a row."""
    return ((event_id, source.session_id) for event_id in source.evidence)


class Mark(NamedTuple):
    """Retraction or restoration of an event at a time, with its reason."""

    at: int
    plan_id: str
    ordinal: int
    retracted: bool
    reason: str
    evidence: tuple[str, ...]

    def order(self) -> tuple[int, str, int]:
        """Sort key: the latest of several marks counts."""
        return self.at, self.plan_id, self.ordinal


class Edit(NamedTuple):
    """Replacement of a message (an event) by a later version."""

    at: int
    plan_id: str
    ordinal: int
    version: str
    earlier: str
    reason: str

    def mark(self) -> Mark:
        return Mark(self.at, self.plan_id, self.ordinal, True, self.reason, (self.version,))


class Marks(Row, frozen=True):
    """Marks of an event: `sent`, its latest retraction or restoration; `edited`, the mark that
    follows from other versions of its message. `edits` are the latest edits that name it."""

    sent: Mark | None = None
    edited: Mark | None = None
    edits: tuple[Edit, ...] = ()

    def latest(self) -> Mark | None:
        """Returns the effective mark."""
        marks = [mark for mark in (self.sent, self.edited) if mark is not None]
        return max(marks, key=Mark.order, default=None)

    def order(self) -> tuple[int, str, int]:
        """Sort key: the least is dropped first."""
        orders = [edit[:3] for edit in self.edits]
        orders += [mark.order() for mark in (self.sent, self.edited) if mark is not None]
        return max(orders, default=(0, "", 0))


MARKS = RowKind("v", Marks)
"""By event id and session. A row without session applies to that id in any session; the row
without an id exists if there are other rows."""


def mark(rows: Rows, plan: WritePlan, ordinal: int, update: EventUpdate) -> None:
    """Retracts or restores an event, or replaces it by another version."""
    at, plan_id, event_id = plan.occurred_at, plan.plan_id, update.event_id
    reason, evidence = update.reason or plan.extractor.name, update.evidence_event_ids
    row = _marks(rows, event_id, plan.session_id)
    if update.op == "replace":
        edit = Edit(at, plan_id, ordinal, evidence[0], event_id, shortened(reason))
        for name in (edit.version, event_id):
            row = _marks(rows, name, plan.session_id)
            edits = tuple(sorted({*row.edits, edit})[-MAX_VERSIONS:])
            rows.put(mark_key(name, plan.session_id), replace(row, edits=edits))
    else:
        is_retracted = update.op == "retract"
        mark = Mark(at, plan_id, ordinal, is_retracted, reason, tuple(dict.fromkeys(evidence)))
        if row.sent is None or row.sent.order() < mark.order():
            rows.put(mark_key(event_id, plan.session_id), replace(row, sent=mark))
    if not is_marked(rows):
        rows.put(MARKS.key(), Marks())
    _mark_versions(rows, event_id, plan.session_id)


def _marks(rows: Rows, event_id: str, session_id: str | None) -> Marks:
    return rows.get(mark_key(event_id, session_id)) or Marks()


def _mark_versions(rows: Rows, event_id: str, session_id: str | None) -> None:
    """Ends each version of a message at the start of the next one, or at a later deletion under the
    id of an earlier version."""
    marks, edits = _versions(rows, event_id, session_id)
    deleted: Mark | None = None
    order = _in_order(edits)
    for version, follower in zip(order, [*order[1:], None], strict=False):
        row = marks[version]
        begins = max((edit.at for edit in edits if edit.version == version), default=None)
        ends = [edit.mark() for edit in edits if edit.version == follower]
        if deleted is not None and begins is not None and deleted.at >= begins:
            ends.append(deleted)
        edited = min(ends, key=Mark.order, default=None)
        if edited != row.edited and edits.issuperset(row.edits):
            rows.put(mark_key(version, session_id), replace(row, edited=edited))
        if row.sent is not None and row.sent.retracted:
            deleted = max(deleted or row.sent, row.sent, key=Mark.order)


def versions_until(rows: Rows, event_id: str, session_id: str | None, at: int) -> set[str]:
    """The versions of an event's message that had started by a time (up to `MAX_VERSIONS`
    neighbours)."""
    marks, edits = _versions(rows, event_id, session_id)
    return marks.keys() - {edit.version for edit in edits if edit.at > at}


def _versions(
    rows: Rows, event_id: str, session_id: str | None
) -> tuple[dict[str, Marks], set[Edit]]:
    """Returns the versions of an event's message (up to `MAX_VERSIONS` neighbours) and the edits
    between them."""
    marks: dict[str, Marks] = {}
    names = [event_id]
    for name in names:
        if name not in marks and len(marks) < MAX_VERSIONS:
            marks[name] = _marks(rows, name, session_id)
            for edit in reversed(marks[name].edits):
                names += (edit.version, edit.earlier)
    edits = {edit for row in marks.values() for edit in row.edits}
    return marks, {edit for edit in edits if {edit.version, edit.earlier} <= marks.keys()}


def _in_order(edits: Iterable[Edit]) -> list[str]:
    """Sorts versions by time, each after the versions that it replaces. A cycle starts with its
    earliest version."""
    earlier: dict[str, set[str]] = {}
    since: dict[str, int] = {}
    for edit in edits:
        earlier.setdefault(edit.earlier, set())
        earlier.setdefault(edit.version, set()).add(edit.earlier)
        since[edit.version] = max(edit.at, since.get(edit.version, edit.at))
    order: list[str] = []
    while earlier:
        candidates = [
            name
            for name, predecessors in earlier.items()
            if earlier.keys().isdisjoint(predecessors)
        ]
        first = min(
            candidates or earlier, key=lambda name: (name in since, since.get(name, 0), name)
        )
        order.append(first)
        del earlier[first]
    return order


def mark_key(event_id: str, session_id: str | None) -> RowKey[Marks]:
    """Returns the key of the row with an event's marks."""
    return MARKS.key(event_id, session_id or "")


def mark_names(event_id: str, session_id: str | None) -> list[str]:
    """The keys of the rows that may mark an event: of its session, and of all sessions."""
    return [mark_key(event_id, session_id), mark_key(event_id, None)]


def marked_event(name: str) -> str:
    """The event of such a key, or "" for the row without an id."""
    return name.partition("/")[2].partition(SEP)[0]


def trim_marks(rows: Rows, evidence: Callable[[], set[Event]]) -> None:
    """Drops the oldest marks over the cap. Events in `evidence`, which support states and
    preferences, keep their marks: memory ended by a retraction must not come back."""
    marked = MARKS.ids(rows)
    if len(marked) <= MAX_MARKS:
        return
    of_ends = {event for _, row in ENDS.scan(rows) for end in row.ends for event in events_of(end)}
    needed = {key for event in of_ends | evidence() for key in _mark_keys(rows, *event)}
    idle = [key for name in marked if (key := MARKS.key(name)) not in needed]
    oldest = sorted(idle, key=lambda key: (rows.peek(key).order(), key))
    for key in oldest[: max(0, len(oldest) - MAX_MARKS)]:
        rows.delete(key)


def is_marked(rows: Rows) -> bool:
    """Whether any of the user's events was retracted or restored."""
    return rows.get(MARKS.key()) is not None


def retraction(rows: Rows, evidence: Iterable[str], session_id: str | None) -> End | None:
    """Returns the end of memory supported by these events, if all of them are retracted. An unknown
    session matches any session."""
    if not is_marked(rows):
        return None
    marks = [_mark_of(rows, event_id, session_id) for event_id in evidence]
    retracted = [mark for mark in marks if mark is not None and mark.retracted]
    if not retracted or len(retracted) < len(marks):
        return None
    last = max(retracted, key=Mark.order)
    return End(
        last.at, last.plan_id, last.ordinal, "", "", last.reason, last.evidence, told_at=last.at
    )


def retraction_of(rows: Rows, updates: Iterable[HasEvidence]) -> End | None:
    """Returns the latest end of updates, if all are supported only by retracted events."""
    retractions = [retraction(rows, update.evidence, update.session_id) for update in updates]
    retracted = [end for end in retractions if end is not None]
    return max(retracted, key=End.order) if 0 < len(retractions) == len(retracted) else None


def _mark_of(rows: Rows, event_id: str, session_id: str | None) -> Mark | None:
    """The latest mark of the event."""
    marks = (row.latest() for row in map(rows.get, _mark_keys(rows, event_id, session_id)) if row)
    return max((mark for mark in marks if mark is not None), key=Mark.order, default=None)


def _mark_keys(rows: Rows, event_id: str, session_id: str | None) -> set[RowKey[Marks]]:
    """Returns the keys of the marks of an event; the latest mark counts."""
    if session_id is not None:
        return {mark_key(event_id, None), mark_key(event_id, session_id)}
    latest = [
        (mark.order(), key)
        for key, row in MARKS.scan(rows, event_id)
        if (mark := row.latest()) is not None
    ]
    return {max(latest)[1]} if latest else set()


def of(plan: WritePlan, ordinal: int, update: EndUpdate, place: Place) -> End:
    """Converts an end of a plan into its stored form."""
    own_event = (plan.event_id,) if plan.event_id else ()
    return End(
        plan.occurred_at if update.at is None else update.at,
        plan.plan_id,
        ordinal,
        normalise(update.value),
        update.whose,
        update.reason or plan.extractor.name,
        tuple(dict.fromkeys((*update.evidence_event_ids, *own_event))),
        plan.occurred_at,
        place,
        tuple(dict.fromkeys(update.families)),
        plan.session_id,
    )


def remember(rows: Rows, end: End) -> None:
    """Stores an end in the row of each of its families."""
    for family in end.families:
        key = ENDS.key(family)
        row = rows.get(key) or Ends(())
        latest = sorted((*row.ends, end), key=End.order)[-MAX_ENDS:]
        rows.put(key, Ends(tuple(latest)))
        if not row.ends:
            _trim_families(rows)


def _trim_families(rows: Rows) -> None:
    families = ENDS.ids(rows)
    if len(families) > MAX_FAMILIES:
        latest = {family: rows.peek(ENDS.key(family)).ends[-1].order() for family in families}
        rows.delete(ENDS.key(min(families, key=lambda family: (latest[family], family))))


def first_after(
    rows: Rows, target: Target, since: int, until: Place | None = None, stated_at: int = NEVER
) -> End | None:
    """Returns the earliest stored end after `since` that matches the target, or None. `until`
    limits the search to plans before that place; a statement of `stated_at` contradicts others."""
    matches = [
        end
        for family in target.families
        for end in (rows.get(ENDS.key(family)) or Ends(())).ends
        if since < end.at
        and (until is None or end.place[:4] < until[:4])
        and not end.is_contradicted(stated_at)
        and concerns(end, target)
        and retraction(rows, end.evidence, end.session_id) is None
    ]
    return min(matches, key=End.order, default=None)


def concerns(end: End, target: Target) -> bool:
    """Whether an end matches value and person of a target; the families are not compared."""
    return end.whose == target.whose and holds(target.value, end.value)


def speaks_of(end: End, target: Target) -> bool:
    """Whether an end matches a target, including its families."""
    return not set(end.families).isdisjoint(target.families) and concerns(end, target)


def target_of(payload: dict[str, Any], body_text: str) -> Target:
    """Returns the target of a state: `family` (or `category`) and `slot`, `value` (or the text),
    `whose`."""
    family, slot = payload.get("family") or payload.get("category"), payload.get("slot")
    return Target(
        tuple(name for name in (family, slot) if isinstance(name, str) and name),
        _text(payload.get("value")) or body_text,
        _text(payload.get("whose")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def holds(text: str, words: str) -> bool:
    """Whether the start of a text contains all of the words, apart from usual English endings.
    Words written without spaces (Chinese, Japanese) match as substrings."""
    if not words:
        return True
    whole, stems = _read(text[:MAX_TEXT])
    pattern = _named(words)
    return pattern.stems <= stems and all(word in whole for word in pattern.unspaced)


class _Named(NamedTuple):
    """The words of an end."""

    stems: frozenset[str]
    unspaced: tuple[str, ...]


@lru_cache(1_000)
def _named(words: str) -> _Named:
    parts = _WORD.findall(normalise(words))
    unspaced = tuple(word for word in parts if _UNSPACED.search(word))
    return _Named(frozenset(map(stem, set(parts).difference(unspaced))), unspaced)


@lru_cache(10_000)  # of one user's texts each is compared with many ends
def _read(text: str) -> tuple[str, frozenset[str]]:
    """A text, normalised, and the stems of its words."""
    whole = normalise(text)
    return whole, frozenset(map(stem, _WORD.findall(whole)))


class Concerned:
    """Index of the rows that the ends of a plan may match, by family and word: each row is read
    once per plan, not once per end."""

    def __init__(
        self, updates: Sequence[EndUpdate], list_targets: Callable[[], Iterable[RowTarget]]
    ) -> None:
        """`list_targets` is called once, for the first end."""
        self._list_targets = list_targets
        self._updates = updates
        self._ids: list[dict[str, None]] = []

    def by(self, end: End) -> Collection[str]:
        """Returns the ids of the rows that an end may match, in order."""
        if not self._ids:
            self._ids = [{} for _ in self._updates]
            self._read(self._by_family())
        return self._ids[end.ordinal].keys()

    def _by_family(self) -> dict[str, dict[str, list[int]]]:
        """Returns the ends of each family by one of their words; "" for ends without words."""
        ordinals: dict[str, dict[str, list[int]]] = {}
        for ordinal, update in enumerate(self._updates):
            word = min(_named(update.value).stems, default="")
            for family in update.families:
                ordinals.setdefault(family, {}).setdefault(word, []).append(ordinal)
        return ordinals

    def _read(self, ordinals: dict[str, dict[str, list[int]]]) -> None:
        for id, target in self._list_targets():
            for family in target.families:
                by_word = ordinals.get(family)
                if by_word is not None:
                    for word in ("", *(by_word.keys() & _read(target.value[:MAX_TEXT])[1])):
                        for ordinal in by_word.get(word, ()):
                            self._ids[ordinal][id] = None


def concerned(
    end: End,
    plan: WritePlan,
    kind: RowKind[Any],
    list_targets: Callable[[], Iterable[RowTarget]],
    out: Effects,
) -> Collection[str]:
    """Returns the ids of the rows of a kind that an end of a plan may match. `list_targets` reads
    all rows of the kind, for the first end only."""
    index = out.concerned.get(kind.letter) if out.concerned else None
    if index is None:
        index = Concerned(plan.ends, list_targets)
        out.concerned = {**(out.concerned or {}), kind.letter: index}
    ids: Collection[str] = index.by(end)
    return ids


def stem(word: str) -> str:
    """Removes a usual English ending: "studies", "studying" -> "study"."""
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return word[:-3] + "y"
    short = _ENDING.sub("", word)
    doubled = len(short) > 2 and short[-1] == short[-2] and short[-1] not in _VOWELS
    return short[:-1] if doubled else short
