"""Session memory: what observations and direct writes leave behind, and when.

An entry is one row, `m/{id}`: everything seen of one (type, content), or written under one id.
What shows of an entry is a function of what it has seen, whatever the order; a change of
what shows is a revision. The rules: docs/rules.md, "Session memory".
"""

from typing import Any, NamedTuple

from schemas.events import MemoryItemPatch, MemoryItemWrite, Observation, Turn
from schemas.row import Row, replace
from streams.folds.ids import make_id, normalise
from streams.folds.revisions import revise
from streams.folds.rows import Effects, RowKind, Rows
from streams.folds.rules import Rules

MAX_OPS = 32

Key = tuple[int, str]  # occurred_at, event_id
NEVER: Key = (-(2**62), "")


class Showing(NamedTuple):
    """One turn that showed the thing; `said_by` is its user, None where it names none."""

    occurred_at: int
    event_id: str
    confidence: float
    stated: bool  # explicit, or required by the environment, or a decision with its rationale
    content: str
    fields: dict[str, Any]
    said_by: str | None = None


class Op(NamedTuple):
    """One direct write: add, update or delete. `said_by`: the user of its turn, or of each where
    several writes were made one; None where it names none."""

    occurred_at: int
    event_id: str
    op: str
    fields: dict[str, Any]
    said_by: tuple[str | None, ...] = (None,)


class MemoryEntry(Row, frozen=True):
    """`showings` are the newest 20; `stated` the newest that needed no threshold."""

    id: str
    type: str
    first: Key
    showings: tuple[Showing, ...] = ()
    times: int = 0
    surest: float = 0.0
    stated: Showing | None = None
    opposed: Key = NEVER
    opposed_by_user: Key = NEVER
    ops: tuple[Op, ...] = ()


ENTRIES = RowKind("m", MemoryEntry)
Item = dict[str, Any]


def fold(rows: Rows, turn: Turn, out: Effects) -> None:
    """The observations and direct writes of one ended turn."""
    rules = out.rules
    entries = {row.id: row for _, row in ENTRIES.scan(rows)}
    before = visible(rows, entries, rules)
    touched: dict[str, MemoryEntry] = {}
    shown: dict[str, Showing] = {}
    for observation in turn.observations or ():
        _observe(rows, entries, touched, shown, turn, observation)
    for entry_id, showing in shown.items():  # however often it names a thing, a turn counts once
        touched[entry_id] = _shown(touched[entry_id], showing, rules)
    if turn.session_memory_delta:
        _write(rows, entries, touched, turn, out)
    entries |= touched
    for one in touched.values():
        rows.put(ENTRIES.key(one.id), one)
    after = visible(rows, entries, rules)
    fallen: set[str] = set()
    while over := _over_cap(entries, after, rules):  # what falls out may have hidden something
        for item_id in over:
            rows.delete(ENTRIES.key(item_id))
            del entries[item_id]
            out.warnings.append("session_memory_over_cap")
        fallen.update(over)
        after = visible(rows, entries, rules)
    _revise(turn, before, after, fallen, out)


def items(rows: Rows, rules: Rules) -> list[Item]:
    """The session memory as the document shows it, in order of first showing."""
    entries = {row.id: row for _, row in ENTRIES.scan(rows)}
    shown = visible(rows, entries, rules)
    return [shown[one.id] for one in sorted(entries.values(), key=_age) if one.id in shown]


def _age(entry: MemoryEntry) -> tuple[Key, str]:
    return entry.first, entry.id


# --- what a turn adds -------------------------------------------------------------------------


def _entry_id(rows: Rows, type_: str, content: str) -> str:
    return make_id("session_memory", rows.tenant, rows.key, type_, normalise(content))


def _entry(
    rows: Rows,
    entries: dict[str, MemoryEntry],
    touched: dict[str, MemoryEntry],
    type_: str,
    content: str,
    key: Key,
) -> MemoryEntry:
    entry_id = _entry_id(rows, type_, content)
    known = touched.get(entry_id) or entries.get(entry_id)
    if known is not None and not known.type:  # so far only written to, by its id
        known = replace(known, type=type_)
    return known or MemoryEntry(entry_id, type_, key)


def _observe(
    rows: Rows,
    entries: dict[str, MemoryEntry],
    touched: dict[str, MemoryEntry],
    shown: dict[str, Showing],
    turn: Turn,
    seen: Observation,
) -> None:
    key = turn.occurred_at, turn.event_id
    said = (seen.decision or seen.content) if seen.type == "decision" else seen.content
    entry = _entry(rows, entries, touched, seen.type, said, key)
    fields: dict[str, Any] = {}
    stated = seen.explicit or (seen.type == "constraint" and seen.environment)
    if seen.type == "decision":
        stated = bool(seen.source and seen.rationale)
        fields = {
            "decision": said,
            "source": seen.source,
            "rationale": seen.rationale,
            "reversible": seen.reversible,
        }
    showing = Showing(*key, seen.confidence, stated, seen.content, fields, turn.user_id)
    touched[entry.id] = entry
    said_before = shown.get(entry.id, showing)
    shown[entry.id] = max(said_before, showing, key=lambda one: (one.stated, one.confidence))
    if seen.type == "decision":
        if seen.supersedes and stated:
            other = _entry(rows, entries, touched, seen.type, seen.supersedes, key)
            touched[other.id] = _opposed(other, key, seen.source == "user")
    elif seen.opposes:
        other = _entry(rows, entries, touched, seen.type, seen.opposes, key)
        touched[other.id] = _opposed(other, key, True)


