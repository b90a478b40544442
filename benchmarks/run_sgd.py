"""`run` over real turns, all folds and all tables, against a loop that only decodes and writes.

Goal: 15,000 turns/s, better 40,000, on one core; 0.35 of the bare loop's speed.
"""

from pathlib import Path
from typing import Any

from benchmarks import common, loops
from benchmarks.common import Spent, median, spread


def main() -> None:
    """Folds and bare loops in turn, each in a process of its own."""
    parser = common.arguments(__doc__)
    parser.add_argument("--turns", type=int, default=1_000_000)
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    common.pin(given.cores)
    with common.work_folder(given.work) as folder:
        file = folder / "turns.ndjson"
        turns = common.write_ndjson(file, common.sgd_records(given.turns))
        common.note(f"{turns:,} turns, {file.stat().st_size / 1e6:.0f} MB")
        pairs = [_pair(file, folder / f"{n}", turns) for n in range(given.repeat)]
        rows = [
            _row("run", [one for one, _ in pairs], turns),
            _row("bare loop", [one for _, one in pairs], turns),
        ]
    speed, cpu = (
        median([getattr(bare, of) / getattr(fold, of) for fold, bare in pairs])
        for of in ("seconds", "cpu")
    )
    head = ("", "turns/s", "spread", "turns/CPU s", "peak MB", "written MB")
    title = f"run: {turns:,} turns, {given.cores} core(s), median of {given.repeat}"
    common.show(title, head, [*rows, ("ratio", f"{speed:.2f}", "", f"{cpu:.2f}", "", "")])


def _pair(file: Path, folder: Path, turns: int) -> tuple[Spent, Spent]:
    folder.mkdir()
    history, parquet = folder / "history", folder / "events.parquet"
    fold = common.in_process(loops.fold, str(file), str(history))
    bare = common.in_process(loops.bare, str(file), str(parquet))
    assert fold.answer["applied"] == bare.answer == turns, (fold.answer, bare.answer)
    common.note(f"run {turns / fold.seconds:,.0f}/s, bare {turns / bare.seconds:,.0f}/s")
    return (
        fold._replace(answer=common.folder_size(history)),
        bare._replace(answer=common.folder_size(folder) - common.folder_size(history)),
    )


def _row(name: str, spent: list[Spent], turns: int) -> tuple[Any, ...]:
    seconds = [one.seconds for one in spent]
    return (
        name,
        f"{turns / median(seconds):,.0f}",
        spread(seconds),
        f"{turns / median(one.cpu for one in spent):,.0f}",
        f"{median(one.peak for one in spent):.0f}",
        f"{median(one.answer for one in spent):.0f}",
    )


if __name__ == "__main__":
    main()
