"""Output of commands: tables for people, JSON for programs; data goes to stdout."""

import codecs
import os
import sys
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date, datetime
from io import TextIOWrapper
from typing import Any

import msgspec

from streams import output

Value = Any
ESCAPED = "escaped"


def prepare() -> None:
    """Prepares the streams of a command, before it opens a file. Characters that stdout's encoding
    lacks are escaped as in JSON. The descriptor of a closed stream is occupied, so that no file
    gets it: writing to such a stdout raises OSError, to such a stderr is discarded.
    """
    codecs.register_error(ESCAPED, _escaped)
    if sys.stdout is None:
        sys.stdout = _instead(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _instead(2, os.O_WRONLY)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors=ESCAPED)


def _instead(number: int, flags: int) -> TextIOWrapper:
    descriptor = os.open(os.devnull, flags)
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
    return os.fdopen(number, "w", encoding="utf-8")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = (units[start : start + 2].hex() for start in range(0, len(units), 2))
    return "".join(f"\\u{unit}" for unit in pairs), error.end


def _plain(value: Any) -> str:
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "backslashreplace")
    return str(value)


_encoder = msgspec.json.Encoder(enc_hook=_plain, decimal_format="number")


def json_text(value: Value, *, indent: int = 2) -> str:
    """A value as JSON text; times are RFC 3339 in UTC."""
    text = _encoder.encode(_timed(value))
    return (msgspec.json.format(text, indent=indent) if indent else text).decode()


def _timed(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _timed(element) for key, element in value.items()}
    if isinstance(value, list | tuple):
        return [_timed(element) for element in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


def say_json(value: Value, *, indent: int = 2) -> None:
    """Writes one JSON document to stdout. Terminal control characters in texts are escaped: the
    values stay the same."""
    sys.stdout.write(json_text(value, indent=indent).translate(_JSON) + "\n")


def say_as(
    form: str, value: Value, rows: list[dict[str, Any]] | None = None, *, indent: int = 2
) -> None:
    """A value in one of three forms: `json` is one document; `ndjson` and `csv` are a line for each
    of `rows`, by default the items of a list, otherwise the value itself."""
    if form == "json":
        say_json(value, indent=indent)
        return
    if rows is None:
        rows = value if isinstance(value, list) else [value]
    if form == "ndjson":
        for row in rows:
            say_json(row, indent=0)
        return
    names = list(dict.fromkeys(name for row in rows for name in row))
    say_csv(names, ([row.get(name) for name in names] for row in rows))


def say_csv(names: Iterable[str], rows: Iterable[Iterable[Value]]) -> None:
    """A header and rows; a list or object in a cell is JSON, a missing value is empty. Only a
    terminal gets control characters as escapes: a file or program gets the values."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    readable = escape_controls if sys.stdout.isatty() else str
    writer.writerow(map(readable, names))
    writer.writerows(
        ["" if value is None else readable(_csv_cell(value)) for value in row] for row in rows
    )


def _csv_cell(value: Value) -> str:
    return json_text(value, indent=0) if isinstance(value, dict | list | tuple) else _plain(value)


def write(text: str) -> None:
    """Writes text of several lines to stdout unchanged: it must not contain control characters."""
    sys.stdout.write(text)


def say(text: str = "") -> None:
    """Writes one line to stdout."""
    sys.stdout.write(escape_controls(text) + "\n")


def counted(number: int, noun: str) -> str:
    """A count in words: `1 dead letter`, `2,000 dead letters`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _to_stderr(text: str, failed: bool) -> None:
    sys.stderr.write(("turnfold: " if failed else "") + escape_controls(text) + "\n")


_tell: Callable[[str, bool], None] = _to_stderr


def redirect_notes(tell: Callable[[str, bool], None]) -> None:
    """Redirects notes and failures from stderr to a function of text and `is_failure`."""
    global _tell
    _tell = tell


def silence_notes(silent: bool) -> None:
    """Whether to drop notes and progress bars (`turnfold -q`); failures are always written."""
    global is_quiet
    is_quiet = silent


is_quiet = False


def note(text: str) -> None:
    """Writes one line of progress or warning to stderr."""
    if not is_quiet:
        _tell(text, False)


def fail(text: str) -> None:
    """Writes one line to stderr: why the command fails."""
    _tell(text, True)


class _Controls(dict[int, str]):
    """Code point -> its character, or an escape for terminal controls: C0, C1 and bidirectional.
    `byte`: format of numbers below 256."""

    def __init__(self, byte: str) -> None:
        self._byte = byte

    def __missing__(self, code: int) -> str:
        character = chr(code)
        number = self._byte.format(code) if code < 256 else f"\\u{code:04x}"
        self[code] = text = number if _is_control(character) else character
        return text


def _is_control(character: str) -> bool:
    category = unicodedata.category(character)
    if category == "Cf":
        return unicodedata.bidirectional(character) not in ("BN", "AN", "ON")
    return category == "Cc" and character not in "\n\t"


_TEXT, _JSON = _Controls("\\x{:02x}"), _Controls("\\u{:04x}")


def escape_controls(text: str) -> str:
    """Escapes control characters: texts of chat users must not control the reader's terminal."""
    return text.translate(_TEXT)


def say_count(name: str, value: Any) -> None:
    """Writes one count of a list; seconds keep their fraction."""
    say(f"{name:>15}  {value}" if name == "seconds" else f"{name:>15}  {value:,}")


def say_counts(counts: Mapping[str, Any], form: str | None, hidden: Collection[str] = ()) -> None:
    """Writes counts, nested ones too, as a document of this form, or by line for people without
    the `hidden` ones."""
    if form:
        say_as(form, counts, indent=0)
        return
    for name, value in counts.items():
        if isinstance(value, dict):
            say_counts(value, None)
        elif name not in hidden:
            say_count(name, value)


LEAST = 16
"""Minimum width of a folded column in characters."""


def table(rows: Iterable[Mapping[str, Any]], columns: list[str]) -> None:
    """Writes rows as a table, folded to the width of a terminal; if its columns do not fit, one
    line per value."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [_width(column) for column in zip(columns, *cells, strict=True)]
    padding = 3 * len(columns)  # padding, at most
    console = Console(emoji=False)
    if not console.is_terminal:
        console = Console(width=sum(widths) + padding, emoji=False)
    elif sum(min(width, LEAST) for width in widths) + padding > console.width:
        _records(cells, columns)
        return
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in cells:
        grid.add_row(*row)
    console.print(grid, markup=False)


def _width(texts: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max(cell_len(line) for text in texts for line in text.split("\n"))


def _records(rows: Iterable[list[str]], columns: list[str]) -> None:
    room = max(map(len, columns))
    for number, row in enumerate(rows):
        if number:
            say()
        for column, text in zip(columns, row, strict=True):
            first, *more = text.split("\n")
            say(f"{column:<{room}}  {first}".rstrip())
            for line in more:
                say(" " * room + f"  {line}")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 100_000 else f"{value:.2f}"
    text = json_text(value, indent=0) if isinstance(value, dict | list) else str(value)
    return escape_controls(text)


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