def _shown(entry: MemoryEntry, showing: Showing, rules: Rules) -> MemoryEntry:
    key = showing[:2]
    stated = entry.stated
    if showing.stated and (stated is None or key >= stated[:2]):
        stated = showing
    showings = sorted((*entry.showings, showing), key=lambda one: one[:2])
    return replace(
        entry,
        first=min(entry.first, key),
        showings=tuple(showings)[-rules.max_evidence :],
        times=entry.times + 1,
        surest=max(entry.surest, showing.confidence),
        stated=stated,
    )


def _opposed(entry: MemoryEntry, key: Key, by_user: bool) -> MemoryEntry:
    return replace(
        entry,
        first=min(entry.first, key),
        opposed=max(entry.opposed, key),
        opposed_by_user=max(entry.opposed_by_user, key) if by_user else entry.opposed_by_user,
    )


def _write(
    rows: Rows,
    entries: dict[str, MemoryEntry],
    touched: dict[str, MemoryEntry],
    turn: Turn,
    out: Effects,
) -> None:
    delta = turn.session_memory_delta
    assert delta is not None
    key = turn.occurred_at, turn.event_id
    writes: list[tuple[str, str, MemoryItemWrite | MemoryItemPatch | None]] = [
        *((one.id, "add", one) for one in delta.add),
        *((one.id, "update", one) for one in delta.update),
        *((one, "delete", None) for one in delta.delete),
    ]
    for item_id, op, fields in writes:
        known = touched.get(item_id) or entries.get(item_id)
        if known is None and op != "add":
            out.warnings.append("unknown_memory_item")
        entry = known or MemoryEntry(item_id, "", key)
        touched[item_id] = _written(
            entry, Op(*key, op, _said(fields) if fields else {}, (turn.user_id,))
        )


def _said(fields: MemoryItemWrite | MemoryItemPatch) -> dict[str, Any]:
    """The fields that an item has, without defaults: to write out a default says nothing more."""
    return fields.model_dump(exclude_defaults=True, include=set(type(fields).model_fields) - {"id"})


def _written(entry: MemoryEntry, op: Op) -> MemoryEntry:
    ops = sorted((*entry.ops, op), key=lambda one: one[:2])
    entry = replace(entry, first=min(entry.first, op[:2]), ops=tuple(ops))
    return _squashed(entry) if len(ops) > MAX_OPS else entry


def _squashed(entry: MemoryEntry) -> MemoryEntry:
    """The two oldest writes as one; a delete leaves the time up to which it wiped."""
    first, second, *rest = entry.ops
    if first.op == "delete":
        entry = _opposed(entry, first[:2], True)
    elif second.op == "update":
        second = second._replace(
            op=first.op,
            fields={**first.fields, **second.fields},
            said_by=tuple(dict.fromkeys((*first.said_by, *second.said_by))),
        )
    return replace(entry, ops=(second, *rest))


# --- what shows -------------------------------------------------------------------------------


def visible(rows: Rows, entries: dict[str, MemoryEntry], rules: Rules) -> dict[str, Item]:
    """The items that show, by id."""
    shown = _standing(rows, entries, rules)
    return {item_id: _with_ids(item, rules) for item_id, item in shown.items()}


def speakers(rows: Rows, rules: Rules) -> dict[str, set[str | None]]:
    """Item id -> the users whose turns it rests on; None among them: a turn that names none."""
    entries = {row.id: row for _, row in ENTRIES.scan(rows)}
    return {id: set(item["said_by"]) for id, item in _standing(rows, entries, rules).items()}


def _standing(rows: Rows, entries: dict[str, MemoryEntry], rules: Rules) -> dict[str, Item]:
    """The items that show, by id, with all of their evidence and who said it. Equal (type, content)
    shows once, under the oldest entry."""
    shown: dict[str, Item] = {}
    same: dict[tuple[str, str], str] = {}
    for entry in sorted(entries.values(), key=_age):
        item = _item(entry, rules)
        if item is None or (entry.ops and _is_opposed(rows, entries, entry, item)):
            continue
        about = (item["type"], normalise(_thing(item)))
        first = same.setdefault(about, entry.id)
        shown[first] = item if first == entry.id else _merged(shown[first], item)
    return shown


