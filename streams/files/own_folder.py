"""A folder of this machine in which one process works for a history in an object store."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sinks import locks
from sinks.disk import trouble
from streams.errors import ConfigurationError, TurnfoldError


@contextmanager
def taken(
    folder: Path, lock: Path, refusal: ConfigurationError, about: str, setting: str
) -> Iterator[None]:
    """The folder is made, its owner's alone, and nobody else has the lock. `about`: what lies
    there; `setting` names another place for it. Raises `refusal`, TurnfoldError."""
    with ExitStack() as stack:
        try:
            for one in (folder.parent, folder):
                one.mkdir(mode=0o700, parents=True, exist_ok=True)
            stack.enter_context(locks.held(lock, refusal))
            folder.mkdir(mode=0o700, exist_ok=True)  # who had it before may have cleared it away
        except OSError as error:
            kind = ConfigurationError if trouble(error) is None else TurnfoldError
            raise kind(
                f"{folder}: {error.strerror or error}; {about}: name another folder by {setting}"
            ) from error
        yield
