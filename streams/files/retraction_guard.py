"""Checks new records against a generation's retractions (docs/backfill.md, "Retract").

A rebuild leaves retracted records out in SQL (`streams.generations.retraction_scope`). Records that
arrive later are checked here: by their own fields, and by marks in the store, which are hashes of
the ids of retracted turns and tasks. A record that arrived before the one that retracts it stays
until the next rebuild.
"""

from typing import Any

import msgspec

from sinks.erased_ids import EVENT, TASK, hash_of
from sinks.locations import Location
from streams.extractors.registry import OWN_WORDS, Extractor
from streams.files.manifest import load
from streams.files.retraction import MARKS, MESSAGE, OF_USER, WORDS, Retraction, unretracted
from streams.files.store import Store
from streams.folds.effects import Input
from streams.pipeline.decode import Decoded, decode_again


class Guard:
    """Withholds retracted records among new ones; notes marks of turns and tasks that fall.
    `rebuilt_at`: time (microseconds) since which models read turns without the agent's part."""

    def __init__(self, retractions: tuple[Retraction, ...], store: Store, rebuilt_at: int) -> None:
        self._retractions = retractions
        self._rebuilt_at = rebuilt_at
        self._store = store
        self._marks: dict[str, bool] = {}
        self._new: dict[str, bool] = {}

    def checked(self, decoded: Decoded) -> Decoded:
        """The record, without the agent's part if it is a turn of a task that called a retracted
        tool; or "withheld". Raises StoreError."""
        if type(decoded) is not Input:
            return decoded
        record: Any = decoded.record
        matched = any(retraction.matches(record) for retraction in self._retractions)
        if record.type == "turn":
            return self._turn(decoded, record, matched)
        if record.type in ("recursion", "tool_result"):
            task = hash_of(TASK, record.tenant, record.session_id, record.task_id)
            if any(each.by == "tool" and each.matches(record) for each in self._retractions):
                self._mark(task, words=True)
            matched = matched or self._marked(task) is not None
        elif record.type == "signal":
            place = record.tenant, record.session_id or "", record.signal_id
            matched = matched or self._marked(hash_of(MESSAGE, *place)) is not None
        elif record.type == "write_plan":
            matched = matched or self._rests_on_marks(record, decoded.doc)
        return "withheld" if matched else decoded

    def take_marks(self) -> dict[str, bool]:
        """New marks as values of the store, for the next commit."""
        marks, self._new = self._new, {}
        return {MARKS + mark: words for mark, words in marks.items()}

    def _turn(self, record: Input, turn: Any, matched: bool) -> Decoded:
        place = turn.tenant, turn.session_id
        event = hash_of(EVENT, *place, turn.event_id)
        task = hash_of(TASK, *place, turn.task_id or turn.event_id)
        if not matched and self._marked(event) is not False and not self._marked(task):
            return record
        falls = matched or self._marked(event) is False
        of_user = hash_of(OF_USER, turn.tenant, turn.user_id or "", turn.event_id)
        for mark in (event, of_user):
            self._mark(mark, words=not falls)
        if falls and self._marked(task) is None:
            self._mark(task, words=False)
        return "withheld" if falls else words_of(record)

    def _rests_on_marks(self, plan: Any, doc: str) -> bool:
        session = plan.session_id
        kind, owner = (OF_USER, plan.user_id) if session is None else (EVENT, session)
        marks = {
            self._marked(hash_of(kind, plan.tenant, owner, event)) for event in source_events(doc)
        }
        made_at = plan.extraction and plan.extraction.made_at
        is_own = plan.extractor.name in OWN_WORDS or (made_at or 0) > self._rebuilt_at
        return False in marks or (True in marks and not is_own)

    def _mark(self, mark: str, *, words: bool) -> None:
        if self._marked(mark) is not words:
            self._marks[mark] = self._new[mark] = words

    def _marked(self, mark: str) -> bool | None:
        """Whether the user's words stay, or None if the id has no mark."""
        if mark in self._marks:
            return self._marks[mark]
        words: bool | None = self._store.value(MARKS + mark)
        return words


def guarded(
    folder: Location, store: Store, extractor: Extractor | None
) -> tuple[Extractor | None, Guard | None]:
    """The extractor without retracted plans, and the guard against retracted records, of the
    generation in `folder`."""
    generation = load(folder)
    if generation is None or not (retracted := generation.settings.retracted):
        return extractor, None
    return unretracted(extractor, retracted), Guard(retracted, store, generation.started_at)


def source_events(doc: str) -> set[str]:
    """Ids of the events that a plan's `doc` rests on, as `sinks.erasure.source_events`."""
    plan = msgspec.json.decode(doc)
    updates = [
        update for field in plan.values() if isinstance(field, list)
        for update in field if isinstance(update, dict)
    ]  # fmt: skip
    ids = {plan.get("event_id"), plan.get("event_affect", {}).get("event_id")}
    ids.update(plan.get("extraction", {}).get("event_ids", ()))
    for update in updates:
        ids.update(update.get("evidence_event_ids", ()))
    return ids - {None}


def words_of(turn: Input) -> Input:
    """A turn with only the user's message, its ids and its time."""
    doc = msgspec.json.decode(turn.doc)
    words = {name: doc[name] for name in WORDS if name in doc}
    if images := getattr(turn.record, "image_summaries", None):
        words["image_summaries"] = images
    decoded = decode_again(msgspec.json.encode(words), turn.source)
    assert type(decoded) is Input  # a valid turn without its optional fields
    return msgspec.structs.replace(decoded, recorded_at=turn.recorded_at)
