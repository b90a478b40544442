"""Session memory: items from observations and direct writes.

An entry is one row, `m/{id}`, with all observations of one (type, content) or all writes of one
id. The visible item of an entry does not depend on their order; a change of it is a revision.
Rules: docs/rules.md, "Session memory".
"""

from typing import Any, NamedTuple

from schemas.events import MemoryItemPatch, MemoryItemWrite, Observation, Turn
from schemas.row import Row, replace
from streams.folds.constants import Rules
from streams.folds.effects import Effects, RowKind, Rows
from streams.folds.ids import make_id, normalise
from streams.folds.revisions import revise

MAX_OPS = 32

Key = tuple[int, str]  # occurred_at, event_id
NEVER: Key = (-(2**62), "")


class Showing(NamedTuple):
    """An observation in one turn; `said_by` is the turn's user, None without one."""

    occurred_at: int
    event_id: str
    confidence: float
    stated: bool  # explicit, or required by the environment, or a decision with its rationale
    content: str
    fields: dict[str, Any]
    said_by: str | None = None


class Op(NamedTuple):
    """A direct write: add, update or delete. `said_by` are the users of its turns, several after a
    merge of writes (None for a turn without a user)."""

    occurred_at: int
    event_id: str
    op: str
    fields: dict[str, Any]
    said_by: tuple[str | None, ...] = (None,)


class MemoryEntry(Row, frozen=True):
    """Observations and writes of one item: `showings` are the newest 20 observations, `stated` the
    newest one without a threshold."""

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
    """Folds the observations and direct writes of one ended turn."""
    rules = out.rules
    entries = {row.id: row for _, row in ENTRIES.scan(rows)}
    before = visible(rows, entries, rules)
    touched: dict[str, MemoryEntry] = {}
    showings: dict[str, Showing] = {}
    for observation in turn.observations or ():
        _observe(rows, entries, touched, showings, turn, observation)
    for entry_id, showing in showings.items():  # however often it names a thing, a turn counts once
        touched[entry_id] = _shown(touched[entry_id], showing, rules)
    if turn.session_memory_delta:
        _write(rows, entries, touched, turn, out)
    entries |= touched
    for entry in touched.values():
        rows.put(ENTRIES.key(entry.id), entry)
    after = visible(rows, entries, rules)
    evicted: set[str] = set()
    while excess := _over_cap(entries, after, rules):  # a dropped entry may have hidden another one
        for item_id in excess:
            rows.delete(ENTRIES.key(item_id))
            del entries[item_id]
            out.warnings.append("session_memory_over_cap")
        evicted.update(excess)
        after = visible(rows, entries, rules)
    _revise(turn, before, after, evicted, out)


def items(rows: Rows, rules: Rules) -> list[Item]:
    """Returns the visible items in order of first observation."""
    entries = {row.id: row for _, row in ENTRIES.scan(rows)}
    visible_items = visible(rows, entries, rules)
    return [
        visible_items[entry.id]
        for entry in sorted(entries.values(), key=_age)
        if entry.id in visible_items
    ]


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
    entry = touched.get(entry_id) or entries.get(entry_id)
    if entry is not None and not entry.type:  # so far only written to, by its id
        entry = replace(entry, type=type_)
    return entry or MemoryEntry(entry_id, type_, key)


def _observe(
    rows: Rows,
    entries: dict[str, MemoryEntry],
    touched: dict[str, MemoryEntry],
    showings: dict[str, Showing],
    turn: Turn,
    observation: Observation,
) -> None:
    key = turn.occurred_at, turn.event_id
    content = (
        (observation.decision or observation.content)
        if observation.type == "decision"
        else observation.content
    )
    entry = _entry(rows, entries, touched, observation.type, content, key)
    fields: dict[str, Any] = {}
    stated = observation.explicit or (observation.type == "constraint" and observation.environment)
    if observation.type == "decision":
        stated = bool(observation.source and observation.rationale)
        fields = {
            "decision": content,
            "source": observation.source,
            "rationale": observation.rationale,
            "reversible": observation.reversible,
        }
    showing = Showing(
        *key, observation.confidence, stated, observation.content, fields, turn.user_id
    )
    touched[entry.id] = entry
    earlier = showings.get(entry.id, showing)
    showings[entry.id] = max(
        earlier, showing, key=lambda showing: (showing.stated, showing.confidence)
    )
    if observation.type == "decision":
        if observation.supersedes and stated:
            rival = _entry(rows, entries, touched, observation.type, observation.supersedes, key)
            touched[rival.id] = _opposed(rival, key, observation.source == "user")
    elif observation.opposes:
        rival = _entry(rows, entries, touched, observation.type, observation.opposes, key)
        touched[rival.id] = _opposed(rival, key, True)


def _shown(entry: MemoryEntry, showing: Showing, rules: Rules) -> MemoryEntry:
    key = showing[:2]
    stated = entry.stated
    if showing.stated and (stated is None or key >= stated[:2]):
        stated = showing
    showings = sorted((*entry.showings, showing), key=lambda entry: entry[:2])
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
        *((write.id, "add", write) for write in delta.add),
        *((write.id, "update", write) for write in delta.update),
        *((write, "delete", None) for write in delta.delete),
    ]
    for item_id, op, fields in writes:
        stored = touched.get(item_id) or entries.get(item_id)
        if stored is None and op != "add":
            out.warnings.append("unknown_memory_item")
        entry = stored or MemoryEntry(item_id, "", key)
        touched[item_id] = _written(
            entry, Op(*key, op, _said(fields) if fields else {}, (turn.user_id,))
        )


