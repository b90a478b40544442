"""What commands print for people: on a terminal, into a pipe, and where there is nothing."""

import fcntl
import json
import os
import struct
import subprocess
import termios
from pathlib import Path

import pytest

from tests.command import PROGRAM, environment, folded, ndjson, turn, turnfold
from tests.contract.test_every_command import GROUPS

pytestmark = pytest.mark.nightly

EVERYTHING = (
    "SELECT * FROM event_current WHERE agent_answer NOT LIKE '%\n%' ORDER BY event_id LIMIT 3"
)


def on_a_terminal(*args: str | Path, columns: int) -> str:
    """What a command shows on a terminal of so many columns."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = environment()
    del env["COLUMNS"]
    command = [PROGRAM, *map(str, args)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, env=env) as running:
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 65536):
                shown += block
        except OSError:  # Linux's way to say that nobody has the other end any more
            pass
    os.close(ours)
    assert running.returncode == 0
    return shown.decode().replace("\r\n", "\n")


def test_a_table_in_a_pipe_has_a_line_a_row(sample: Path) -> None:
    done = turnfold("sql", EVERYTHING, "--history", sample, env=environment(COLUMNS="80"))
    lines = [line for line in done.out.splitlines() if line.strip()]
    columns = turnfold("sql", EVERYTHING, "--history", sample, "-o", "csv").out
    assert lines[0].split() == columns.splitlines()[0].split(",")
    rows = turnfold("sql", EVERYTHING, "--history", sample, "-o", "json").json()
    assert [line.split()[0] for line in lines[2:]] == [row["event_id"] for row in rows]


def test_a_table_too_wide_for_a_terminal_has_a_line_a_value(sample: Path) -> None:
    shown = on_a_terminal("sql", EVERYTHING, "--history", sample, columns=80)
    names = [line.split()[0] for line in shown.split("\n\n")[0].splitlines() if line[0] != " "]
    header = turnfold("sql", EVERYTHING, "--history", sample, "-o", "csv").out
    assert names == header.splitlines()[0].split(",")
    assert shown.count("event_id ") == 3


def test_a_table_that_fits_a_terminal_stays_a_table(sample: Path) -> None:
    asked = "SELECT topic, count(*) AS n FROM events GROUP BY ALL ORDER BY n DESC"
    shown = on_a_terminal("sql", asked, "--history", sample, columns=80)
    first, _, *rest = [line for line in shown.splitlines() if line.strip()]
    assert first.split() == ["topic", "n"] and all(len(line) <= 80 for line in rest)


def test_numbers_are_whole(sample: Path) -> None:
    asked = "SELECT 12345.678::DOUBLE, 1795312906.25::DOUBLE, 0.5::DOUBLE"
    shown = turnfold("sql", asked, "--history", sample).out.split()
    assert shown[-3:] == ["12345.7", "1795312906.25", "0.5"]


STEERS = "\x1b]0;mine\x07\x1b[2J hello \x9b31m"


@pytest.mark.parametrize(
    "command",
    [
        ("show", "session", "s"), ("show", "timeline", "s"),
        ("sql", "SELECT user_input FROM events"),
        ("search", "hello"),
    ],
)  # fmt: skip
def test_what_users_send_does_not_steer_the_terminal(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    file = ndjson(tmp_path / "one.ndjson", [turn("e", user_input=STEERS)])
    folded(file, history=tmp_path / "h")
    shown = turnfold(*command, "--history", tmp_path / "h").out
    assert r"hello \x9b31m" in shown
    assert not {"\x1b", "\x07", "\x9b"} & set(shown)


def test_csv_has_escapes_for_a_terminal_and_the_values_for_a_file(tmp_path: Path) -> None:
    file = ndjson(tmp_path / "one.ndjson", [turn("e", user_input=STEERS)])
    folded(file, history=tmp_path / "h")
    command = ("sql", "SELECT user_input FROM events", "--history", tmp_path / "h", "-o", "csv")
    assert r"hello \x9b31m" in on_a_terminal(*command, columns=80)
    assert STEERS in turnfold(*command).out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("show state --user nobody", "nothing was held true of nobody"),
        ("admin dlq list --reason bad_row", "no unsettled dead letters"),
        ("search zzzz", "nothing in this history is about that"),
    ],
)
def test_nothing_is_said_to_be_nothing(sample: Path, command: str, said: str) -> None:
    done = turnfold(*command.split(), "--history", sample)
    assert done.code == 0 and said in done.out + done.err


@pytest.mark.parametrize("group", GROUPS)
def test_the_help_says_all_of_what_a_command_does(group: str) -> None:
    done = turnfold(*group.split(), "--help", env=environment(COLUMNS="80"))
    usage, _, about = done.out.partition("\n")
    assert usage.endswith("[ARGS]...") and "..." not in about


def test_a_preference_shows_what_why_asks_for(sample: Path) -> None:
    """`user` prints the id, and `why` what has changed: the subject stays the same."""
    shown = turnfold("show", "user", "emma", "--history", sample).out
    (line,) = [one for one in shown.splitlines() if "bullet points" in one]
    assert line.startswith("  like (confirmed, style): short answers in bullet points  [")
    why = turnfold("why", line.split("[")[1].rstrip("]"), "--history", sample).out.splitlines()
    assert [one.strip() for one in why if "before:" in one or "after:" in one] == [
        "before: nothing",
        "after:  like (candidate): short answers in bullet points",
        "before: like (candidate): short answers in bullet points",
        "after:  like (confirmed): short answers in bullet points",
    ]


def test_a_wrong_query_is_shown_as_it_was_asked(sample: Path) -> None:
    asked = "SELECT foo FROM event_current"
    done = turnfold("sql", asked, "--history", sample)
    *_, line, caret = done.err.rstrip("\n").split("\n")
    assert line == f"LINE 1: {asked}" and caret.index("^") == line.index("foo")


def test_a_decimal_is_a_number(sample: Path) -> None:
    sql = "SELECT 1.5 AS one, 12345678901234567890.123 AS many"
    out = turnfold("sql", sql, "--history", sample, "-o", "json").out
    assert '"one": 1.5,' in out and '"many": 12345678901234567890.123' in out


def test_what_was_folded_stands_where_all_streams_are_closed(tmp_path: Path) -> None:
    file, there = ndjson(tmp_path / "one.ndjson", [turn("e")]), tmp_path / "h"
    command = f"exec {PROGRAM} run {file} --history {there} <&- >&- 2>&-"
    assert subprocess.run(command, shell=True, env=environment(), check=False).returncode == 1
    assert turnfold("show", "timeline", "s", "--history", there).out.count("  s  e\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ("show", "timeline", "s"), ("show", "session", "s"),
        ("show", "timeline", "s", "-o", "json"),
        ("sql", "SELECT * FROM events"), ("sql", "SELECT * FROM events", "-o", "json"),
        ("sql", "SELECT * FROM events", "-o", "csv"),
    ],
)  # fmt: skip
def test_characters_that_the_terminal_lacks_are_escaped_as_in_json(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    said = "café 私 💥"
    file = ndjson(tmp_path / "one.ndjson", [turn("e", user_input=said)])
    folded(file, history=tmp_path / "h")
    ascii_only = environment(PYTHONIOENCODING="ascii")
    done = turnfold(*command, "--history", tmp_path / "h", env=ascii_only)
    assert done.code == 0 and json.dumps(said)[1:-1] in done.out
    if "json" in command:
        assert said in repr(done.json())
