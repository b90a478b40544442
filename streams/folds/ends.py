"""What is over: an end closes the states, and revokes the likes, that it names.

An end names families, and words that the value has; it needs to know no id. It is remembered in
rows `e/{family}`, so that what held before it is closed whichever of the two came first. Rows
`v/{event_id}` say which events are retracted: what rests on these alone has ended, too. The
rules: docs/rules.md, "Long-term memory".
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from schemas.events import EndUpdate, EventUpdate, WritePlan
from schemas.row import Row, replace
from streams.folds.ids import normalise
from streams.folds.order import FIRST, Place
from streams.folds.quoting import shortened
from streams.folds.rows import SEP, Effects, RowKey, RowKind, Rows

MAX_ENDS = 64
"""Ends remembered of a family: the latest."""
MAX_FAMILIES = 1_000
"""Families of which ends are remembered: those with the latest ends."""
MAX_MARKS = 1_000
"""Marks remembered of events on which no memory rests: the latest."""

MAX_VERSIONS = 64
"""Versions of a message whose order is remembered: those next to the one that comes."""

REMEMBERED = 200
"""Characters of a text whose words are remembered: those of values are few."""
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$")
_VOWELS = "aeiou"


class End(Row, frozen=True):
    """What a plan said is over at a time; `evidence` are its event ids, in the session of
    `session_id` (`retraction`); `told_at` is its time and `place` where it stands among the user's
    plans."""

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
        """The earliest of several ends is the one that counts."""
        return self.at, self.plan_id, self.ordinal


class Said(NamedTuple):
    """What is held, as far as an end asks; `whose` is a person close to the user, "" the user."""

    families: tuple[str, ...]
    value: str
    whose: str = ""


Held = tuple[str, Said]
"""The id of a row, and what it holds."""


class Ends(Row, frozen=True):
    """The ends of one family, oldest first."""

    ends: tuple[End, ...]


ENDS = RowKind("e", Ends)
"""By family."""


SEVERAL = ""
"""In place of a session's id: the events are of several sessions."""


Event = tuple[str, str | None]
"""An event's id and session."""


class Rests(Protocol):
    """What rests on events of a session."""

    @property
    def evidence(self) -> tuple[str, ...]: ...
    @property
    def session_id(self) -> str | None: ...


def events_of(resting: Rests) -> Iterator[Event]:
    """The events on which something rests."""
    return ((event_id, resting.session_id) for event_id in resting.evidence)


class Mark(NamedTuple):
    """Whether an event is retracted, since a time, and why."""

    at: int
    plan_id: str
    ordinal: int
    retracted: bool
    reason: str
    evidence: tuple[str, ...]

    def order(self) -> tuple[int, str, int]:
        """The latest of several marks counts."""
        return self.at, self.plan_id, self.ordinal


class Edit(NamedTuple):
    """A later version of a message, an event, takes the place of an earlier one."""

    at: int
    plan_id: str
    ordinal: int
    version: str
    earlier: str
    reason: str

    def mark(self) -> Mark:
        return Mark(self.at, self.plan_id, self.ordinal, True, self.reason, (self.version,))


class Marks(Row, frozen=True):
    """What is retracted of an event: `sent`, the latest update of it alone; `edited`, what the
    other versions of its message mean for it. `edits`: those that name it, the latest."""

    sent: Mark | None = None
    edited: Mark | None = None
    edits: tuple[Edit, ...] = ()

    def latest(self) -> Mark | None:
        """The mark that counts."""
        marks = [mark for mark in (self.sent, self.edited) if mark is not None]
        return max(marks, key=Mark.order, default=None)

    def order(self) -> tuple[int, str, int]:
        """The least is dropped first."""
        orders = [edit[:3] for edit in self.edits]
        orders += [mark.order() for mark in (self.sent, self.edited) if mark is not None]
        return max(orders, default=(0, "", 0))


MARKS = RowKind("v", Marks)
"""By event id and session; the row without an id says that there are others. Without a session: of
the event with that id in any."""


def mark(rows: Rows, plan: WritePlan, ordinal: int, update: EventUpdate) -> None:
    """Retracts or restores an event, or puts another version in its place."""
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
    """Each version of an event's message ends where the next one begins, or where the message was
    deleted, under the id of an earlier version, since this one began."""
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
    """The versions of an event's message that had begun by a time, of many those next to it."""
    marks, edits = _versions(rows, event_id, session_id)
    return marks.keys() - {edit.version for edit in edits if edit.at > at}


