"""A second `forget` finds what sinks have read since, though it does not say whose it is."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from sinks import erased_ids, maintenance
from sinks.digest import digest
from sinks.generation import folder_of
from sinks.history import connect
from sinks.history_root import HistoryWriteError
from sinks.locations import Location
from sinks.sink_history import Piece, SharedHistory
from streams.apps.compact_and_forget import forget
from streams.files.manifest import Settings
from streams.generations.rebuild import backfill
from tests.acceptance.test_guarantees import ALICE, Record, alice_alone, company
from tests.command import files_holding, turn
from tests.object_store.sunk import CAROL, Pieces, read, sink
from tests.tiers import soaked
from tests.unit.test_shared_history import OWNER

pytestmark = pytest.mark.nightly

MARK = "quagga"
"""In all that is Carol's."""
OTHERS = ("ibex of bob", "ibex of alice", "ibex tool output", "ibex letter")
AT = "2026-01-02T00:{:02}:00Z"


def task(session: str, name: str, mark: str, minute: int) -> list[Record]:
    """What an agent did for a turn; it names no user."""
    at = {"session_id": session, "task_id": name, "trace_id": f"{name}-r"}
    call = {"id": "c1", "name": "look"}
    return [
        {
            "type": "recursion", **at, "occurred_at": AT.format(minute), "iteration_index": 1,
            "thought": f"{mark} thought",
            "action": {"action_type": "CALL_TOOL", "output": {"tool_calls": [call]}},
        },
        {
            "type": "tool_result", **at, "occurred_at": AT.format(minute + 1),
            "tool_call_id": "c1", "result": f"{mark} tool output", "success": True,
        },
    ]  # fmt: skip


def memory(name: str, mark: str) -> dict[str, Any]:
    """What a turn gives the memory of its session."""
    return {
        "observations": [
            {"type": "decision", "decision": f"{mark} decision", "rationale": "so",
             "source": "user"}
        ],
        "session_memory_delta": {
            "add": [{"id": name, "type": "background", "content": f"{mark} memory"}]
        },
    }  # fmt: skip


def records() -> list[Record]:
    """Carol with Bob and Alice in `group`, alone in `carols`, and what is others' alone."""
    more = [
        turn("k1", session_id="group", user_id=CAROL, task_id="k-t", user_input=f"{MARK} asks",
             topic=f"{MARK} topic", occurred_at=AT.format(1), **memory("k", MARK)),
        *task("group", "k-t", MARK, 2),
        turn("k2", session_id="group", user_id="bob", task_id="b-t", user_input=OTHERS[0],
             occurred_at=AT.format(5), **memory("b", "ibex")),
        *task("group", "b-t", "ibex", 6),
        turn("k3", session_id="group", user_id=CAROL, user_input=f"{MARK} again", topic="fish",
             occurred_at=AT.format(9)),
        turn("k4", session_id="group", user_id=ALICE, user_input=OTHERS[1], topic="fish",
             occurred_at=AT.format(10)),
        plan("pc", "group", "k1", CAROL, MARK),
        plan("pk", "group", "k1", "bob", "ibex"),
        turn("c1", session_id="carols", user_id=CAROL, task_id="c-t", user_input=f"{MARK} alone",
             **memory("c", MARK)),
        *task("carols", "c-t", MARK, 3),
        turn("c2", session_id="carols", user_id=None, user_input=f"{MARK} not signed in",
             occurred_at=AT.format(12)),
        letter(event_id="k1", session_id="group", text=f"{MARK} letter"),
        letter(task_id="k-t", session_id="group", text=f"{MARK} letter of a task"),
        letter(event_id="k2", session_id="group", text=OTHERS[3]),
        turn("x1", tenant="elsewhere", session_id="group", user_id=CAROL, user_input="elsewhere"),
    ]  # fmt: skip
    return [*alice_alone(), *company(), *more]


def letter(**said: Any) -> Record:
    """A record that is refused, and names no user."""
    return {"type": "turn", "user_input": ["no text"], **said}


