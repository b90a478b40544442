"""`backfill`, `diff`, `promote`, `rollback`, `generations` as commands: answers and refusals."""

import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sinks.generation import Pointer, switch
from sinks.history_root import HistoryError
from streams.extractors.rules import VERSION
from tests.command import answer, folded, ndjson, refused, rows, turn, turnfold
from tests.planned import CONVERSATIONS
from tests.property.world import recursion

pytestmark = pytest.mark.nightly


@pytest.fixture
def history(again: Path, tmp_path: Path) -> Path:
    """A copy of it to write into."""
    return Path(shutil.copytree(again, tmp_path / "history"))


def digest(history: Path, generation: str | None = None) -> Any:
    asked = ["--generation", generation] if generation else []
    return answer("admin", "digest", "--history", history, *asked)


def plan(plan_id: str, body: str, *, extractor: str = "llm", state: str = "home") -> dict[str, Any]:
    """A write plan of user `u` that says where they live."""
    update = {"op": "upsert", "state_id": state, "kind": "fact", "body_text": body}
    return {
        "type": "write_plan", "plan_id": plan_id, "user_id": "u", "event_id": "e1",
        "occurred_at": "2026-01-01T00:00:00Z", "extractor": {"name": extractor, "version": "1"},
        "state_updates": [update | {"evidence_event_ids": ["e1"]}], "preference_updates": [],
    }  # fmt: skip


def test_a_plan_that_was_refused_and_mended_is_caught_up_with(tmp_path: Path) -> None:
    history = tmp_path / "history"
    bad = plan("p1", "lives in York") | {"state_updates": "none"}
    folded(ndjson(tmp_path / "bad.ndjson", [turn("e1"), bad]), history=history)
    answer("generation", "create", "--history", history, "again")
    mended = [plan("p1", "lives in York"), plan("p1", "has a cat") | {"user_id": "v"}]
    folded(ndjson(tmp_path / "mended.ndjson", mended), history=history)
    answer("generation", "create", "--history", history, "whole")
    answer("generation", "promote", "again", "--history", history)
    assert digest(history) == digest(history, "root") == digest(history, "whole")
    assert rows(history, "SELECT user_id FROM plans ORDER BY 1") == [("u",), ("v",)]
    for name in ("root", "again", "whole"):
        words = ("admin", "dlq", "list", "--history", history, "--generation", name)
        assert len(answer(*words)) == 1


def test_a_diff_says_what_changed_on_which_evidence(tmp_path: Path) -> None:
    history = tmp_path / "history"
    said = [
        turn("e1", user_input="I moved to York"),
        plan("p1", "lives in Leeds"),
        plan("p2", "lives in York", extractor="rules"),
        plan("p3", "has a cat", extractor="rules", state="pet"),
    ]
    folded(ndjson(tmp_path / "said.ndjson", said), history=history)
    made = answer("generation", "create", "--history", history, "plain", "--extractor", "none")
    assert made["counts"] == {"left_out": 2, "read": 2, "applied": 2, "revisions": 1}
    found = answer("generation", "diff", "live", "plain", "--history", history)
    facts = next(kind for kind in found["kinds"] if kind["kind"] == "state/fact")
    assert facts == {"kind": "state/fact", "added": 0, "gone": 1, "changed": 1, "same": 0}
    changed, gone = found["samples"]
    assert changed["key"] == {"tenant": "default", "owner_id": "u", "state_id": "home"}
    assert changed["before"]["body_text"] == "lives in York"
    assert changed["after"]["body_text"] == "lives in Leeds"
    assert changed["evidence"] == [{"event_id": "e1", "session_id": "s", "text": "I moved to York"}]
    assert gone["change"] == "gone" and gone["after"] is None
    text = turnfold("generation", "diff", "live", "plain", "--history", history)
    assert "body_text: lives in York → lives in Leeds" in text.out
    assert "e1: I moved to York" in text.out