def _said(fields: MemoryItemWrite | MemoryItemPatch) -> dict[str, Any]:
    """Returns the fields of a write without defaults."""
    return fields.model_dump(exclude_defaults=True, include=set(type(fields).model_fields) - {"id"})


def _written(entry: MemoryEntry, op: Op) -> MemoryEntry:
    ops = sorted((*entry.ops, op), key=lambda entry: entry[:2])
    entry = replace(entry, first=min(entry.first, op[:2]), ops=tuple(ops))
    return _squashed(entry) if len(ops) > MAX_OPS else entry


def _squashed(entry: MemoryEntry) -> MemoryEntry:
    """Merges the two oldest writes; a delete leaves its time."""
    first, second, *newer = entry.ops
    if first.op == "delete":
        entry = _opposed(entry, first[:2], True)
    elif second.op == "update":
        second = second._replace(
            op=first.op,
            fields={**first.fields, **second.fields},
            said_by=tuple(dict.fromkeys((*first.said_by, *second.said_by))),
        )
    return replace(entry, ops=(second, *newer))


# --- visible items ----------------------------------------------------------------------------


def visible(rows: Rows, entries: dict[str, MemoryEntry], rules: Rules) -> dict[str, Item]:
    """Returns the visible items by id."""
    items = _standing(rows, entries, rules)
    return {item_id: _with_ids(item, rules) for item_id, item in items.items()}


def speakers(rows: Rows, rules: Rules) -> dict[str, set[str | None]]:
    """Item id -> users of its supporting turns (None for a turn without a user)."""
    entries = {row.id: row for _, row in ENTRIES.scan(rows)}
    return {id: set(item["said_by"]) for id, item in _standing(rows, entries, rules).items()}


def _standing(rows: Rows, entries: dict[str, MemoryEntry], rules: Rules) -> dict[str, Item]:
    """Returns the visible items by id, with all evidence and speakers. Items of equal (type,
    content) are merged under the oldest entry."""
    items: dict[str, Item] = {}
    oldest_ids: dict[tuple[str, str], str] = {}
    for entry in sorted(entries.values(), key=_age):
        item = _item(entry, rules)
        if item is None or (entry.ops and _is_opposed(rows, entries, entry, item)):
            continue
        identity = (item["type"], normalise(_thing(item)))
        first = oldest_ids.setdefault(identity, entry.id)
        items[first] = item if first == entry.id else _merged(items[first], item)
    return items


def _is_opposed(
    rows: Rows, entries: dict[str, MemoryEntry], entry: MemoryEntry, item: Item
) -> bool:
    """Whether a later turn opposed (or superseded) a direct write. Opposition is stored in the
    entry of the content, which may differ from the id of the write."""
    rival = entries.get(_entry_id(rows, item["type"], _thing(item)))
    if rival is None:
        return False
    yields = item["type"] != "decision" or item["reversible"]
    newest = max(change[:2] for change in (*entry.ops, *entry.showings))
    return (rival.opposed if yields else rival.opposed_by_user) > newest


def _thing(item: Item) -> str:
    """Returns the identity of an item within its type."""
    content: str = item["content"]
    return item.get("decision") or content if item["type"] == "decision" else content


def _merged(item: Item, duplicate: Item) -> Item:
    confidence = max(item["confidence"], duplicate["confidence"])
    sources = {name: item[name] + duplicate[name] for name in ("evidence", "said_by")}
    return {**item, "confidence": confidence, **sources}


def _with_ids(item: Item, rules: Rules) -> Item:
    """Returns the item with the ids of its evidence: the newest 20, each once."""
    newest = sorted(set(item["evidence"]))[-rules.max_evidence :]
    fields = {name: value for name, value in item.items() if name != "said_by"}
    return {**fields, "evidence": [event_id for _, event_id in newest]}


def _item(entry: MemoryEntry, rules: Rules) -> Item | None:
    """Returns the item of an entry: observations, then direct writes. A delete removes everything
    before it, including its own turn. The evidence are keys of turns."""
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
    recent = [showing for showing in entry.showings if showing[:2] > after]
    if stated is not None and stated[:2] <= after:
        stated = None
    if not recent and stated is None:
        return None
    confidence = max((showing.confidence for showing in recent), default=0.0)
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
        "evidence": [showing[:2] for showing in recent] or [latest[:2]],
        "said_by": [showing.said_by for showing in (*recent, latest)],
    }


# --- caps and revisions -----------------------------------------------------------------------


def _over_cap(
    entries: dict[str, MemoryEntry], visible_items: dict[str, Item], rules: Rules
) -> list[str]:
    """Returns the ids over the caps: the least confident, then oldest items; oldest candidates."""
    weakest = sorted(
        visible_items, key=lambda id: (visible_items[id]["confidence"], _age(entries[id]))
    )
    hidden = [
        entry for entry in sorted(entries.values(), key=_age) if entry.id not in visible_items
    ]
    return [
        *weakest[: max(0, len(visible_items) - rules.max_memory_items)],
        *(entry.id for entry in hidden[: max(0, len(hidden) - rules.max_candidates)]),
    ]


def _revise(
    turn: Turn, before: dict[str, Item], after: dict[str, Item], evicted: set[str], out: Effects
) -> None:
    for item_id in {**before, **after}:
        was, now = before.get(item_id), after.get(item_id)
        type_ = (now or was or {})["type"]
        if now is None:
            op, reason = "remove", "over the cap" if item_id in evicted else "no longer holds"
        elif was is None:
            op, reason = "add", "stated, or shown often enough"
        else:
            op, reason = "update", "shown or written again"
        evidence, at = [turn.event_id], turn.occurred_at
        entity = ("session_memory", item_id, type_)
        revise(out, out.owner, entity, op, was, now, reason, evidence, at)
