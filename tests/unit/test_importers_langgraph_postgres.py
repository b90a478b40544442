"""`langgraph-postgres`: threads that a real PostgresSaver wrote into a real PostgreSQL."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.postgres import PostgresSaver

from schemas.events import RECORD_TYPES
from schemas.upcast import upcast
from streams.importers.base import ImportDefaults, ImportFault, Skipped
from streams.importers.convert import convert

CALL = {"name": "price", "args": {"sku": "A1"}, "id": "c1"}
MESSAGES: list[BaseMessage] = [
    HumanMessage("What does A1 cost?", id="m1"),
    AIMessage("", tool_calls=[CALL], id="m2"),
    ToolMessage("12 €", tool_call_id="c1", id="m3"),
    AIMessage("It costs 12 €.", id="m4"),
]


pytestmark = [pytest.mark.component, pytest.mark.needs("postgresql")]


def _programs() -> Path:
    """Where `postgres` is: on the PATH, or where Debian puts it."""
    found = shutil.which("postgres") or next(
        map(str, Path("/usr/lib/postgresql").glob("*/bin/postgres")), None
    )
    assert found, "this test needs PostgreSQL: Debian has it in the package `postgresql`"
    return Path(found).resolve().parent


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The connection string of a PostgreSQL that answers on a socket of its own, up to a database's
    name."""
    programs = _programs()
    owner: dict[str, Any] = {"user": "postgres"} if os.geteuid() == 0 else {}  # it refuses root
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        if owner:
            shutil.chown(folder, **owner)
        data = Path(folder, "data")
        calm: dict[str, Any] = {
            "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **owner,
        }  # fmt: skip
        made = [str(programs / "initdb"), "-D", str(data), "-U", "ann", "-A", "trust", "-N"]
        subprocess.run(made, check=True, **calm)
        run = [str(programs / "pg_ctl"), "-D", str(data), "-w", "-t", "120"]
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        subprocess.run([*run, "-o", options, "start"], check=True, **calm)
        try:
            yield f"host={folder} user=ann dbname="
        finally:
            subprocess.run([*run, "-m", "immediate", "stop"], check=True, **calm)


@pytest.fixture
def database(cluster: str, request: pytest.FixtureRequest) -> str:
    """The connection string of an empty database."""
    name = f"d{abs(hash(request.node.name))}"
    with psycopg.connect(f"{cluster}postgres", autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}"')
    return f"{cluster}{name}"


@pytest.fixture
def saver(database: str) -> Iterator[PostgresSaver]:
    with PostgresSaver.from_conn_string(database) as made:
        made.setup()
        yield made


def put(
    saver: PostgresSaver,
    thread: str,
    minute: int,
    values: dict[str, Any],
    namespace: str = "",
    **said: str,
) -> None:
    """A checkpoint of a thread, taken at this minute."""
    checkpoint = empty_checkpoint()
    checkpoint["ts"] = f"2026-01-31T09:{minute:02}:00+00:00"
    checkpoint["channel_values"] = values
    versions: Any = dict.fromkeys(values, f"{minute:032}.0")
    checkpoint["channel_versions"] = versions
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
    told: Any = {"source": "loop", "step": minute, **said}
    saver.put(config, checkpoint, told, versions)


def read(
    database: str,
    folder: Path,
    skipped: Skipped | None = None,
    defaults: ImportDefaults | None = None,
) -> list[dict[str, Any]]:
    file = folder / "connection"
    file.write_text(f"{database}\n")
    found = list(convert("langgraph-postgres", file, skipped, defaults or ImportDefaults()))
    for record in found:
        model = RECORD_TYPES[record["type"]].model_validate(upcast(dict(record)))
        assert model.model_extra == {}
    return found


def test_a_thread_is_a_session_with_the_times_of_its_checkpoints(
    saver: PostgresSaver, database: str, tmp_path: Path
) -> None:
    for minute in range(1, 5):
        put(saver, "t-1", minute, {"messages": MESSAGES[:minute]}, user_id="u")
    turn, called, result, answered = read(database, tmp_path)
    assert (turn["session_id"], turn["user_id"]) == ("t-1", "u")
    assert (turn["user_input"], turn["agent_answer"]) == ("What does A1 cost?", "It costs 12 €.")
    assert called["action"]["output"]["tool_calls"][0]["id"] == result["tool_call_id"] == "c1"
    assert answered["action"]["action_type"] == "ANSWER"
    assert [one["occurred_at"][11:16] for one in (turn, called, result, answered)] == [
        "09:01", "09:02", "09:03", "09:04",
    ]  # fmt: skip


def test_threads_come_oldest_first_without_subgraphs_and_each_has_a_user(
    saver: PostgresSaver, database: str, tmp_path: Path
) -> None:
    put(saver, "b", 1, {"messages": MESSAGES[:1]})
    put(saver, "a", 2, {"messages": MESSAGES[:1]}, user_id="u")
    put(saver, "b", 3, {"messages": MESSAGES})
    put(saver, "a", 4, {"messages": MESSAGES}, namespace="child:1")
    put(saver, "c", 5, {"counter": 3})
    skipped = Skipped()
    turns = [
        one
        for one in read(database, tmp_path, skipped, ImportDefaults("ann"))
        if one["type"] == "turn"
    ]
    assert [(one["session_id"], one["user_id"]) for one in turns] == [("b", "ann"), ("a", "u")]
    assert skipped == {"thread without a messages channel": 1}


def test_importing_again_gives_the_same_records_and_writes_nothing(
    saver: PostgresSaver, database: str, tmp_path: Path
) -> None:
    put(saver, "t", 1, {"messages": MESSAGES}, user_id="u")
    with psycopg.connect(database) as db:
        before = db.execute("SELECT count(*) FROM checkpoints").fetchone()
        assert read(database, tmp_path) == read(database, tmp_path) != []
        assert db.execute("SELECT count(*) FROM checkpoints").fetchone() == before


def test_a_database_of_something_else_and_one_that_is_away_are_refused(
    database: str, tmp_path: Path
) -> None:
    with pytest.raises(ImportFault, match="no table `checkpoints`"):
        read(database, tmp_path)
    with pytest.raises(ImportFault, match="PostgreSQL: connection"):
        read(f"host={tmp_path} dbname=x", tmp_path)
    with pytest.raises(ImportFault, match="PostgreSQL: missing"):
        read("no connection string", tmp_path)