def _is_opposed(
    rows: Rows, entries: dict[str, MemoryEntry], entry: MemoryEntry, item: Item
) -> bool:
    """Whether a later turn opposed (or superseded) what was written directly: opposition is kept
    with the entry of the content, whatever id the write went to."""
    rival = entries.get(_entry_id(rows, item["type"], _thing(item)))
    if rival is None:
        return False
    yields = item["type"] != "decision" or item["reversible"]
    newest = max(one[:2] for one in (*entry.ops, *entry.showings))
    return (rival.opposed if yields else rival.opposed_by_user) > newest


def _thing(item: Item) -> str:
    """What tells one item of a type from another."""
    content: str = item["content"]
    return item.get("decision") or content if item["type"] == "decision" else content


def _merged(item: Item, other: Item) -> Item:
    confidence = max(item["confidence"], other["confidence"])
    both = {name: item[name] + other[name] for name in ("evidence", "said_by")}
    return {**item, "confidence": confidence, **both}


def _with_ids(item: Item, rules: Rules) -> Item:
    """The item with the ids of its evidence: the newest 20, each once."""
    newest = sorted(set(item["evidence"]))[-rules.max_evidence :]
    shown = {name: value for name, value in item.items() if name != "said_by"}
    return {**shown, "evidence": [event_id for _, event_id in newest]}


def _item(entry: MemoryEntry, rules: Rules) -> Item | None:
    """What shows of one entry: what was observed, and the direct writes over it. A delete wipes
    all before it, in its own turn too. Its evidence are still turns, by time and id."""
    deleted = max((op[:2] for op in entry.ops if op.op == "delete"), default=NEVER)
    item = _observed(entry, deleted, rules)
    for op in entry.ops:
        if op[:2] <= deleted or (item is None and op.op == "update"):
            continue
        evidence = [*(item["evidence"] if item else ()), op[:2]]
        said_by = [*(item["said_by"] if item else ()), *op.said_by]
        if item is None or op.op == "add":  # an add is the whole item, an update a part
            item = {"id": entry.id, "content": "", "confidence": 0.5}
        item = {**item, **op.fields, "evidence": evidence, "said_by": said_by}
        if item["type"] == "decision":
            item.setdefault("reversible", True)
    return item


def _observed(entry: MemoryEntry, deleted: Key, rules: Rules) -> Item | None:
    after = max(entry.opposed, deleted)
    stated = entry.stated
    if entry.type == "decision" and stated and not stated.fields["reversible"]:
        after = max(entry.opposed_by_user, deleted)  # it yields to the user alone
    recent = [one for one in entry.showings if one[:2] > after]
    if stated is not None and stated[:2] <= after:
        stated = None
    if not recent and stated is None:
        return None
    confidence = max((one.confidence for one in recent), default=0.0)
    if entry.type == "capability_assumption":
        times = entry.times if after == NEVER else len(recent)
        confidence = 1 - (1 - entry.surest) * 0.5 ** (times - 1)
    elif stated is None and (
        entry.type in ("decision", "constraint") or len(recent) < rules.showings_needed
    ):
        return None  # a candidate
    if stated is not None:
        confidence = max(confidence, stated.confidence)
    latest = recent[-1] if recent else stated
    if entry.type == "decision" or latest is None:
        latest = stated
    assert latest is not None
    return {
        "id": entry.id,
        "type": entry.type,
        "content": latest.content,
        "confidence": confidence,
        **latest.fields,
        "evidence": [one[:2] for one in recent] or [latest[:2]],
        "said_by": [one.said_by for one in (*recent, latest)],
    }


# --- caps and revisions -----------------------------------------------------------------------


def _over_cap(entries: dict[str, MemoryEntry], shown: dict[str, Item], rules: Rules) -> list[str]:
    """The least confident, then the oldest items fall out; of candidates the oldest."""
    weakest = sorted(shown, key=lambda one: (shown[one]["confidence"], _age(entries[one])))
    hidden = [one for one in sorted(entries.values(), key=_age) if one.id not in shown]
    return [
        *weakest[: max(0, len(shown) - rules.max_memory_items)],
        *(one.id for one in hidden[: max(0, len(hidden) - rules.max_candidates)]),
    ]


def _revise(
    turn: Turn, before: dict[str, Item], after: dict[str, Item], fallen: set[str], out: Effects
) -> None:
    for item_id in {**before, **after}:
        was, now = before.get(item_id), after.get(item_id)
        type_ = (now or was or {})["type"]
        if now is None:
            op, reason = "remove", "over the cap" if item_id in fallen else "no longer holds"
        elif was is None:
            op, reason = "add", "stated, or shown often enough"
        else:
            op, reason = "update", "shown or written again"
        evidence, at = [turn.event_id], turn.occurred_at
        entity = ("session_memory", item_id, type_)
        revise(out, out.owner, entity, op, was, now, reason, evidence, at)