def plan(name: str, session: str, event: str, user_id: str, mark: str) -> Record:
    """Bob's, too, is of something that Carol said."""
    return {
        "type": "write_plan", "plan_id": name, "user_id": user_id,
        "session_id": session, "event_id": event, "occurred_at": AT.format(20),
        "extractor": {"name": "test"},
        "state_updates": [{"kind": "fact", "state_id": f"f-{name}", "body_text": f"{mark} fact"}],
        "context_updates": {
            "threads": [{"thread_key": f"{mark}-thread", "event_id": event}],
            "links": [{"from_event_id": "k4", "to_event_id": event, "label": "same_topic"}],
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Pieces:
    return read(records(), tmp_path_factory.mktemp("records"))


REST, EVERYTHING = "all but events", "everything"
TABLES = ("sessions", "tasks", "recursions", "tool_results", "revisions", "links", "threads",
          "plans", "dead_letters")  # fmt: skip
"""Those with rows that do not say whose they are."""


def late_of(name: str, pieces: Pieces) -> Collection[str]:
    """The tables whose rows come after the first `forget`."""
    if name in TABLES:
        return [name]
    return [one for one in pieces if name == EVERYTHING or one != "events"]


def split(pieces: Pieces, late: Collection[str]) -> tuple[Pieces, Pieces]:
    """What comes before, and what comes late, as from another partition."""
    return (
        {name: some for name, some in pieces.items() if name not in late},
        {name: [one._replace(app_id="late") for one in pieces[name]] for name in late},
    )


def sunk_late(root: Location, late: Pieces) -> None:
    with SharedHistory(root, OWNER) as history:
        history.write(late, {"late": 1_000}, {})


@pytest.fixture(scope="module")
def in_time(pieces: Pieces, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The digest of a history into which all came before `forget`."""
    root = tmp_path_factory.mktemp("in-time") / "h"
    sink(root, pieces)
    assert files_holding(root, MARK)
    forget(root, "default", CAROL)
    assert files_holding(root, MARK) == []
    assert all(files_holding(root, mark) for mark in OTHERS)
    return digest(root)


@pytest.mark.nightly
@pytest.mark.parametrize("name", soaked([EVERYTHING, REST, *TABLES], 2))
def test_guarantee_8_what_comes_late_goes_with_the_second_call(
    name: str, pieces: Pieces, in_time: dict[str, Any], tmp_path: Path
) -> None:
    """Of each table; of others no row, theirs that come late neither."""
    root = tmp_path / "h"
    early, late = split(pieces, late_of(name, pieces))
    sink(root, early)
    forget(root, "default", CAROL)
    assert files_holding(root, MARK) == []
    sunk_late(root, late)
    forget(root, "default", CAROL)
    assert files_holding(root, MARK) == []
    assert digest(root) == in_time
    receipt = forget(root, "default", CAROL)
    assert {one["erased"] for one in receipt["tables"].values()} <= {0}
    assert digest(root) == in_time


@pytest.mark.nightly
def test_guarantee_8_a_call_that_was_killed_before_it_erased_has_noted_what(
    pieces: Pieces, in_time: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call is killed once, between its note and the first table."""
    root = tmp_path / "h"
    early, late = split(pieces, late_of(REST, pieces))

    def killed(*given: Any) -> None:
        raise KeyboardInterrupt

    for given in (early, late):
        sink(root, early) if given is early else sunk_late(root, late)
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(maintenance, "forget", killed)
            forget(root, "default", CAROL)
        forget(root, "default", CAROL)
    assert files_holding(root, MARK) == []
    assert digest(root) == in_time


@pytest.mark.nightly
def test_guarantee_8_a_generation_made_of_what_came_late_is_without_it(
    pieces: Pieces, in_time: dict[str, Any], tmp_path: Path
) -> None:
    """Nothing was noted there: what is noted in the others counts."""
    root = tmp_path / "h"
    early, late = split(pieces, ["recursions", "tool_results"])
    sink(root, early)
    forget(root, "default", CAROL)
    sunk_late(root, late)
    backfill(root, "plain", Settings(extractor="none"))
    assert files_holding(root / "generations" / "plain", MARK)
    forget(root, "default", CAROL)
    assert files_holding(root, MARK) == []
    assert digest(root) == in_time


@pytest.mark.parametrize("read_first", ["k1", "k3"])
def test_guarantee_8_what_others_said_in_a_session_stays_though_it_was_read_later(
    read_first: str, pieces: Pieces, tmp_path: Path
) -> None:
    """When Carol was forgotten, a sink had read her turn alone: the session seemed hers."""
    root = tmp_path / "h"
    (events,) = pieces["events"]
    names = events.rows["event_id"].to_pylist()

    def some(app_id: str, *, first: bool) -> Piece:
        places = [at for at, name in enumerate(names) if (name == read_first) == first]
        return Piece(app_id, places, events.rows.take(places))

    sink(root, {"events": [some("a", first=True)]})
    forget(root, "default", CAROL)
    sunk_late(root, {**split(pieces, list(pieces))[1], "events": [some("late", first=False)]})
    forget(root, "default", CAROL)
    assert files_holding(root, MARK) == []
    assert all(files_holding(root, mark) for mark in OTHERS[:2])
    with connect(root) as db:
        left = "SELECT event_id FROM events WHERE user_id IS NOT NULL ORDER BY ALL"
        theirs = {name for (name,) in db.execute(left).fetchall()}
    assert {"k2", "k4"} <= theirs and not {"k1", "k3", "c1"} & theirs


def test_guarantee_8_a_generation_that_sinks_make_later_is_without_who_was_forgotten(
    pieces: Pieces, tmp_path: Path
) -> None:
    """The topics still have their records; what names nobody goes with the second call."""
    root = tmp_path / "h"
    sink(root, pieces)
    forget(root, "default", CAROL)
    new = folder_of(root, "new")
    sink(new, pieces)
    with connect(new, tenant="default") as db:
        left = "SELECT DISTINCT user_id FROM events UNION SELECT user_id FROM signals"
        assert (CAROL,) not in db.execute(left).fetchall()
        assert db.execute("SELECT * FROM events WHERE session_id = 'carols'").fetchall() == []
    forget(root, "default", CAROL)
    assert files_holding(root, MARK) == []
    assert all(files_holding(new, mark) for mark in OTHERS[:2])


def test_guarantee_8_a_sink_that_cannot_note_whom_it_leaves_out_writes_nothing(
    tmp_path: Path,
) -> None:
    """It has the events once, and what follows them may name no user."""
    root = tmp_path / "h"
    SharedHistory(root, OWNER).close()
    forget(root, "default", "u")
    (tmp_path / "made").mkdir()
    late = read([turn("e1"), turn("e2", user_id="bob")], tmp_path / "made")
    (root / erased_ids.FOLDER).write_text("in the way")
    with pytest.raises(HistoryWriteError, match="Not a directory"):
        sunk_late(root, split(late, list(late))[1])
    with connect(root) as db:
        assert db.execute("SELECT count(*) FROM events").fetchall() == [(0,)]
    (root / erased_ids.FOLDER).unlink()
    sunk_late(root, split(late, list(late))[1])
    assert erased_ids.read_hashes([root], "default", "u")
    assert erased_ids.read_hashes([root], "default", "bob") == set()
    (note,) = erased_ids.files(root)
    assert set(json.loads(note.read_text())) == {"erased"}
    assert "e1" not in note.read_text()
