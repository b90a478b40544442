"""What a commit costs a table that has had many: with handles opened anew, and with one kept.

Events of SGD, 200 a commit; the bare loop writes the same rows as Parquet files.
"""

import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from benchmarks import common
from sinks import delta
from streams.files import local

ROWS = 200
TABLE, APP = "events", "benchmark"
KEPT = 2**31


def main() -> None:
    """Each way in a process of its own; a row for each stretch of commits."""
    parser = common.arguments(__doc__)
    parser.add_argument("--commits", type=int, default=1_600)
    parser.add_argument("--stretches", type=int, default=8)
    given = parser.parse_args()
    common.pin(1)
    each = given.commits // given.stretches
    with common.work_folder(given.work) as folder:
        common.write_ndjson(folder / "turns.ndjson", common.sgd_records(20_000))
        local.run([str(folder / "turns.ndjson")], str(folder / "source"))
        ways = [("anew", delta.OPEN_FOR), ("kept", KEPT)]
        costs = [
            common.in_process(committed, str(folder), name, opened_for, given.stretches, each)
            for name, opened_for in ways
        ]
        costs.append(common.in_process(written, str(folder), given.stretches, each))
    head = ("commits", *(f"{name}, CPU ms" for name, _ in ways), "bare Parquet", "anew / kept")
    rows = [
        (f"{(n + 1) * each:,}", *(f"{cost:.1f}" for cost in some), f"{some[0] / some[1]:.2f}")
        for n, some in enumerate(zip(*(cost.answer for cost in costs), strict=True))
    ]
    common.show(f"appends to {TABLE}: {ROWS} rows each, 1 core, mean of a stretch", head, rows)


def committed(folder: str, name: str, opened_for: int, stretches: int, each: int) -> list[float]:
    """CPU ms of an append, by stretches."""
    delta.OPEN_FOR = opened_for
    batches, versions = _batches(Path(folder)), count(1)
    with delta.History(Path(folder) / name) as history:

        def append() -> None:
            assert history.append(TABLE, next(batches), APP, next(versions))

        return _by_stretches(append, stretches, each)


def written(folder: str, stretches: int, each: int) -> list[float]:
    """The bare loop: CPU ms of a Parquet file."""
    batches, file = _batches(Path(folder)), Path(folder) / "bare.parquet"

    def write() -> None:
        pq.write_table(next(batches), file, compression="zstd")

    return _by_stretches(write, stretches, each)


def _by_stretches(act: Callable[[], None], stretches: int, each: int) -> list[float]:
    """CPU ms of one act, the mean of each stretch."""
    costs = []
    for _ in range(stretches):
        began = time.process_time()
        for _ in range(each):
            act()
        costs.append((time.process_time() - began) / each * 1e3)
    return costs


def _batches(folder: Path) -> Iterator[pa.Table]:
    """Rows of the history, again and again."""
    rows = DeltaTable(folder / "source" / TABLE).to_pyarrow_table()
    while True:
        for start in range(0, rows.num_rows - ROWS + 1, ROWS):
            yield rows.slice(start, ROWS)


if __name__ == "__main__":
    main()