def test_views_follow_a_generation_s_constants(tmp_path: Path) -> None:
    history = tmp_path / "history"
    steps = [recursion(f"r{n}", n, n, status="done") for n in range(4)]
    folded(ndjson(tmp_path / "steps.ndjson", steps), history=history)
    answer("generation", "create", "short", "--history", history, "--set", "max_iteration=2")
    words = ("--history", history, "--generation", "short")
    late = "SELECT trace_id FROM recursion_current WHERE after_finish ORDER BY 1"
    assert answer("sql", "--history", history, late) == []
    assert answer("sql", *words, late) == [{"trace_id": "r2"}, {"trace_id": "r3"}]
    views = answer("admin", "catalog", tmp_path / "views.duckdb", *words)["file"]
    with duckdb.connect(views, read_only=True) as db:
        assert db.execute(late).fetchall() == [("r2",), ("r3",)]
    assert digest(history, "short")["tables"] != digest(history)["tables"]
    assert digest(history, "short")["log"] == digest(history)["log"]


def test_rules_are_made_again(tmp_path: Path) -> None:
    history, file = tmp_path / "history", tmp_path / "said.ndjson"
    ndjson(file, [turn("e1", user_input="I live in York."), plan("p1", "likes tea", state="tea")])
    folded(file, history=history)
    words = ("ruled", "--history", history, "--extractor", "rules")
    made = answer("generation", "create", *words)
    assert made["settings"]["extractor_version"] == VERSION
    extracted = tmp_path / "extracted"
    done = turnfold("run", file, "--history", extracted, "--extractor", "rules")
    assert done.code == 0
    assert digest(history, "ruled") == digest(extracted)
    assert digest(history, "ruled")["memory"] != digest(history)["memory"]
    plans = rows(history / "generations" / "ruled", "SELECT extractor_name FROM plans ORDER BY 1")
    assert plans == [("llm",), ("rules",)]
    folded(ndjson(tmp_path / "more.ndjson", [turn("e2", user_input="I live in Leeds.")]),
           history=history)  # fmt: skip
    assert answer("generation", "create", *words)["counts"]["read"] == 3
    answer("generation", "create", "--history", history, "plain", "--extractor", "none")
    answer("generation", "promote", "ruled", "--history", history)
    assert digest(history)["memory"] != digest(history, "plain")["memory"]
    answer("generation", "create", "--history", history, "bare", "--extractor", "none")
    assert digest(history, "bare") == digest(history, "plain") == digest(history, "root")


def test_a_rollback_takes_back_what_was_extracted(tmp_path: Path) -> None:
    history = tmp_path / "history"

    def run(name: str, text: str) -> None:
        file = tmp_path / f"{name}.ndjson"
        folded(ndjson(file, [turn(name, user_input=text)]), history=history)

    def extracted() -> Any:
        return answer("sql", "SELECT extractor_name n FROM plans", "--history", history)

    run("e1", "I am here.")
    answer("generation", "create", "--history", history, "again")
    answer("generation", "create", "--history", history, "ruled", "--extractor", "rules")
    answer("generation", "promote", "again", "--history", history)
    answer("generation", "promote", "ruled", "--history", history)
    run("e2", "I live in Oslo.")
    assert extracted() == [{"n": "rules"}]
    assert answer("generation", "rollback", "--history", history)["current"] == "again"
    assert extracted() == []
    answer("generation", "promote", "root", "--history", history)
    run("e3", "I like tea.")
    answer("run", ndjson(tmp_path / "e4.ndjson", [turn("e4", user_input="I live in Rome.")]),
           "--extractor", "rules", "--history", history)  # fmt: skip
    answer(
        "generation", "promote", "again", "--history", history
    )  # root says nothing: all is replayed
    assert extracted() == [{"n": "rules"}]
    answer("generation", "rollback", "--history", history)
    assert extracted() == [{"n": "rules"}]


