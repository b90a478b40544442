"""A progress bar on stderr, where stderr is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int, int], None]


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """Yields what the file runner calls with (path, bytes read, bytes in all, records)."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[records]:,} records"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def update(path: str, done: int, size: int, records: int) -> None:
            if path not in tasks:
                tasks[path] = bar.add_task(path, total=size or None, records=0)
            bar.update(tasks[path], completed=done, records=records)

        yield update
