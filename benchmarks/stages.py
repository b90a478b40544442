"""Where `run` spends its time: CPU of each part, less that of the parts it calls.

What the clocks take is measured and taken off; the unwatched run says how well. A part is a
function that is replaced by itself with a clock around it: CALLS follows the code's names.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import common, loops
from sinks.delta import History
from streams.files import file_runner, fold_batch
from streams.files.fold_batch import Applier, RowCollector
from streams.files.sources import Source
from streams.files.store import Store
from streams.folds import memory
from streams.pipeline.processor import RecordProcessor
from streams.record_kinds import TURN, RecordKind

CALLS: tuple[tuple[str, Any, str], ...] = (
    ("decode and validate", fold_batch, "decode"),
    ("find the entity", Store, "entity"),
    ("session fold", TURN, "fold"),
    ("user fold", memory, "fold_signal"),
    ("collect rows", RowCollector, "emitted"),
    ("decide what each ends as", RecordProcessor, "_fold"),
    ("apply, the rest", Applier, "apply"),
    ("documents: sessions", Applier, "_write_session"),
    ("documents: profiles", Applier, "_write_profile"),
    ("rows to columns", file_runner, "to_arrow"),
    ("Delta appends", History, "append"),
    ("store: encode", Store, "prepare"),
    ("store: write", Store, "write"),
)
READ = "read lines"
REST = "run, the rest"
NATIVE = "threads of the libraries"


class _Frame(threading.local):
    """What ended within the part now running, in this thread: CPU seconds, and calls of parts."""

    inside = 0.0
    calls = 0


class Stopwatch:
    """CPU seconds and calls by part; a part's clock stands still while another runs inside it."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._parts: Counter[str] = Counter()  # calls of other parts by the part that made them
        self._frame = _Frame()

    def call(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with a clock around it."""
        frame, clock = self._frame, time.thread_time

        def timed(*given: Any, **named: Any) -> Any:
            outer, calls = frame.inside, frame.calls
            frame.inside, frame.calls = 0.0, 0
            began = clock()
            try:
                return function(*given, **named)
            finally:
                spent = clock() - began
                self.seconds[name] += spent - frame.inside  # type: ignore[assignment]
                self.calls[name] += 1
                self._parts[name] += frame.calls
                frame.inside, frame.calls = outer + spent, calls + 1

        return timed

    def without_clocks(self) -> dict[str, float]:
        """CPU seconds by part, less what the clocks themselves took."""
        within, around = _cost_of_a_clock()
        return {
            name: spent - self.calls[name] * within - self._parts[name] * around
            for name, spent in self.seconds.items()
        }

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
        seconds, calls = common.in_process(watched, str(file), str(folder / "watched")).answer
    total = sum(seconds.values())
    rows: list[tuple[Any, ...]] = [
        (name, f"{1e6 * spent / turns:.2f}", f"{spent / total:.1%}", calls[name] or "")
        for name, spent in sorted(seconds.items(), key=lambda one: -one[1])
    ]
    rows.append(("sum", f"{1e6 * total / turns:.1f}", "", ""))
    rows.append(("unwatched", f"{1e6 * plain.cpu / turns:.1f}", "", ""))
    title = f"stages of run: {turns:,} turns, {given.cores} core(s)"
    common.show(title, ("", "CPU µs a turn", "share", "calls"), rows)


def _cost_of_a_clock(calls: int = 100_000) -> tuple[float, float]:
    """CPU seconds that a clocked call adds to its own part, and to the part that makes it."""
    watch = Stopwatch()

    def repeated(function: Callable[[], None]) -> None:
        for _ in range(calls):
            function()

    def nothing() -> None:
        pass

    watch.call("plain", repeated)(nothing)
    watch.call("clocked", repeated)(watch.call("within", nothing))
    plain, clocked, within = (watch.seconds[name] for name in ("plain", "clocked", "within"))
    return within / calls, (clocked - plain) / calls


def watched(file: str, history: str) -> tuple[dict[str, float], Counter[str]]:
    """CPU seconds and calls by part of one run, without the threads of the libraries."""
    watch = Stopwatch()
    for name, owner, attribute in CALLS:
        put = object.__setattr__ if isinstance(owner, RecordKind) else setattr
        put(owner, attribute, watch.call(name, getattr(owner, attribute)))
    setattr(Source, "chunks", watch.iterate(READ, Source.chunks))  # noqa: B010 - as the others
    before = time.process_time()
    watch.call(REST, loops.fold)(file, history)
    watch.seconds[NATIVE] = time.process_time() - before - sum(watch.seconds.values())  # type: ignore[assignment]
    return watch.without_clocks(), watch.calls


if __name__ == "__main__":
    main()
