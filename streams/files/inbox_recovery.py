"""What a killed server left in its log (`streams.files.inbox`), folded by who has the history."""

from pathlib import Path

from sinks import locks
from sinks.generation import LIVE, find
from sinks.root import HistoryWriteError
from streams.extractors.naming import named
from streams.files.access import opened
from streams.files.applier import Applier
from streams.files.extractor_choice import extractor_of
from streams.files.inbox import FOLDER, RECORDED, TOPIC, Group, Inbox, has_records, taken_at
from streams.files.manifest import rules_of
from streams.files.runner import Runner
from streams.files.sources import Position
from streams.files.store import Store
from streams.pipeline.decode import Given

FORGET_WITHIN = 1.0
"""Seconds: a server that starts, and is refused, has its lock for some milliseconds."""
EXTRACTOR = "inbox/extractor"
"""What a server was told to extract with: who folds its log for it does the same."""


class _Served(Exception):  # noqa: N818 - a state
    """A server is running."""


def fold_left(root: Path, asked_at: int) -> None:
    """Folds what a killed server left in its log; the caller holds the history's lock. `forget`
    must find it, and no later start bring it back.

    A running server has lent the lock; what is in its log came after it was asked, at `asked_at`
    (microseconds). Raises HistoryWriteError where some of it did not: the server cannot commit.
    """
    folder = root / FOLDER
    if not has_records(folder):
        return
    try:
        with locks.held(root / locks.SERVED, _Served(), within=FORGET_WITHIN):
            _fold_left(root)
    except _Served:
        with opened(find(root, LIVE)) as (store, _):
            oldest = taken_at(folder, committed_of(store))
        if oldest is not None and oldest < asked_at:
            raise HistoryWriteError(
                f"{root}: `turnfold serve` has not committed all that it took, as its log says; "
                "make room, wait until it is ready, and call this again"
            ) from None


def _fold_left(root: Path) -> None:
    with opened(find(root, LIVE)) as (store, tables):
        inbox = inbox_of(root, store)
        applier = applier_of(root, store, store.value(EXTRACTOR))
        runner = Runner(store, tables, applier, None)
        with runner.committing():
            for group in inbox.read(committed_of(store)):
                runner.apply(numbered(group), group.recorded_at)
                runner.positions[TOPIC] = Position(0, group.last)
                if runner.is_full:
                    runner.commit()
        inbox.drop(inbox.end)


def committed_of(store: Store) -> int:
    """The offset up to which a store has the log."""
    known = store.value(f"file/{TOPIC}")
    return known[1] if known else 0


def inbox_of(root: Path, store: Store) -> Inbox:
    """The log of a history whose live generation has this store."""
    return Inbox(root / FOLDER, committed_of(store), store.value(RECORDED) or 0)


def numbered(group: Group) -> list[Given]:
    """Records with where they stand."""
    return [(record, (TOPIC, 0, at)) for at, record in enumerate(group.records, group.first)]


def applier_of(root: Path, store: Store, extractor: str | None) -> Applier:
    """One that extracts as told, or as the live generation was made, under that one's rules."""
    return Applier(store, rules_of(find(root, LIVE)), named(extractor or extractor_of(root)))
