"""Why a history cannot be read or written."""

import re

from sinks.disk import trouble

DECORATION = re.compile("\x1b\\[[0-9;]*m|↳|<\\?xml.*|\n\\s*0: .*", re.DOTALL)
"""Colours, arrows, a store's own document, a backtrace of native code."""


def in_a_line(error: BaseException) -> str:
    """deltalake gives some causes a line each, with an arrow and colours, and where they arose."""
    lines = DECORATION.sub("", str(error)).splitlines()
    return ": ".join(line.strip() for line in lines if line.strip())


UNREACHABLE = 5
"""The exit code where a store cannot be reached, whoever asks it for what."""


class HistoryError(Exception):
    """The folder is not a history, or not one of this format. Nothing was touched."""

    exit_code = 3


class HistoryWriteError(HistoryError):
    """A table could not be written; what it held before still stands. `may_pass`: the disk or the
    store is the reason, so the same may be tried again; `passes`: the store is."""

    exit_code = 1

    def __init__(self, said: str, *, passes: bool = False, unreachable: bool = False) -> None:
        super().__init__(said)
        self.passes, self.unreachable = passes, unreachable
        if unreachable:
            self.exit_code = UNREACHABLE

    @property
    def may_pass(self) -> bool:
        return self.passes or trouble(self) is not None


class StoreError(HistoryError):
    """An object store does not do what it was asked. `may_pass`: it may do so later."""

    def __init__(self, said: str, *, passes: bool = False, unreachable: bool = False) -> None:
        super().__init__(said)
        self.may_pass = self.passes = passes
        self.unreachable = unreachable
        if unreachable:
            self.exit_code = UNREACHABLE
