"""`--retention-days` of `run`: what an operator who follows the docs sees."""

import time
from pathlib import Path
from typing import Any

import click
import pytest

from schemas.base import format_time
from streams.apps.worker_settings import WorkerSettings
from streams.commands.run_import_demo import run
from streams.commands.worker import worker
from streams.files.store import Store
from streams.pipeline.retention import DEFAULT_DAYS, retention_of
from tests.command import ndjson, rows, turn, turnfold

pytestmark = pytest.mark.nightly

Json = dict[str, Any]
PEOPLE = 40


def now(event_id: str, **fields: Any) -> Json:
    return turn(event_id, occurred_at=format_time(time.time_ns() // 1000), **fields)


def october() -> list[Json]:
    return [
        turn(f"{person}-{number}", session_id=f"s{person}", user_id=f"u{person}", topic="algebra",
             occurred_at=f"2020-10-{day:02}T0{number}:00:00Z")
        for person in range(PEOPLE) for day in (1 + person % 28,) for number in range(5)
    ]  # fmt: skip


def folded(history: Path, name: str, records: list[Json]) -> Json:
    file = ndjson(history.parent / f"{name}.ndjson", records)
    done = turnfold("run", file, "--history", history, "--retention-days", "30", "-o", "json")
    assert done.code == 0, done.err
    counts: Json = done.json()
    return counts


def cold(history: Path) -> int:
    store = Store(history / "_store")
    try:
        found = [store.committed("sessions", *at) for at in store.entities("sessions")]
        return sum(one.cold is not None for one in found)
    finally:
        store.close()


def test_a_file_of_october_sent_again_after_a_record_of_today_is_not_applied(
    tmp_path: Path,
) -> None:
    history = tmp_path / "memory"
    assert folded(history, "october", october())["cooled"] == PEOPLE
    today = folded(history, "today", [now("today", session_id="new")])
    assert (today["applied"], today["cooled"]) == (1, 0)
    assert cold(history) == PEOPLE
    again = folded(history, "again", october())
    assert (again["applied"], again["duplicate"]) == (0, len(october()))
    assert rows(history, "SELECT count(*) FROM events") == [(len(october()) + 1,)]
    assert cold(history) == PEOPLE


def test_who_comes_back_finds_all_conversations(tmp_path: Path) -> None:
    history, open_history = tmp_path / "memory", tmp_path / "open"
    back = now("back", session_id="s3", user_id="u3")
    for name, records in {
        "1": october(), "2": [now("today", session_id="new")], "3": [back],
    }.items():  # fmt: skip
        folded(history, name, records)
        done = turnfold("run", tmp_path / f"{name}.ndjson", "--history", open_history)
        assert done.code == 0
    shown = turnfold("show", "session", "s3", "--history", history, "-o", "json").json()
    assert shown["conversation_count"] == 6
    assert (
        shown == turnfold("show", "session", "s3", "--history", open_history, "-o", "json").json()
    )
    assert cold(history) == PEOPLE - 1


def test_a_late_record_of_a_cold_session_finds_its_place(tmp_path: Path) -> None:
    """And the session is cold again, for it is as old as before."""
    history = tmp_path / "memory"
    folded(history, "october", october())
    late = turn("late", session_id="s5", user_id="u5", occurred_at="2020-10-06T02:30:00Z")
    assert folded(history, "late", [late])["cooled"] == 1
    assert cold(history) == PEOPLE
    shown = turnfold("show", "session", "s5", "--history", history, "-o", "json").json()
    assert [one["task_id"] for one in shown["conversations"]][2:4] == ["5-2", "late"]


def test_a_person_is_forgotten_in_cold_sessions_too(tmp_path: Path) -> None:
    history = tmp_path / "memory"
    folded(history, "october", october())
    folded(history, "today", [now("today", session_id="new")])
    done = turnfold("forget", "u5", "--history", history, "--yes", "-o", "json")
    assert done.code == 0, done.err
    assert turnfold("show", "session", "s5", "--history", history, "-o", "json").code != 0
    assert cold(history) == PEOPLE - 1


def test_one_wrong_date_makes_nobody_cold(tmp_path: Path) -> None:
    history = tmp_path / "memory"
    ahead = turn("w", session_id="ahead", occurred_at="2199-01-01T00:00:00Z")
    counts = folded(history, "1", [ahead, now("a", session_id="live"), *october()])
    assert counts["cooled"] == PEOPLE
    assert folded(history, "2", [now("b", session_id="live")])["cooled"] == 0
    shown = turnfold("show", "session", "live", "--history", history, "-o", "json").json()
    assert shown["conversation_count"] == 2


def test_sessions_stay_open_for_ever_by_default() -> None:
    assert DEFAULT_DAYS == WorkerSettings().retention_days == 0
    assert retention_of(DEFAULT_DAYS) is retention_of(None) is WorkerSettings().retention is None


def test_every_command_says_the_same_of_retention() -> None:
    said = {
        (one.help, one.default, type(one.type))
        for command in (run, worker)
        for one in command.params
        if isinstance(one, click.Option) and one.name == "retention_days"
    }
    assert len(said) == 1


@pytest.mark.parametrize("days", ["-1", "-0.5", "nan", "inf", "1e300", "x", ""])
@pytest.mark.parametrize("command", [("run", "f.ndjson", "--history", "h"), ("kafka", "worker")])
def test_a_wrong_number_of_days_is_refused_everywhere_alike(
    tmp_path: Path, command: tuple[str, ...], days: str
) -> None:
    ndjson(tmp_path / "f.ndjson", [turn("e1")])
    done = turnfold(*command, "--retention-days", days, cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"--retention-days {days!r}: retention is a number of days from 0" in done.err
    assert not (tmp_path / "h").exists()


@pytest.mark.parametrize("days", ["-1", "nan", "inf"])
def test_a_wrong_number_in_the_environment_is_refused(
    monkeypatch: pytest.MonkeyPatch, days: str
) -> None:
    from streams.errors import ConfigurationError

    monkeypatch.setenv("TURNFOLD_WORKER_RETENTION_DAYS", days)
    with pytest.raises(ConfigurationError, match="retention is a number of days from 0"):
        WorkerSettings.load()
