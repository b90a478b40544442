"""What `turnfold serve` answers from: files alone, or workers' tables with a sink's history."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from streams.files.open_generation import locked
from tests.command import turnfold
from tests.kafka.working import one_worker


class Tier(NamedTuple):
    """`options` are of `serve`; `settle` returns when the history has all that was answered;
    the server may be busy for a moment after it."""

    options: list[str]
    settle: Callable[[], None]


@contextmanager
def files(folder: Path) -> Iterator[Tier]:
    """A history on this machine, which the server writes; who borrows its lock finds all that was
    posted in it."""

    def settle() -> None:
        with locked(folder / "memory", borrow=True):
            pass

    yield Tier([f"--history={folder / 'memory'}"], settle)


@contextmanager
def kafka(folder: Path) -> Iterator[Tier]:
    """A worker, and a history that a sink writes when it is told to."""
    with one_worker(folder) as working:
        reached = working.at
        history = f"--history={folder / 'memory'}"

        def settle() -> None:
            working.await_done()
            sink = turnfold("kafka", "sink", *reached, history, "--once")
            assert sink.code == 0, sink.err

        settle()
        yield Tier([*reached, history], settle)


TIERS: dict[str, Callable[[Path], AbstractContextManager[Tier]]] = {"files": files, "kafka": kafka}
