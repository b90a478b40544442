"""Where `run` spends its time: CPU of each part, less that of the parts it calls.

The clocks cost up to 1 µs for each call, which is why the sum is above an unwatched run's. A part
is a function that is replaced by itself with a clock around it: CALLS follows the code's names.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import common, loops
from sinks.delta import History
from streams.folds import memory, session
from streams.runtime import apply, local
from streams.runtime.apply import Applier
from streams.runtime.sources import Source
from streams.runtime.store import Store

CALLS: tuple[tuple[str, Any, str], ...] = (
    ("decode and validate", apply, "decode"),
    ("find the entity", Store, "entity"),
    ("session fold", session, "fold"),
    ("user fold", memory, "fold_signal"),
    ("collect rows", Applier, "_collect"),
    ("apply, the rest", Applier, "apply"),
    ("documents", Applier, "take_documents"),
    ("rows to columns", local, "to_arrow"),
    ("Delta appends", History, "append"),
    ("store: encode", Store, "prepare"),
    ("store: write", Store, "write"),
)
READ = "read lines"
REST = "run, the rest"
NATIVE = "threads of the libraries"


class _Frame(threading.local):
    """CPU seconds of parts that ended within the one now running, in this thread."""

    inside = 0.0


class Stopwatch:
    """CPU seconds and calls by part; a part's clock stands still while another runs inside it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: Counter[str] = Counter()
        self._frame = _Frame()

    def call(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with a clock around it."""
        frame, clock = self._frame, time.thread_time

        def timed(*given: Any, **named: Any) -> Any:
            outer, frame.inside = frame.inside, 0.0
            began = clock()
            try:
                return function(*given, **named)
            finally:
                spent = clock() - began
                self.seconds[name] = self.seconds.get(name, 0.0) + spent - frame.inside
                self.calls[name] += 1
                frame.inside = outer + spent

        return timed

    def iterate(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function that returns an iterator, with a clock around each step of it."""

        def timed(*given: Any) -> Iterator[Any]:
            step = self.call(name, function(*given).__next__)
            while True:
                try:
                    one = step()
                except StopIteration:
                    return
                yield one

        return timed


def main() -> None:
    """One run of SGD as it is, one watched."""
    parser = common.arguments(__doc__)
    parser.add_argument("--turns", type=int, default=200_000)
    parser.add_argument("--cores", type=int, default=1)
    given = parser.parse_args()
    common.pin(given.cores)
    with common.work_folder(given.work) as folder:
        file = folder / "turns.ndjson"
        turns = common.write_ndjson(file, common.sgd_records(given.turns))
        plain = common.in_process(loops.fold, str(file), str(folder / "plain"))
        seen = common.in_process(watched, str(file), str(folder / "watched"))
    seconds, calls = seen.answer
    seconds[NATIVE] = seen.cpu - sum(seconds.values())
    rows: list[tuple[Any, ...]] = [
        (name, f"{1e6 * spent / turns:.2f}", f"{spent / seen.cpu:.1%}", calls[name] or "")
        for name, spent in sorted(seconds.items(), key=lambda one: -one[1])
    ]
    rows.append(("sum", f"{1e6 * seen.cpu / turns:.1f}", "", ""))
    rows.append(("unwatched", f"{1e6 * plain.cpu / turns:.1f}", "", ""))
    title = f"stages of run: {turns:,} turns, {given.cores} core(s)"
    common.show(title, ("", "CPU µs a turn", "share", "calls"), rows)


def watched(file: str, history: str) -> tuple[dict[str, float], Counter[str]]:
    """CPU seconds and calls by part of one run, without the threads of the libraries."""
    watch = Stopwatch()
    for name, owner, attribute in CALLS:
        setattr(owner, attribute, watch.call(name, getattr(owner, attribute)))
    setattr(Source, "lines", watch.iterate(READ, Source.lines))  # noqa: B010 - as the others
    watch.call(REST, loops.fold)(file, history)
    return watch.seconds, watch.calls


if __name__ == "__main__":
    main()
