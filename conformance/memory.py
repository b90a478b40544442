"""What the runner calls of a memory: four methods, which an adapter has."""

from typing import NamedTuple, Protocol

from conformance.oracle import Record


class NotExpressibleError(Exception):
    """The memory has no operation for a record, or none that answers a question."""


class Origin(NamedTuple):
    """Where a value is from: the record that says it, and when the memory learned that, by the
    memory's own clock."""

    record: str
    learned_at: str


class Memory(Protocol):
    """A memory that is tested. Times are RFC 3339 texts; `known_at` is a time of `add`."""

    def reset(self) -> None:
        """Forgets everything."""

    def add(self, history: str, record: Record) -> str:
        """Adds a record to a history, such as a user. Returns when the memory has learned it:
        `learned_at`, or a time of a clock that it cannot be told. Raises NotExpressibleError."""

    def ask(self, history: str, fact: str, as_of: str, known_at: str) -> str | None:
        """A fact's value at `as_of`, as known at `known_at`. Raises NotExpressibleError."""

    def why(self, history: str, fact: str, as_of: str, known_at: str) -> Origin | None:
        """Where that value is from; None without a value. Raises NotExpressibleError."""


def of_now(record: Record) -> bool:
    """Whether a store of present values can take a record: its value is the present one from now on
    until another is written."""
    is_value = record["op"] in ("state", "end") and "to" not in record
    return is_value and bool(record["from"] <= record["learned_at"])
