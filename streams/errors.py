"""Errors that end a command, and their exit codes (docs/operations.md, "Exit codes").

TurnfoldError          1  failed
├── UsageError          2  the command line is wrong
├── ConfigurationError  3  a folder, file or setting is invalid
├── DataRefused         4  data was rejected, or generations differ
└── Unreachable         5  a dependency cannot be reached
"""


class TurnfoldError(Exception):
    """Message to the user in one line: the problem, its place, and the remedy."""

    exit_code = 1


class UsageError(TurnfoldError):
    """The command line is wrong."""

    exit_code = 2


class ConfigurationError(TurnfoldError):
    """A folder, file or setting is invalid."""

    exit_code = 3


class DataRefused(TurnfoldError):  # noqa: N818 - what happened to the data
    """Data was rejected, or generations differ."""

    exit_code = 4


class Unreachable(TurnfoldError):  # noqa: N818 - what the dependency is
    """A dependency cannot be reached."""

    exit_code = 5
