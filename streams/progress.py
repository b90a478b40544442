"""A progress bar on stderr, if it is a terminal and notes are wanted."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from streams import output

Progress = Callable[[str, int, int, int], None]


@contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """Yields a callback (path, bytes read, total bytes, records), or None without a bar."""
    if output.is_quiet or not sys.stderr.isatty():
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

        def update(path: str, bytes_read: int, size: int, records: int) -> None:
            if path not in tasks:
                tasks[path] = bar.add_task(path, total=size or None, records=0)
            bar.update(tasks[path], completed=bytes_read, records=records)

        yield update
