"""The generation that a server answers from (docs/serving.md)."""

import logging
import os
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from sinks.generation import FOLDER, ROOT, Stamp, find_tables, names, pointer, stamp
from sinks.history_root import HistoryError, is_marked
from sinks.locations import Location
from streams.errors import TurnfoldError
from streams.files.manifest import rules_of
from streams.folds.constants import Rules

log = logging.getLogger(__name__)

AGAIN = 1.0
"""Seconds until a promoted generation that could not be read is checked again."""
UNREADABLE = (HistoryError, TurnfoldError, OSError)


class Live(NamedTuple):
    """A serving generation. Compare by identity: each switch creates a new object.

    `name` is None without a history. `tables`: the path of its history tables, independent of the
    pointer. `at_any_rate`: promoted with --behind, so the server does not wait for it. `rules`: of
    its fold and its readers.
    """

    name: str | None
    tables: Location | None
    at_any_rate: bool
    rules: Rules


NO_HISTORY = Live(None, None, False, Rules())


def promoted(root: Location) -> Live:
    """The generation that the history's pointer names, after a check. An unwritten history has the
    generation `root`. Raises HistoryError, ConfigurationError."""
    at = pointer(root)
    return _checked(root, Live(at.current, _tables(root, at.current), at.behind, Rules()))


def pinned(root: Location | None, app_id: str) -> Live | None:
    """The generation that an app id contains (`APP.NAME`), or None without one."""
    if root is None:
        return None
    candidates = [name for name in names(root) if name != ROOT and app_id.endswith(f".{name}")]
    if not candidates:
        return None
    name = max(candidates, key=len)
    return _checked(root, Live(name, _tables(root, name), False, Rules()))


def _tables(root: Location, name: str) -> Location:
    return root / FOLDER / name  # also for `root`, which then does not name the live one


def _checked(root: Location, live: Live) -> Live:
    if live.name != ROOT or is_marked(root):
        return live._replace(rules=rules_of(_folder(live)))
    return live


def _folder(live: Live) -> Location:
    """Raises HistoryError where the generation is not there."""
    assert live.tables is not None
    folder = find_tables(live.tables)
    if isinstance(folder, Path) and not os.access(folder, os.R_OK | os.X_OK):
        raise HistoryError(f"{folder}: cannot be read by this process")
    return folder


def check_readable(live: Live) -> None:
    """Raises HistoryError, ConfigurationError if a generation cannot be read."""
    if live.tables is not None and is_marked(live.tables.parent.parent):
        rules_of(find_tables(live.tables))


class PointerFollower:
    """Follows a history's pointer immediately, for readers without state. If a promoted generation
    cannot be read, the error is logged and the previous one continues to answer. In an object store
    each look is a request, so `follow` is called periodically in a thread instead."""

    def __init__(self, root: Location) -> None:
        """Raises HistoryError, ConfigurationError."""
        self._root = root
        self._stamp: Stamp = stamp(root)
        self._live = promoted(root)
        self._again = 0.0
        self.why = ""
        """Why the promoted generation does not answer; empty where it does."""

    def look(self) -> Live:
        """The current generation: one `stat`, unless it changed."""
        if isinstance(self._root, Path):
            self.follow()
        return self._live

    def follow(self) -> None:
        """Reads the pointer, and switches. Raises StoreError if the store does not answer."""
        now = stamp(self._root)
        if now != self._stamp or (self.why and monotonic() >= self._again):
            self._stamp = now
            self._go_over()

    def _go_over(self) -> None:
        try:
            live = promoted(self._root)
        except UNREADABLE as error:
            if str(error) != self.why:
                log.error(
                    "the promoted generation cannot be read, so %s goes on answering: %s",
                    self._live.name, error,
                )  # fmt: skip
            self.why, self._again = str(error), monotonic() + AGAIN
            return
        self.why = ""
        if live != self._live:
            log.warning("generation %s answers now; before: %s", live.name, self._live.name)
            self._live = live