def test_a_replay_catches_up_with_what_it_was_made_of(tmp_path: Path) -> None:
    history = tmp_path / "history"
    folded(ndjson(tmp_path / "e1.ndjson", [turn("e1")]), history=history)
    answer("generation", "create", "--history", history, "ruled", "--extractor", "rules")
    answer("generation", "promote", "ruled", "--history", history)
    answer("generation", "create", "--history", history, "again")
    later = [turn("e2", user_input="I live in Oslo.")]
    folded(ndjson(tmp_path / "e2.ndjson", later), history=history)
    answer("generation", "promote", "again", "--history", history)
    assert digest(history) == digest(history, "ruled")
    assert rows(history, "SELECT extractor_name FROM plans") == [("rules",)]


def test_constants_that_are_unknown_are_refused(history: Path) -> None:
    meta = history / "generations" / "again" / "_generation.json"
    meta.write_text(meta.read_text().replace('"constants": {}', '"constants": {"nothing": 1}', 1))
    said = refused("admin", "digest", "--generation", "again", "--history", history)
    assert "nothing: no such constant" in said and "_generation.json" in said


def test_a_constant_is_set_for_folding_and_reading(tmp_path: Path) -> None:
    history = tmp_path / "history"
    file = tmp_path / "said.ndjson"
    said = [turn(f"e{n}", intent=f"i{n}", occurred_at=f"2026-01-0{n}T00:00:00Z") for n in (1, 2, 3)]
    folded(ndjson(file, said), history=history)
    made = answer(
        "generation", "create", "short", "--history", history, "--set", "max_intents=2", "--set",
        "session_expiry_hours=0.5",
    )  # fmt: skip
    assert made["settings"]["constants"] == {"max_intents": 2, "session_expiry_hours": 0.5}
    answer("generation", "promote", "short", "--history", history)
    said.append(turn("e4", intent="i4", occurred_at="2026-01-04T00:00:00Z"))
    folded(ndjson(file, said), history=history)
    document = answer(
        "show", "session", "s", "--history", history, "--as-of", "2026-01-04T00:20:00Z"
    )
    assert document["context"]["recent_intents"] == ["i3", "i4"]
    assert document["status"] == "active"
    later = ("--history", history, "--as-of", "2026-01-03T12:00:00Z")
    assert answer("show", "session", "s", *later)["status"] == "closed"
    assert answer("show", "session", "s", *later, "--generation", "root")["status"] == "active"
    heir = answer("generation", "create", "--history", history, "heir", "--set", "max_intents=1")
    assert heir["settings"]["constants"] == {"max_intents": 1, "session_expiry_hours": 0.5}


@pytest.mark.parametrize("change", ["max_intents", "max_intents=x", "nothing=1", "max_intents=0"])
def test_a_constant_that_is_none_is_refused(again: Path, change: str) -> None:
    words = ("x", "--history", again, "--set", change)
    assert f"--set {change.partition('=')[0]}" in refused("generation", "create", *words, code=2)


def test_a_diff_can_fail_on_a_change(history: Path, tmp_path: Path) -> None:
    words = ("generation", "diff", "again", "live", "--history", history, "--fail-on-change")
    assert turnfold(*words).code == 0
    folded(ndjson(tmp_path / "more.ndjson", [turn("e1")]), history=history)
    assert turnfold(*words).code == 4


def test_the_same_under_another_id_is_no_change(tmp_path: Path) -> None:
    folders = []
    for name in ("a", "b"):
        said = [turn("e1"), plan("p1", "lives in York", state=f"home-{name}")]
        folders.append(tmp_path / name)
        folded(ndjson(tmp_path / f"{name}.ndjson", said), history=folders[-1])
    found = answer("generation", "diff", *folders)
    facts = next(kind for kind in found["kinds"] if kind["kind"] == "state/fact")
    assert facts == {"kind": "state/fact", "added": 0, "gone": 0, "changed": 0, "same": 1}
    assert found["samples"] == []


