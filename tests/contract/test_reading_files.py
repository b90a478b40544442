"""How `run` reads: files that grow, pipes, what is no file, and what it says where nothing is read.

`tests/contract/test_bad_input.py` has the bad records.
"""

import base64
import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams.files.sources import _is_torn
from tests.command import PROGRAM, environment, files_holding, folded, ndjson, rows, turn, turnfold

pytestmark = pytest.mark.nightly

LINE = (json.dumps(turn("e1", user_input="torn in the middle")) + "\n").encode()


def events(history: Path) -> list[Any]:
    return rows(history, "SELECT event_id, src_offset FROM events ORDER BY src_offset")


def letters(history: Path) -> list[Any]:
    return rows(history, "SELECT src_offset, reason FROM dead_letters ORDER BY src_offset")


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("at", [1, len(LINE) // 2, len(LINE) - 2])
def test_a_line_that_breaks_off_is_read_once_it_is_whole(
    tmp_path: Path, at: int, packed: bool
) -> None:
    file, history = tmp_path / "grows.ndjson", tmp_path / "history"
    first = (json.dumps(turn("e0")) + "\n").encode()
    pack = gzip.compress if packed else bytes
    file.write_bytes(pack(first + LINE[:at]))
    done = turnfold("run", file, "--history", history, "-o", "json")
    counts = done.json()
    assert (done.code, counts["read"], counts["dead"]) == (0, 1, 0)
    assert counts["unfinished"] == {str(file): at}
    assert f"{file}: its last line, {at} bytes so far" in done.err
    assert turnfold("run", file, "--history", history, "--strict").code == 4
    with file.open("ab") as out:
        out.write(pack(LINE[at:]))
    counts = folded(file, history=history)
    assert counts["applied"] == 1 and "unfinished" not in counts
    assert events(history) == [("e0", 1), ("e1", 2)] and letters(history) == []


def test_wherever_a_record_breaks_off_it_waits() -> None:
    """Of numbers, escapes and characters of several bytes, too."""
    text = {"a": [-1.5e-7, True, None, "\u4f60\n\u00e9\U0001f600"], "b": {}}
    for line in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
        whole = line.encode()
        assert not _is_torn(whole)
        assert [at for at in range(1, len(whole)) if not _is_torn(whole[:at])] == []
        assert [at for at in range(5, len(whole)) if _is_torn(b"{x" + whole[:at])] == []


@pytest.mark.parametrize(
    "line", ['{"a":1}]', '{"a":1},', '{"a":1};', '{"a":1} x', "nope", "turn", "12e",
             '{"a":"b\\q', '{"a":1} e', "-", '{"a":--'],
)  # fmt: skip
def test_what_can_never_be_a_record_does_not_wait(tmp_path: Path, line: str) -> None:
    (tmp_path / "end.ndjson").write_bytes(LINE + line.encode())
    counts = folded(tmp_path / "end.ndjson", history=tmp_path / "h")
    assert (counts["read"], counts["dead"]) == (2, 1)


def test_what_a_withheld_line_began_with_is_nowhere(tmp_path: Path) -> None:
    file, history = tmp_path / "grows.ndjson", tmp_path / "history"
    line = json.dumps(turn("e1", user_input="hush-hush", source="meta_request")).encode()
    at = line.index(b"hush-hush") + 9
    file.write_bytes(line[:at])
    folded(file, history=history)
    with file.open("ab") as out:
        out.write(line[at:] + b"\n")
    assert folded(file, history=history)["withheld"] == 1
    assert files_holding(history, "hush-hush") == []


def test_a_torn_line_behind_a_byte_order_mark_waits_too(tmp_path: Path) -> None:
    file, history = tmp_path / "bom.ndjson", tmp_path / "h"
    line = b"\xef\xbb\xbf" + json.dumps(turn("e1", source="meta_request")).encode() + b"\n"
    for at in (1, 2, 3, 4, len(line) // 2, len(line) - 2):
        file.write_bytes(line[:at])
        assert folded(file, history=history)["read"] == 0
    file.write_bytes(line)
    assert folded(file, history=history)["withheld"] == 1


@pytest.mark.parametrize("rest", ["", "  ", "\r"])
def test_blanks_at_the_end_move_no_line_numbers(tmp_path: Path, rest: str) -> None:
    file, history = tmp_path / "grows.ndjson", tmp_path / "history"
    file.write_bytes(LINE.rstrip(b"\n") + rest.encode())
    folded(file, history=history)
    with file.open("ab") as out:
        out.write(b"  \n" + json.dumps(turn("e2")).encode() + b"\n  ")
    folded(file, history=history)
    with file.open("ab") as out:
        out.write(b"\n" + json.dumps(turn("e3")).encode() + b"\n")
    folded(file, history=history)
    assert events(history) == [("e1", 1), ("e2", 2), ("e3", 4)]


def test_lines_keep_their_numbers_when_the_last_had_no_line_feed(tmp_path: Path) -> None:
    file, history = tmp_path / "grows.ndjson", tmp_path / "history"
    file.write_bytes(LINE.rstrip(b"\n"))
    assert folded(file, history=history)["applied"] == 1
    assert folded(file, history=history)["read"] == 0
    with file.open("ab") as out:
        out.write(b"\n" + json.dumps(turn("e2")).encode() + b"\nbroken\n")
    folded(file, history=history)
    assert events(history) == [("e1", 1), ("e2", 2)] and letters(history) == [(3, "bad_json")]


def test_a_last_line_that_is_wrong_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "wrong.ndjson").write_bytes(b"{broken")
    counts = folded(tmp_path / "wrong.ndjson", history=tmp_path / "history")
    assert (counts["read"], counts["dead"]) == (1, 1)


def test_a_byte_order_mark_before_the_first_record_is_none_of_it(tmp_path: Path) -> None:
    (tmp_path / "bom.ndjson").write_bytes(b"\xef\xbb\xbf" + LINE)
    assert folded(tmp_path / "bom.ndjson", history=tmp_path / "history")["applied"] == 1


@pytest.mark.parametrize("where", [-6, 0, 5], ids=["across", "after", "later"])
def test_a_withheld_line_too_long_to_hold_leaves_its_length_alone(
    tmp_path: Path, where: int
) -> None:
    """Its source may lie across two blocks of what is read."""
    block = 1 << 20
    begin = b'{"type": "turn", "user_input": "hush-hush '
    length = 70 * block + where
    with (tmp_path / "long.ndjson").open("wb") as out:
        out.write(begin + b"x" * (length - len(begin)) + b'", "source": meta_request')
        out.write(b"x" * block + b"\n" + LINE)
    counts = folded(tmp_path / "long.ndjson", history=tmp_path / "h")
    assert (counts["applied"], counts["dead"]) == (1, 1)
    assert rows(tmp_path / "h", "SELECT reason FROM dead_letters") == [("too_large",)]
    assert files_holding(tmp_path / "h", "hush-hush") == []


def test_a_withheld_line_in_utf16_is_kept_as_hash_and_length(tmp_path: Path) -> None:
    line = json.dumps(turn("e1", user_input="hush-hush", source="meta_request"))
    wide = f"{line}\n{line}\n".encode("utf-16")
    (tmp_path / "wide.ndjson").write_bytes(b"{}\n" + wide)  # a file of UTF-16 alone is refused
    assert folded(tmp_path / "wide.ndjson", history=tmp_path / "h")["applied"] == 0
    sql = "SELECT payload FROM dead_letters"
    kept = b"".join(payload for (payload,) in rows(tmp_path / "h", sql))
    assert b"sha256" in kept and b"h\0u\0s\0h" not in kept


def test_stdin_may_be_packed(tmp_path: Path) -> None:
    done = turnfold(
        "run", "-", "--history", tmp_path / "h", "-o", "json", input=gzip.compress(LINE)
    )
    assert done.json()["applied"] == 1


def test_what_breaks_off_in_a_pipe_is_refused_for_nobody_reads_on(tmp_path: Path) -> None:
    done = turnfold("run", "-", "--history", tmp_path / "h", "-o", "json", input=LINE[:-5])
    assert (done.json()["dead"], letters(tmp_path / "h")) == (1, [(1, "bad_json")])


def test_dead_letters_of_one_pipe_are_not_those_of_another(tmp_path: Path) -> None:
    history = tmp_path / "history"
    for text in (b"broken1\n", b"broken2\n"):
        turnfold("run", "-", "--history", history, input=text)
    ids = [
        one["id"]
        for one in turnfold("admin", "dlq", "list", "--history", history, "-o", "json").json()
    ]
    assert len(set(ids)) == 2
    shown = [
        turnfold("admin", "dlq", "show", one, "--raw", "--history", history).out for one in ids
    ]
    assert sorted(shown) == ["broken1", "broken2"]


def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [PROGRAM, "run", str(pipe), "--history", str(tmp_path / "h"), "-o", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as running:
        pipe.write_bytes(LINE)
        assert running.stdout is not None
        counts = json.loads(running.stdout.read())
    assert (running.returncode, counts["applied"]) == (0, 1)


def parquet(path: Path, *records: dict[str, Any]) -> Path:
    pq.write_table(pa.Table.from_pylist(list(records)), path)
    return path


def test_nan_in_parquet_is_refused_as_in_json(tmp_path: Path) -> None:
    good = turn("e1", metadata={"correct_rate": 0.5})
    bad = turn("e2", metadata={"correct_rate": float("nan")})
    folded(parquet(tmp_path / "nan.parquet", good, bad), history=tmp_path / "h")
    assert events(tmp_path / "h") == [("e1", 1)] and letters(tmp_path / "h") == [(2, "bad_json")]


def test_nan_beside_what_json_has_no_word_for_is_refused_too(tmp_path: Path) -> None:
    rows_ = [turn("e1", metadata={"correct_rate": float("nan"), "raw": b"\xff"}), turn("e2")]
    scores = pa.array([[("a", 0.5)], [("a", float("nan"))]], pa.map_(pa.string(), pa.float64()))
    table = pa.Table.from_pylist(rows_).append_column("scores", scores)
    pq.write_table(table, tmp_path / "nan.parquet")
    folded(tmp_path / "nan.parquet", history=tmp_path / "h")
    assert letters(tmp_path / "h") == [(1, "bad_json"), (2, "bad_json")]


def test_a_time_that_has_no_room_is_reported(tmp_path: Path) -> None:
    columns = {"type": ["turn"], "occurred_at": pa.array([2**62], pa.timestamp("us", "UTC"))}
    pq.write_table(pa.table(columns), tmp_path / "far.parquet")
    done = turnfold("run", tmp_path / "far.parquet", "--history", tmp_path / "h")
    assert done.code == 4 and "after row 0" in done.err


def test_parquet_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    file = parquet(tmp_path / "turns.PARQUET", turn("e1"))
    assert folded(file, history=tmp_path / "h")["applied"] == 1
    bare = parquet(tmp_path / "turns", turn("e2"))
    assert folded(bare, history=tmp_path / "h")["applied"] == 1
    done = turnfold("run", "-", "--history", tmp_path / "h", input=bare.read_bytes())
    assert done.code == 3 and "Parquet cannot be read from a pipe" in done.err


def test_of_damaged_parquet_what_came_before_is_kept(tmp_path: Path) -> None:
    made = [turn(f"e{n}", user_input=os.urandom(300).hex()) for n in range(2000)]
    file = tmp_path / "turns.parquet"
    pq.write_table(pa.Table.from_pylist(made), file, row_group_size=500, compression="gzip")
    content = bytearray(file.read_bytes())
    middle = len(content) * 3 // 5
    content[middle : middle + 2000] = bytes(2000)
    file.write_bytes(content)
    done = turnfold("run", file, "--history", tmp_path / "h", "-o", "json")
    assert done.code == 4 and "damaged" in done.err
    assert 500 <= done.json()["applied"] < 2000


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("run", "-", "-"), 3, "only once"),
        (("run", "a" * 300), 3, "File name too long"),
        (("sql", "SELECT 1", "--history", "hdfs://bucket/memory"), 3, "not a valid location"),
        (("run", "{file}", "--history", "hdfs://bucket/memory"), 3, "not a valid location"),
        (("sql", "SELECT 1", "--history", "s3://bucket/../memory"), 3, "a part of it is . or .."),
        (("run", "{file}", "--history", "{folder}/link"), 3, "cannot be a folder"),
        (("run", "{file}", "--history", "{file}/below"), 3, "cannot be a folder"),
        (("import", "langgraph", "{folder}"), 3, "is a folder"),
    ],
)
def test_what_cannot_be_is_reported_in_one_line(
    tmp_path: Path, args: tuple[str, ...], code: int, said: str
) -> None:
    file = ndjson(tmp_path / "turns.ndjson", [turn("e1")])
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    given = [one.format(folder=tmp_path, file=file) for one in args]
    if given[0] == "run" and "--history" not in given:
        given += ["--history", str(tmp_path / "h")]
    done = turnfold(*given, cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (code, 1) and said in done.err
    assert not (tmp_path / "h").exists() and not (tmp_path / "s3:").exists()


def test_a_name_that_is_not_utf8_is_reported(tmp_path: Path) -> None:
    file = os.fsencode(tmp_path) + b"/\xff.ndjson"
    with open(file, "wb") as out:  # noqa: PTH123 - pathlib has no name of bytes
        out.write(LINE)
    command = [os.fsencode(PROGRAM), b"run", file, b"--history", os.fsencode(tmp_path / "h")]
    done = subprocess.run(command, capture_output=True, env=environment(), check=False)
    assert done.returncode == 3 and b"its name is not UTF-8" in done.stderr


def test_a_full_disk_is_not_the_input_s_fault(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('{"messages": [{"role": "user", "content": "hello"}]}\n')
    command = f"exec {PROGRAM} import openai-chat --user u {tmp_path}/c.jsonl > /dev/full"
    done = subprocess.run(command, shell=True, capture_output=True, env=environment(), check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(b"turnfold: stdout: No space left on device; make room")


def test_a_closed_stdin_is_reported(tmp_path: Path) -> None:
    command = f"exec {PROGRAM} run - --history {tmp_path}/h <&-"
    done = subprocess.run(command, shell=True, capture_output=True, env=environment(), check=False)
    assert done.returncode == 3 and b"stdin is closed" in done.stderr


def test_a_lock_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    """As on a file system that is read-only."""
    file = ndjson(tmp_path / "turns.ndjson", [turn("e1")])
    folded(file, history=tmp_path / "h")
    (tmp_path / "h" / "turnfold.lock").unlink()
    (tmp_path / "h" / "turnfold.lock").mkdir()
    for command in (("run", file), ("admin", "compact")):
        done = turnfold(*command, "--history", tmp_path / "h")
        assert (done.code, done.err.count("\n")) == (1, 1)


def test_retention_of_no_days_keeps_all(tmp_path: Path) -> None:
    turns = [turn("e1", occurred_at="2020-01-01T00:00:00Z"), turn("e2")]
    file = ndjson(tmp_path / "turns.ndjson", turns)
    done = turnfold("run", file, "--history", tmp_path / "h", "--retention-days", "0", "-o", "json")
    assert done.json()["applied"] == 2
    assert "cooled" not in done.json()
    shown = turnfold(
        "show", "session", turns[0]["session_id"], "--history", tmp_path / "h", "-o", "json"
    )
    assert shown.json()["conversation_count"] == 2


def test_a_hint_can_be_typed_as_it_stands(tmp_path: Path) -> None:
    file, history = ndjson(tmp_path / "turns.ndjson", [turn("e1")]), tmp_path / "my memory"
    folded(file, history=history)
    said = turnfold("run", file, "--history", history).err.strip()
    assert said.endswith(f"turnfold generation create NAME --history '{history}'")
    file.write_bytes(file.read_bytes() + b"broken\n")
    said = turnfold("run", file, "--history", history).err.strip()
    assert said == f"1 dead letter: turnfold admin dlq list --history '{history}'"


@pytest.mark.parametrize("kind", ["empty", "blank", "gzip", "parquet", "stdin"])
def test_nothing_to_read_is_not_nothing_new(tmp_path: Path, kind: str) -> None:
    file, blank = tmp_path / f"none.{kind}", b"\n  \n\n"
    if kind == "parquet":
        pq.write_table(pa.table({"type": pa.array([], pa.string())}), file)
    else:
        file.write_bytes({"empty": b"", "gzip": gzip.compress(blank)}.get(kind, blank))
    read, sent = ("-", file.read_bytes()) if kind == "stdin" else (file, None)
    done = turnfold("run", read, "--history", tmp_path / "h", input=sent)
    assert (done.code, done.err) == (0, "the input holds no record\n")


def test_a_parquet_file_that_was_read_before_is_reported_as_such(tmp_path: Path) -> None:
    file = parquet(tmp_path / "one.parquet", turn("e1"), turn("e2"))
    assert "read_before" not in folded(file, history=tmp_path / "h")
    again = turnfold("run", file, "--history", tmp_path / "h", "-o", "json")
    assert again.json()["read_before"] == 2 and again.err.startswith("nothing new: ")


def test_a_conversation_that_cannot_be_imported_is_left_out_alone(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "hello"}]
    items = [
        {"session_id": "a", "messages": said},
        {"session_id": "b", "created": "soon", "messages": said},
        "none",
        {"session_id": "c", "messages": said},
    ]
    file = tmp_path / "chats.json"
    file.write_text(json.dumps(items))
    done = turnfold("import", "openai-chat", file, "--user", "ann")
    assert done.code == 4 and "2 conversations could not be imported; the rest was" in done.err
    assert "left out: item 2" in done.err and "left out: item 3" in done.err
    assert [json.loads(line)["session_id"] for line in done.out.splitlines()] == ["a", "c"]


def test_a_dead_letter_s_bytes_are_had_as_they_were(tmp_path: Path) -> None:
    line = b"\\xff\xff\\"
    (tmp_path / "bad.ndjson").write_bytes(line + b"\n")
    folded(tmp_path / "bad.ndjson", history=tmp_path / "h")
    which = f"{tmp_path}/bad.ndjson:0:1"
    done = turnfold("admin", "dlq", "show", which, "-o", "json", "--history", tmp_path / "h")
    assert base64.b64decode(done.json()["payload_base64"]) == line
    command = [PROGRAM, "admin", "dlq", "show", which, "--raw", "--history", str(tmp_path / "h")]
    assert subprocess.run(command, capture_output=True, check=True).stdout == line


def test_of_a_file_written_again_it_is_reported_that_there_are_more(tmp_path: Path) -> None:
    file, history = tmp_path / "bad.ndjson", tmp_path / "h"
    for day in ("2026-01-01", "2026-01-02"):
        wrong = turn(day, occurred_at=f"{day}T00:00:00Z", user_input=5)
        good = turn(f"good {day}", occurred_at=f"{day}T00:00:00Z")
        ndjson(file, [good, wrong])
        folded(file, history=history)
    done = turnfold("admin", "dlq", "show", f"{file}:0:2", "--history", history)
    assert "2026-01-0" in done.out and "one of 2 with this id" in done.err


def test_a_catalog_is_not_written_into_another_file(tmp_path: Path) -> None:
    file = ndjson(tmp_path / "turns.ndjson", [turn("e1")])
    folded(file, history=tmp_path / "h")
    before = file.read_bytes()
    done = turnfold("admin", "catalog", file, "--history", tmp_path / "h")
    assert done.code == 3 and "is not a DuckDB database" in done.err
    assert file.read_bytes() == before
