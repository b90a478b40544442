"""docs/guarantees.md, "One fold in every tier": memory rebuilt from real data is the live memory.

And that no record is lost or doubled by a switch, whatever is written meanwhile.
"""

import importlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from sinks.digest import digest
from sinks.generation import Pointer, generation_path, stamp, switch
from sinks.history_root import open_root
from sinks.maintenance import compact
from streams.apps import compact_and_forget
from streams.errors import ConfigurationError, TurnfoldError
from streams.extractors.registry import Extractor
from streams.extractors.registry import named as named_extractor
from streams.files import file_runner
from streams.files.manifest import WORK, Settings, load
from streams.files.open_generation import locked, writing
from streams.generations import manifest_checks, promotion, rebuild
from streams.generations.folding import _Refold
from streams.generations.promotion import drop, list_generations, promote, rollback
from streams.generations.rebuild import backfill
from tests.acceptance.test_guarantees import ALICE, company
from tests.command import files_holding, ndjson, rows, turn, turnfold
from tests.planned import CONVERSATIONS
from tests.tiers import soaked

pytestmark = pytest.mark.nightly

SAME = Settings()


@pytest.fixture(params=["sgd", "tau", *soaked(["sample", "ledger", "reflexion"], 0)])
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of a history of real data."""
    copy = tmp_path / "history"
    if request.param == "sample":
        file_runner.run([str(CONVERSATIONS)], copy)
    elif request.param == "tau":
        items = request.getfixturevalue("tau_items") / "items.jsonl"
        made = turnfold("import", "openai-chat", items)
        (tmp_path / "tau.ndjson").write_text(made.out)
        file_runner.run([str(tmp_path / "tau.ndjson")], copy)
    else:
        shutil.copytree(request.getfixturevalue(f"{request.param}_run") / "history", copy)
    return copy


def differing(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """The tables whose rows differ."""
    return {name for name in one["tables"] if one["tables"][name] != other["tables"][name]}


def test_guarantee_1_a_backfill_makes_the_memory_that_was_live(history: Path) -> None:
    live = digest(history)
    made = backfill(history, "again", SAME)
    assert made.counts["read"] == made.counts["applied"] + made.counts.get("duplicate", 0) > 0
    again = digest(generation_path(history, "again"))
    assert differing(live, again) == set()
    assert again["memory"] == live["memory"]
    assert digest(history) == live


@pytest.mark.parametrize("history", soaked(["sgd", "tau"], 1), indirect=True)
def test_guarantee_3_interrupted_between_batches_it_continues(
    history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Refold, "batch_records", 2_000)
    live = digest(history)

    def halfway(_: str, folded: int, whole: int, __: int) -> None:
        if 2 * folded >= whole:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backfill(history, "again", SAME, halfway)
    made = backfill(history, "again", SAME)
    assert made.counts["read"] == made.records
    again = digest(generation_path(history, "again"))
    assert differing(live, again) == set()
    assert again["memory"] == live["memory"]


@pytest.mark.parametrize("history", soaked(["tau", "sgd", "ledger"], 1), indirect=True)
def test_guarantee_1_several_processes_make_the_same(
    history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "WORTH_PARTS", 1)
    monkeypatch.setattr(rebuild, "PROCESSES", 3)
    live = digest(history)
    made = backfill(history, "again", SAME)
    ((users,),) = rows(history, "SELECT count(DISTINCT user_id) FROM events")
    assert made.parts[-1] == made.counts["read"]
    assert (len(made.parts) > 1) == (users > 1)  # what is one user's lies in one part
    again = digest(generation_path(history, "again"))
    assert differing(live, again) == set()
    assert again["log"] == live["log"]
    assert promote(history, "again").caught_up == 0
    assert backfill(history, "heir", SAME).counts["read"] == made.counts["read"]
    assert digest(generation_path(history, "heir"))["memory"] == live["memory"]


def test_what_is_folded_on_after_several_processes_stands_after_it(
    growing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rebuild, "WORTH_PARTS", 1)
    history, quiet = tmp_path / "history", tmp_path / "quiet"
    growing(2_003)  # in the middle of a session
    backfill(history, "again", SAME)
    promote(history, "again")
    growing(1_000)
    file_runner.run([str(tmp_path / "turns.ndjson")], quiet)
    assert differing(digest(quiet), digest(history)) == set()


@pytest.mark.parametrize("history", ["ledger"], indirect=True)
def test_a_second_pass_reads_nothing_and_changes_nothing(history: Path) -> None:
    first = backfill(history, "again", SAME).counts
    before = digest(generation_path(history, "again"))
    assert backfill(history, "again", SAME).counts == first
    assert digest(generation_path(history, "again")) == before


def test_no_record_is_lost_or_doubled_by_switches(growing: Any, tmp_path: Path) -> None:
    history, quiet = tmp_path / "history", tmp_path / "quiet"
    growing(3_000)
    backfill(history, "again", SAME)
    growing(1_000)
    assert backfill(history, "again", SAME).counts["read"] == 4_000
    growing(500)
    assert promote(history, "again").caught_up == 500
    growing(500)
    compact(generation_path(history, "again"))
    growing(500)
    assert rollback(history).caught_up == 1_000
    growing(500)
    compact_and_forget.compact(history)
    assert rollback(history).caught_up == 500
    growing(500)
    assert promote(history, "root").caught_up == 500
    file_runner.run([str(tmp_path / "turns.ndjson")], quiet)
    expected = digest(quiet)
    for name in ("root", "again"):
        assert differing(expected, digest(generation_path(history, name))) == set()
        sql = "SELECT count(*), count(DISTINCT event_id) FROM events"
        assert rows(generation_path(history, name), sql) == [(6_500, 6_500)]


def test_a_server_sees_a_switch_by_the_stamp(growing: Any, tmp_path: Path) -> None:
    history = tmp_path / "history"
    growing(100)
    backfill(history, "again", SAME)
    seen = [stamp(history)]
    promote(history, "again")
    seen.append(stamp(history))
    rollback(history)
    seen.append(stamp(history))
    assert seen[0] == (0, 0) and len(set(seen)) == 3


def test_a_switch_in_between_is_seen(
    growing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "history"
    growing(10)
    backfill(history, "again", SAME)

    def switched(folder: Path) -> Path:
        switch(history, Pointer("again", "root"))
        return open_root(folder)

    monkeypatch.setattr(manifest_checks, "open_root", switched)
    with pytest.raises(ConfigurationError, match="'again' is live"):
        backfill(history, "again", SAME)


def test_a_switch_is_made_under_both_locks(
    growing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "history"
    growing(10)
    backfill(history, "again", SAME)

    def guarded(root: Path, to: Pointer) -> None:
        for folder in (history, history / "generations" / "again"):
            with pytest.raises(ConfigurationError, match="another turnfold"), locked(folder):
                pass
        switch(root, to)

    monkeypatch.setattr(promotion, "switch", guarded)
    assert promote(history, "again").current == "again"


def test_run_chooses_its_extractor_when_no_switch_can_come_between(tmp_path: Path) -> None:
    history = tmp_path / "history"

    def choose() -> Extractor | None:
        with pytest.raises(ConfigurationError, match="another turnfold"):
            promote(history, "root")
        return named_extractor("rules")

    said = ndjson(tmp_path / "said.ndjson", [turn("e1", user_input="I live in Oslo.")])
    assert file_runner.run([str(said)], history, choose=choose)["extracted_applied"] == 1


def test_positions_in_what_was_gathered_are_not_taken_over(growing: Any, tmp_path: Path) -> None:
    history = tmp_path / "history"
    growing(10)
    backfill(history, "again", SAME)
    with writing(history) as (store, _):
        store.write_values({"file/backfill/7": [3, 3]})
    promote(history, "again")
    with writing(history) as (store, _):
        assert store.values("file/backfill/") == {}
        assert store.values("file/")


def test_what_duckdb_refuses_is_reported(growing: Any, tmp_path: Path) -> None:
    history = tmp_path / "history"
    growing(10)
    for file in (history / "events").glob("date=*/*.parquet"):
        file.write_bytes(b"PAR1 is all that is left")
    with pytest.raises(TurnfoldError, match="the same command again"):
        backfill(history, "again", SAME)


def test_guarantee_8_forget_erases_in_all_generations(growing: Any, tmp_path: Path) -> None:
    history = tmp_path / "history"
    growing(2_000)
    said = [turn("e1", user_id="zaphod", session_id="zaphod-1", user_input="I am zaphod")]
    file_runner.run([str(ndjson(tmp_path / "said.ndjson", said))], history)
    backfill(history, "again", SAME)
    backfill(history, "third", SAME)
    promote(history, "again")
    assert files_holding(history, "zaphod")
    receipt = compact_and_forget.forget(history, "default", "zaphod")
    assert set(receipt["generations"]) == {"root", "third"}
    assert files_holding(history, "zaphod") == []
    for name in ("root", "third"):
        assert digest(generation_path(history, name))["memory"] == digest(history)["memory"]
    assert rollback(history).caught_up == 0
    assert files_holding(history, "zaphod") == []


def test_guarantee_8_forget_folds_a_shared_session_again_where_nothing_was_folded_on(
    tmp_path: Path,
) -> None:
    """In a generation that was never live; it goes on from there."""
    history, quiet = tmp_path / "history", tmp_path / "quiet"
    said = ndjson(tmp_path / "said.ndjson", company())
    later = turn("g9", session_id="group", user_id="bob", occurred_at="2026-02-01T00:00:00Z")
    for at in (history, quiet):
        file_runner.run([str(said)], at)
    backfill(history, "again", SAME)
    assert set(compact_and_forget.forget(history, "default", ALICE)["generations"]) == {"again"}
    compact_and_forget.forget(quiet, "default", ALICE)
    assert files_holding(history, ALICE) == []
    assert digest(generation_path(history, "again"))["memory"] == digest(quiet)["memory"]
    promote(history, "again")
    for at in (history, quiet):
        file_runner.run([str(ndjson(tmp_path / "later.ndjson", [later]))], at)
    assert rows(history, "SELECT count(*) FROM events WHERE event_id = 'g9'") == [(1,)]
    assert differing(digest(history), digest(quiet)) == set()


def test_guarantee_8_forget_drops_what_was_never_finished(
    growing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "history"
    growing(1_000)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("streams.generations.rebuild.adopt", full)
        with pytest.raises(TurnfoldError, match="No space left on device"):
            backfill(history, "again", SAME)
    ((user,),) = rows(history, "SELECT user_id FROM events LIMIT 1")
    receipt = compact_and_forget.forget(history, "default", user)
    assert receipt["generations"] == {"again": "dropped: it was not finished"}
    assert backfill(history, "again", SAME).counts["read"] > 0
    assert differing(digest(history), digest(generation_path(history, "again"))) == set()


def test_guarantee_8_forget_erases_what_a_killed_backfill_had_gathered(
    growing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "history"
    growing(10)
    said = [turn("e1", user_id="zaphod", session_id="zaphod-1", user_input="I am zaphod")]
    file_runner.run([str(ndjson(tmp_path / "said.ndjson", said))], history)

    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("streams.generations.rebuild.shutil.rmtree", _unless_called_again(killed))
        with pytest.raises(KeyboardInterrupt):
            backfill(history, "again", SAME)
    assert load(history / "generations" / "again").stage == "complete"  # type: ignore[union-attr]
    assert (history / "generations" / "again" / "_source").exists()
    compact_and_forget.forget(history, "default", "zaphod")
    assert files_holding(history, "zaphod") == []


def _unless_called_again(killed: Any) -> Any:
    """Removing what was gathered works when reading begins, and is killed when the pass ends."""
    remove, calls = shutil.rmtree, []

    def rmtree(path: Any, **named: Any) -> None:
        if Path(path).name == WORK:
            calls.append(path)
            if len(calls) > 1:
                killed()
        remove(path, **named)

    return rmtree


def test_guarantee_8_what_a_killed_drop_left_is_removed(growing: Any, tmp_path: Path) -> None:
    history = tmp_path / "history"
    growing(10)
    for name in ("again", "third"):
        backfill(history, name, SAME)
    folder = history / "generations"
    (folder / "again").rename(folder / ".again")
    assert [one["name"] for one in list_generations(history)] == ["root", "third"]
    assert set(compact_and_forget.forget(history, "default", "user-0")["generations"]) == {"third"}
    assert not (folder / ".again").exists()
    shutil.copytree(folder / "third", folder / ".third")
    drop(history, "third")
    assert list(folder.iterdir()) == []


def test_guarantee_8_forget_and_backfill_do_not_meet(
    growing: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = tmp_path / "history"
    growing(10)
    met: list[str] = []

    def meeting(*_: Any) -> Any:
        with pytest.raises(ConfigurationError, match=r"another turnfold.*`backfill`"):
            compact_and_forget.forget(history, "default", "nobody")
        backfill(history, "third", SAME)  # others may be made meanwhile
        met.append("forget")

    _once_before(monkeypatch, "streams.generations.rebuild.gather", meeting)
    backfill(history, "again", SAME)

    def meeting_backfill(*_: Any) -> Any:
        with pytest.raises(ConfigurationError, match=r"another turnfold.*`forget`"):
            backfill(history, "fourth", SAME)
        met.append("backfill")

    _once_before(monkeypatch, "streams.apps.compact_and_forget._forget", meeting_backfill)
    compact_and_forget.forget(history, "default", "nobody")
    assert met == ["forget", "backfill"]


def _once_before(monkeypatch: pytest.MonkeyPatch, name: str, first: Any) -> None:
    """Calls `first` once, before the named function is called."""
    module, _, function = name.rpartition(".")
    real = getattr(importlib.import_module(module), function)

    def both(*given: Any) -> Any:
        monkeypatch.setattr(name, real)
        first()
        return real(*given)

    monkeypatch.setattr(name, both)