def _versions(
    rows: Rows, event_id: str, session_id: str | None
) -> tuple[dict[str, Marks], set[Edit]]:
    """The versions of an event's message, of many those next to it, and the edits among them."""
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
    """The versions by time, each behind those in whose place it comes. Of some that come in each
    other's place the earliest is the first."""
    earlier: dict[str, set[str]] = {}
    since: dict[str, int] = {}
    for edit in edits:
        earlier.setdefault(edit.earlier, set())
        earlier.setdefault(edit.version, set()).add(edit.earlier)
        since[edit.version] = max(edit.at, since.get(edit.version, edit.at))
    order: list[str] = []
    while earlier:
        free = [name for name, others in earlier.items() if earlier.keys().isdisjoint(others)]
        first = min(free or earlier, key=lambda name: (name in since, since.get(name, 0), name))
        order.append(first)
        del earlier[first]
    return order


def mark_key(event_id: str, session_id: str | None) -> RowKey[Marks]:
    """The name of the row that says whether an event is retracted."""
    return MARKS.key(event_id, session_id or "")


def mark_names(event_id: str, session_id: str | None) -> list[str]:
    """The names of the rows that may say so."""
    return [mark_key(event_id, session_id), mark_key(event_id, None)]


def marked_event(name: str) -> str:
    """The event of such a name; of the row without an id ""."""
    return name.partition("/")[2].partition(SEP)[0]


def trim_marks(rows: Rows, evidence: Callable[[], set[Event]]) -> None:
    """Drops the oldest marks over the cap. `evidence`: the events on which states and preferences
    rest, which keep their marks: what a retraction has ended must not come back."""
    marked = MARKS.ids(rows)
    if len(marked) <= MAX_MARKS:
        return
    of_ends = {one for _, row in ENDS.scan(rows) for end in row.ends for one in events_of(end)}
    needed = {key for event in of_ends | evidence() for key in _mark_keys(rows, *event)}
    idle = [key for name in marked if (key := MARKS.key(name)) not in needed]
    oldest = sorted(idle, key=lambda key: (rows.peek(key).order(), key))
    for key in oldest[: max(0, len(oldest) - MAX_MARKS)]:
        rows.delete(key)


def is_marked(rows: Rows) -> bool:
    """Whether any of the user's events was retracted or restored."""
    return rows.get(MARKS.key()) is not None


def retraction(rows: Rows, evidence: Iterable[str], session_id: str | None) -> End | None:
    """The end of what rests on these events of a session, if all are retracted. Where the session
    is not known, of any."""
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


def retraction_of(rows: Rows, updates: Iterable[Rests]) -> End | None:
    """The latest end of updates, if all rest on retracted events."""
    taken = [retraction(rows, one.evidence, one.session_id) for one in updates]
    retracted = [one for one in taken if one is not None]
    return max(retracted, key=End.order) if 0 < len(taken) == len(retracted) else None


def _mark_of(rows: Rows, event_id: str, session_id: str | None) -> Mark | None:
    """The latest mark of the event."""
    marks = (row.latest() for row in map(rows.get, _mark_keys(rows, event_id, session_id)) if row)
    return max((mark for mark in marks if mark is not None), key=Mark.order, default=None)


def _mark_keys(rows: Rows, event_id: str, session_id: str | None) -> set[RowKey[Marks]]:
    """Where the marks are of which the latest counts for an event."""
    if session_id is not None:
        return {mark_key(event_id, None), mark_key(event_id, session_id)}
    latest = [
        (mark.order(), key)
        for key, row in MARKS.scan(rows, event_id)
        if (mark := row.latest()) is not None
    ]
    return {max(latest)[1]} if latest else set()


def of(plan: WritePlan, ordinal: int, update: EndUpdate, place: Place) -> End:
    """An end of a plan as it is remembered."""
    own = (plan.event_id,) if plan.event_id else ()
    return End(
        plan.occurred_at if update.at is None else update.at,
        plan.plan_id,
        ordinal,
        normalise(update.value),
        update.whose,
        update.reason or plan.extractor.name,
        tuple(dict.fromkeys((*update.evidence_event_ids, *own))),
        plan.occurred_at,
        place,
        tuple(dict.fromkeys(update.families)),
        plan.session_id,
    )


def remember(rows: Rows, end: End) -> None:
    """Puts an end into the row of each of its families."""
    for family in end.families:
        key = ENDS.key(family)
        known = rows.get(key) or Ends(())
        kept = sorted((*known.ends, end), key=End.order)[-MAX_ENDS:]
        rows.put(key, Ends(tuple(kept)))
        if not known.ends:
            _trim_families(rows)


def _trim_families(rows: Rows) -> None:
    families = ENDS.ids(rows)
    if len(families) > MAX_FAMILIES:
        latest = {family: rows.peek(ENDS.key(family)).ends[-1].order() for family in families}
        rows.delete(ENDS.key(min(families, key=lambda family: (latest[family], family))))


