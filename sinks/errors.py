"""Errors of reading and writing a history."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sinks.disk import trouble

DECORATION = re.compile("\x1b\\[[0-9;]*m|↳|<\\?xml.*|\n\\s*0: .*", re.DOTALL)
"""Colours, arrows, a store's XML, a native backtrace."""


def in_a_line(error: BaseException) -> str:
    """An error's text in one line: deltalake reports causes in several, with arrows, colours and
    backtraces."""
    lines = DECORATION.sub("", str(error)).splitlines()
    return ": ".join(line.strip() for line in lines if line.strip())


REMEDY = '; restore the history from a backup (docs/recovery.md, "A damaged history")'
"""Of a damaged log."""
UNREACHABLE = 5
"""Exit code if a store cannot be reached."""


class HistoryError(Exception):
    """The folder is not a history, or has another format. Files are unchanged."""

    exit_code = 3


class HistoryWriteError(HistoryError):
    """A table could not be written, and is unchanged. `may_pass`: the disk or the store is the
    cause, so a retry may succeed; `passes`: the store is."""

    exit_code = 1

    def __init__(self, message: str, *, passes: bool = False, unreachable: bool = False) -> None:
        super().__init__(message)
        self.passes, self.unreachable = passes, unreachable
        if unreachable:
            self.exit_code = UNREACHABLE

    @property
    def may_pass(self) -> bool:
        return self.passes or trouble(self) is not None


def unreadable(table: object, error: BaseException) -> HistoryError:
    """The error of a table that `error` of deltalake prevents from being read."""
    is_damage = not isinstance(error, OSError) and trouble(error) is None
    remedy = REMEDY if is_damage else ""
    return HistoryError(f"{table}: the table cannot be read: {in_a_line(error)}{remedy}")


@contextmanager
def write_errors(place: object) -> Iterator[None]:
    """Translates an OSError of the block into HistoryWriteError, which names the place."""
    try:
        yield
    except OSError as error:
        raise HistoryWriteError(f"{place}: {error.strerror or error}") from error


class StoreError(HistoryError):
    """A request to an object store failed. `may_pass`: a retry may succeed."""

    def __init__(self, message: str, *, passes: bool = False, unreachable: bool = False) -> None:
        super().__init__(message)
        self.may_pass = self.passes = passes
        self.unreachable = unreachable
        if unreachable:
            self.exit_code = UNREACHABLE
