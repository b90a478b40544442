"""How a command says what it found: for people a table, for programs JSON; data on stdout."""

import codecs
import os
import sys
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from io import TextIOWrapper
from typing import Any

import msgspec

Value = Any
ESCAPED = "escaped"


def prepare() -> None:
    """For a command, once, before it opens a file. Characters that stdout's encoding lacks are
    written as JSON writes them. Where a stream was closed, its number is taken, so that no file of
    ours gets it: what is written to such a stdout fails as OSError, to such a stderr goes nowhere.
    """
    codecs.register_error(ESCAPED, _escaped)
    if sys.stdout is None:
        sys.stdout = _instead(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _instead(2, os.O_WRONLY)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors=ESCAPED)


def _instead(number: int, flags: int) -> TextIOWrapper:
    opened = os.open(os.devnull, flags)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return os.fdopen(number, "w", encoding="utf-8")


def _escaped(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2].hex() for at in range(0, len(units), 2))
    return "".join(f"\\u{unit}" for unit in pairs), error.end


def _plain(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return value.decode("utf-8", "backslashreplace")
    return str(value)


_encoder = msgspec.json.Encoder(enc_hook=_plain, decimal_format="number")


def json_text(value: Value, *, indent: int = 2) -> str:
    """Any value as JSON; times are RFC 3339 in UTC."""
    text = _encoder.encode(_timed(value))
    return (msgspec.json.format(text, indent=indent) if indent else text).decode()


def _timed(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _timed(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_timed(one) for one in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


def say_json(value: Value, *, indent: int = 2) -> None:
    """One JSON document on stdout. What steers a terminal stands only in its texts, and is escaped
    there: the values are the same."""
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
    """A header and rows; a list or object in a cell is JSON, a missing value is empty."""
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_csv_cell(value) for value in row] for row in rows)


def _csv_cell(value: Value) -> Value:
    return json_text(value, indent=0) if isinstance(value, dict | list | tuple) else value


def write(text: str) -> None:
    """Text of several lines on stdout, as it is: it holds nothing that could steer a terminal."""
    sys.stdout.write(text)


def say(text: str = "") -> None:
    """One line on stdout."""
    sys.stdout.write(harmless(text) + "\n")


def _to_stderr(text: str, failed: bool) -> None:
    sys.stderr.write(("turnfold: " if failed else "") + harmless(text) + "\n")


_tell: Callable[[str, bool], None] = _to_stderr


def tell_by(tell: Callable[[str, bool], None]) -> None:
    """Notes and failures go there instead of stderr: the text, and whether it is a failure."""
    global _tell
    _tell = tell


def note(text: str) -> None:
    """One line of progress or warning on stderr."""
    _tell(text, False)


def fail(text: str) -> None:
    """One line on stderr: why the command fails."""
    _tell(text, True)


class _Controls(dict[int, str]):
    """Code point -> itself, or its number for what steers a terminal: C0, C1 and bidirectional
    controls. `byte`: how numbers below 256 are written."""

    def __init__(self, byte: str) -> None:
        self._byte = byte

    def __missing__(self, code: int) -> str:
        one = chr(code)
        number = self._byte.format(code) if code < 256 else f"\\u{code:04x}"
        self[code] = shown = number if _is_control(one) else one
        return shown


def _is_control(one: str) -> bool:
    category = unicodedata.category(one)
    if category == "Cf":
        return unicodedata.bidirectional(one) not in ("BN", "AN", "ON")
    return category == "Cc" and one not in "\n\t"


_TEXT, _JSON = _Controls("\\x{:02x}"), _Controls("\\u{:04x}")


def harmless(text: str) -> str:
    """The text with its control characters spelt out: what chat users send is not to steer the
    terminal of who reads it."""
    return text.translate(_TEXT)


def say_count(name: str, value: Any) -> None:
    """One count under the others; seconds keep their fraction."""
    say(f"{name:>15}  {value}" if name == "seconds" else f"{name:>15}  {value:,}")


LEAST = 16
"""Characters of a column that is folded."""


def table(rows: Iterable[Mapping[str, Any]], columns: list[str]) -> None:
    """Rows for people: a table as wide as it needs to be, folded to the width of a terminal; where
    that leaves its columns no room, a line for each value."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [_width(column) for column in zip(columns, *cells, strict=True)]
    apart = 3 * len(columns)  # blanks beside them, at most
    console = Console(emoji=False)
    if not console.is_terminal:
        console = Console(width=sum(widths) + apart, emoji=False)
    elif sum(min(width, LEAST) for width in widths) + apart > console.width:
        _records(cells, columns)
        return
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        shown.add_column(column, overflow="fold")
    for row in cells:
        shown.add_row(*row)
    console.print(shown, markup=False)


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
    return harmless(text)
