"""Why a history cannot be read or written."""

from sinks.disk import trouble


class HistoryError(Exception):
    """The folder is not a history, or not one of this format. Nothing was touched."""

    exit_code = 3


class HistoryWriteError(HistoryError):
    """A table could not be written; what it held before still stands. `may_pass`: the disk or the
    store is the reason, so the same may be tried again."""

    exit_code = 1

    def __init__(self, said: str, *, passes: bool = False) -> None:
        super().__init__(said)
        self._passes = passes

    @property
    def may_pass(self) -> bool:
        return self._passes or trouble(self) is not None


class StoreError(HistoryError):
    """An object store does not do what it was asked. `may_pass`: it may do so later."""

    def __init__(self, said: str, *, passes: bool = False, unreachable: bool = False) -> None:
        super().__init__(said)
        self.may_pass = passes
        if unreachable:
            self.exit_code = 5
