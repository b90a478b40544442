"""A file that is not what a command needs: no traceback, a path, what to do, nothing half-written.

A table of every command that reads a file × what may be wrong with one, in this process.
"""

import errno
import gzip
import os
import random
import re
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from sinks.disk import with_remedy
from streams import cli
from tests.command import turn
from tests.contract.test_bad_input import text

RECORD = text(turn("e1")) + b"\n"
NOISE = random.Random(37).randbytes(3_000)
Content = bytes | None


def parquet() -> bytes:
    """A row in Parquet."""
    written = BytesIO()
    pq.write_table(pa.Table.from_pylist([turn("e1")]), written)
    return written.getvalue()


FILES: dict[str, Content] = {
    "absent.ndjson": None, "binary.ndjson": NOISE, "noise.gz": b"\x01" + NOISE, "plain.gz": RECORD,
    "cut.gz": gzip.compress(RECORD * 9 + NOISE)[:-40],
    "utf-16.ndjson": RECORD.decode().encode("utf-16"),
    "utf-16-le.ndjson": RECORD.decode().encode("utf-16-le"),
    "utf-16-be.gz": gzip.compress(RECORD.decode().encode("utf-16-be")), "plain.parquet": RECORD,
    "cut.parquet": parquet()[:-40],
}  # fmt: skip
"""Name -> content; None: no such file. A folder is among them, too."""
MAPPING = """
version: 1
sources:
  lines:
    records:
      - type: turn
        fields: {event_id: id, session_id: session, occurred_at: at}
"""
"""Of `map.yaml`, which lies beside the new history."""
DAMAGED = ("cut.gz", "cut.parquet")
"""What comes before the damage is used."""
AWAY = "127.0.0.1:1"
"""No broker: a file is checked before one is asked for."""
IMPORTED = ("turnfold", "openai-chat", "chatgpt-export", "mem0", "zep", "langgraph")


def mapping(new: str) -> str:
    return str(Path(new).with_name("map.yaml"))


READERS: dict[str, Callable[[str, str], list[str]]] = {
    "run": lambda file, new: ["run", file, "--history", new],
    "run --mapping": lambda file, new: ["run", file, "--mapping", mapping(new), "--history", new],
    "admin config": lambda file, new: ["--config", file, "admin", "config"],
    "admin keys list": lambda file, new: ["admin", "keys", "list", "--keys", file],
    "sql": lambda file, new: ["sql", "SELECT 1", "--history", file],
    "produce": lambda file, new: ["kafka", "produce", file, "--bootstrap", AWAY],
    "map": lambda file, new: ["kafka", "map", file],
    "map --sample": lambda file, new: ["kafka", "map", mapping(new), "--sample", file],
    "worker --mapping": lambda file, new: [
        "kafka", "worker", "--mapping", file, "--bootstrap", AWAY
    ],
    "dlq replay --mapping": lambda file, new: [
        "admin", "dlq", "replay", "--from-topic", "--mapping", file, "--bootstrap", AWAY
    ],
    "mapping of run": lambda file, new: ["run", "-", "--mapping", file, "--history", new],
    "evaluate": lambda file, new: ["admin", "evaluate", file],
    "admin size": lambda file, new: ["admin", "size", "--sample", file],
    "serve --keys": lambda file, new: ["serve", "--keys", file, "--history", new, "--port", "0"],
}  # fmt: skip
COMMANDS = (*READERS, *(f"import {name}" for name in IMPORTED))
NEXT_STEP = re.compile(r"; \w|turnfold \w+|\(docs/|a folder of its own")
"""What tells that a message says what to do."""


@pytest.fixture
def bad(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "bad"
    folder.mkdir()
    (folder / "folder").mkdir()
    (tmp_path / "map.yaml").write_text(MAPPING)
    for name, content in FILES.items():
        if content is not None:
            (folder / name).write_bytes(content)
    yield folder


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", [*FILES, "folder"])
def test_a_bad_file_is_named_with_what_to_do(command: str, name: str, bad: Path) -> None:
    file, new = bad / name, bad.parent / "new"
    before = sorted(bad.rglob("*"))
    reader = READERS.get(command)
    words = [*command.split(), str(file)] if reader is None else reader(str(file), str(new))
    done = CliRunner().invoke(cli.app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    last = done.stderr.rstrip().splitlines()[-1]
    assert last.startswith("turnfold: "), last
    if command == "produce" and name in DAMAGED:
        assert done.exit_code == 5, "what can be read is to be sent (tests/kafka/test_produce.py)"
        return
    assert done.exit_code in (3, 4), (done.exit_code, done.stderr)
    assert str(file) in last, last
    assert NEXT_STEP.search(last), last
    assert sorted(bad.rglob("*")) == before
    assert not new.exists() or name in DAMAGED


@pytest.mark.parametrize(
    "number",
    ["ENOSPC", "EDQUOT", "EIO", "EROFS", "EFBIG", "EACCES", "EPERM", "ENOENT", "EISDIR", "ENOTDIR"],
)
def test_the_system_s_words_are_followed_by_what_to_do(number: str) -> None:
    words = os.strerror(getattr(errno, number))
    for message in (f"/x/y: {words}", f"events: {words.lower()}", f"{words} (IOException)"):
        assert with_remedy(message).startswith(f"{message}; "), message
    told = f"/x/y: {words}; make room for it"
    assert with_remedy(told) == told


@pytest.mark.parametrize("port", ["22x", "", "8.0"])
def test_a_number_that_is_none_is_told_its_bounds(port: str) -> None:
    done = CliRunner().invoke(cli.app, ["serve", "--port", port])
    assert done.exit_code == 2
    assert "is not a whole number; give one from 0 to 65535" in done.stderr


def test_a_file_with_one_bad_record_is_read(tmp_path: Path) -> None:
    """Bytes that are no text are a dead letter, where there are records, too."""
    file = tmp_path / "mixed.ndjson"
    file.write_bytes(b"\x00\x01\xff\n" + RECORD)
    done = CliRunner().invoke(cli.app, ["run", str(file), "--history", str(tmp_path / "new")])
    assert (done.exit_code, "1 dead letter" in done.stderr) == (0, True), done.stderr