def test_only_the_days_asked_for_are_read(tmp_path: Path) -> None:
    history = tmp_path / "history"
    days = [turn(f"e{day}", occurred_at=f"2026-01-0{day}T00:00:00Z") for day in range(1, 6)]
    folded(ndjson(tmp_path / "days.ndjson", days), history=history)
    made = answer(
        "generation", "create", "--history", history, "some",
        "--from", "2026-01-02", "--to", "2026-01-04",
    )  # fmt: skip
    assert made["counts"]["read"] == 3
    sql = "SELECT event_id FROM events ORDER BY 1"
    assert rows(history / "generations" / "some", sql) == [("e2",), ("e3",), ("e4",)]
    (session,) = rows(
        history / "generations" / "some",
        "SELECT doc ->> '$.conversation_count' FROM session_current",
    )
    assert session == ("3",)
    assert "some days only" in refused("generation", "promote", "some", "--history", history)


def test_readers_and_run_follow_the_switch(history: Path, tmp_path: Path) -> None:
    file = ndjson(tmp_path / "more.ndjson", [turn("e1", session_id="new")])
    done = answer("generation", "promote", "again", "--history", history)
    assert (done["current"], done["previous"], done["caught_up"]) == ("again", "root", 0)
    folded(file, history=history)
    sql = ("sql", "SELECT count(*) n FROM events WHERE session_id = 'new'", "--history", history)
    assert answer(*sql) == [{"n": 1}]
    assert answer(*sql, "--generation", "root") == [{"n": 0}]
    assert folded(str(CONVERSATIONS), history=history)["read"] == 0
    done = answer("generation", "rollback", "--history", history)
    assert (done["current"], done["previous"], done["caught_up"]) == ("root", "again", 1)
    assert answer(*sql) == [{"n": 1}]
    assert folded(file, history=history)["read"] == 0
    assert digest(history, "root") == digest(history, "again")


def test_promoting_what_is_live_changes_nothing(history: Path) -> None:
    answer("generation", "promote", "again", "--history", history)
    before = (history / "generation.json").read_bytes()
    assert answer("generation", "promote", "again", "--history", history)["previous"] == "root"
    assert (history / "generation.json").read_bytes() == before


def test_an_alias_is_promoted_by_the_name_it_stands_for(history: Path) -> None:
    answer("generation", "promote", "again", "--history", history)
    done = answer("generation", "promote", "previous", "--history", history)
    assert (done["current"], done["previous"]) == ("root", "again")
    assert answer("generation", "promote", "live", "--history", history)["current"] == "root"
    assert digest(history) == digest(history, "previous") == digest(history, "again")


def test_an_alias_never_becomes_the_pointer(history: Path) -> None:
    for name in ("live", "previous", "a/b"):
        with pytest.raises(HistoryError, match="cannot name a generation"):
            switch(history, Pointer(name))
    switch(history, Pointer("root"))
    assert digest(history) == digest(history, "root")


def test_generations_are_listed_with_what_they_take(again: Path) -> None:
    root, other = answer("generation", "list", "--history", again)
    assert (root["name"], root["role"]) == ("root", "live")
    assert (other["name"], other["role"]) == ("again", "")
    assert other["stage"] == "complete" and other["counts"]["read"] == 63
    assert other["shared_bytes"] == root["shared_bytes"] > 0
    assert turnfold("generation", "list", "--history", again).code == 0


def test_a_dropped_generation_is_gone(history: Path) -> None:
    before = digest(history)
    planned = turnfold("generation", "drop", "again", "--history", history)
    assert planned.code == 0 and planned.out.startswith("would drop: again\n")
    assert "--yes removes this permanently" in planned.err
    assert answer("generation", "drop", "--yes", "again", "--history", history) == {
        "dropped": "again"
    }
    assert [one["name"] for one in answer("generation", "list", "--history", history)] == ["root"]
    assert not list((history / "generations").iterdir())
    assert digest(history) == before