def first_after(rows: Rows, said: Said, since: int, until: Place | None = None) -> End | None:
    """The earliest remembered end of what has held since a time, or None. `until`: of plans that
    come before the one of this place."""
    found = [
        end
        for family in said.families
        for end in (rows.get(ENDS.key(family)) or Ends(())).ends
        if since < end.at
        and (until is None or end.place[:4] < until[:4])
        and concerns(end, said)
        and retraction(rows, end.evidence, end.session_id) is None
    ]
    return min(found, key=End.order, default=None)


def concerns(end: End, said: Said) -> bool:
    """Whether an end of one of its families speaks of this."""
    return end.whose == said.whose and holds(said.value, end.value)


def speaks_of(end: End, said: Said) -> bool:
    """Whether an end speaks of this, by its families, too; it need not be remembered any more."""
    return not set(end.families).isdisjoint(said.families) and concerns(end, said)


def said_in(payload: dict[str, Any], body_text: str) -> Said:
    """Of a state: `family` (else `category`) and `slot`, `value` (else its text), `whose`."""
    family, slot = payload.get("family") or payload.get("category"), payload.get("slot")
    return Said(
        tuple(name for name in (family, slot) if isinstance(name, str) and name),
        _text(payload.get("value")) or body_text,
        _text(payload.get("whose")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def holds(text: str, words: str) -> bool:
    """Whether a text has all the words of another, whatever their usual endings. Words written
    without spaces between them (Chinese, Japanese) need to be contained."""
    if not words:
        return True
    whole, stems = _read(text)
    named = _named(words)
    return named.stems <= stems and all(word in whole for word in named.unspaced)


class _Named(NamedTuple):
    """The words of an end."""

    stems: frozenset[str]
    unspaced: tuple[str, ...]


def _named(words: str) -> _Named:
    return (_named_once if len(words) <= REMEMBERED else _named_once.__wrapped__)(words)


def _read(text: str) -> tuple[str, frozenset[str]]:
    return (_read_once if len(text) <= REMEMBERED else _read_once.__wrapped__)(text)


@lru_cache(1_000)
def _named_once(words: str) -> _Named:
    parts = _WORD.findall(normalise(words))
    unspaced = tuple(word for word in parts if _UNSPACED.search(word))
    return _Named(frozenset(map(stem, set(parts).difference(unspaced))), unspaced)


@lru_cache(10_000)  # of one user's texts each is compared with many ends
def _read_once(text: str) -> tuple[str, frozenset[str]]:
    """A text, normalised, and the stems of its words."""
    whole = normalise(text)
    return whole, frozenset(map(stem, _WORD.findall(whole)))


class Concerned:
    """Which of a user's rows the ends of a plan may speak of, by their families and a word: so each
    row is read once, and not once for each end."""

    def __init__(self, updates: Sequence[EndUpdate], held: Callable[[], Iterable[Held]]) -> None:
        """`held` is called for the first end that asks; what an end says of a row stays as it is
        until the last one."""
        self._held = held
        self._updates = updates
        self._ids: list[dict[str, None]] = []

    def by(self, end: End) -> Collection[str]:
        """The ids of the rows that one of the ends may speak of, in order."""
        if not self._ids:
            self._ids = [{} for _ in self._updates]
            self._read(self._by_family())
        return self._ids[end.ordinal].keys()

    def _by_family(self) -> dict[str, dict[str, list[int]]]:
        """The ends of each family, by one of their words; "" is of those that need none."""
        ordinals: dict[str, dict[str, list[int]]] = {}
        for ordinal, update in enumerate(self._updates):
            word = min(_named(update.value).stems, default="")
            for family in update.families:
                ordinals.setdefault(family, {}).setdefault(word, []).append(ordinal)
        return ordinals

    def _read(self, ordinals: dict[str, dict[str, list[int]]]) -> None:
        for id, said in self._held():
            for family in said.families:
                by_word = ordinals.get(family)
                if by_word is not None:
                    for word in ("", *(by_word.keys() & _read(said.value)[1])):
                        for ordinal in by_word.get(word, ()):
                            self._ids[ordinal][id] = None


def concerned(
    end: End,
    plan: WritePlan,
    kind: RowKind[Any],
    held: Callable[[], Iterable[Held]],
    out: Effects,
) -> Collection[str]:
    """The ids of the rows of a kind that one of a plan's ends may speak of. `held`: of all rows of
    the kind, which are read for the first end."""
    known = out.concerned.get(kind.letter) if out.concerned else None
    if known is None:
        known = Concerned(plan.ends, held)
        out.concerned = {**(out.concerned or {}), kind.letter: known}
    ids: Collection[str] = known.by(end)
    return ids


def stem(word: str) -> str:
    """A word without a usual English ending: "studies", "studying" -> "study"."""
    if len(word) > 4 and word.endswith(("ies", "ied")):
        return word[:-3] + "y"
    short = _ENDING.sub("", word)
    doubled = len(short) > 2 and short[-1] == short[-2] and short[-1] not in _VOWELS
    return short[:-1] if doubled else short
