"""Folds records that a killed server left in its log (`streams.files.inbox`)."""

from pathlib import Path

from sinks import locks
from sinks.generation import LIVE, find
from sinks.history_root import HistoryWriteError
from streams.extractors.registry import named
from streams.files.extractor_choice import extractor_of
from streams.files.fold_batch import Applier
from streams.files.fold_sources import Runner
from streams.files.inbox import FOLDER, RECORDED, TOPIC, Group, Inbox, has_records, recorded_after
from streams.files.manifest import rules_of
from streams.files.open_generation import opened
from streams.files.retraction_guard import guarded
from streams.files.sources import Position
from streams.files.store import Store
from streams.pipeline.decode import Given

FORGET_WITHIN = 1.0
"""Seconds to wait for a lock: a second server has it for some milliseconds before it is
rejected."""
EXTRACTOR = "inbox/extractor"
"""Value of the store: extractor of the server, for commands that fold its log."""


class _Served(Exception):  # noqa: N818 - a state
    """A server is running."""


def fold_leftover(root: Path, asked_at: int) -> None:
    """Folds the records of a killed server's log; the caller has the history's lock. `forget` must
    find them, and a later start must not restore them.

    A running server has lent the lock: its log only has records from after the request, at
    `asked_at` (microseconds). Raises HistoryWriteError for older ones: the server cannot commit.
    """
    folder = root / FOLDER
    if not has_records(folder):
        return
    try:
        with locks.lock_file(root / locks.SERVED, _Served(), within=FORGET_WITHIN):
            _fold_log(root)
    except _Served:
        with opened(find(root, LIVE)) as (store, _):
            oldest = recorded_after(folder, committed_of(store))
        if oldest is not None and oldest < asked_at:
            raise HistoryWriteError(
                f"{root}: `turnfold serve` could not commit all accepted records, see its log; "
                "free disk space, wait until it is ready, then run the same command again"
            ) from None


def _fold_log(root: Path) -> None:
    with opened(find(root, LIVE)) as (store, tables):
        inbox = inbox_of(root, store)
        applier = applier_of(root, store, store.value(EXTRACTOR))
        runner = Runner(store, tables, applier, None)
        with runner.committing():
            for group in inbox.read(committed_of(store)):
                runner.apply(with_positions(group), group.recorded_at)
                runner.positions[TOPIC] = Position(0, group.last)
                if runner.is_full:
                    runner.commit()
        inbox.drop(inbox.end)


def committed_of(store: Store) -> int:
    """The last offset of the log that a store has."""
    position = store.value(f"file/{TOPIC}")
    return position[1] if position else 0


def inbox_of(root: Path, store: Store) -> Inbox:
    """Opens the log of a history. `store`: of its live generation."""
    return Inbox(root / FOLDER, committed_of(store), store.value(RECORDED) or 0)


def with_positions(group: Group) -> list[Given]:
    """Records with their positions."""
    return [
        (record, (TOPIC, 0, offset)) for offset, record in enumerate(group.records, group.first)
    ]


def applier_of(root: Path, store: Store, extractor: str | None) -> Applier:
    """Applier with an extractor, by default the live generation's, and that generation's rules."""
    live, extract = find(root, LIVE), named(extractor or extractor_of(root))
    return Applier(store, rules_of(live), *guarded(live, store, extract))
