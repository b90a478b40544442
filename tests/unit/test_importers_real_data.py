"""The real data as records: every one valid, and as many as the raw files say."""

import gzip
import re
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.base import JsonObject, parse_time
from streams.importers.convert import convert
from tests import shared_data
from tests.acceptance import ledger, reflexion, sgd, tau_bench
from tests.shared_data import shared

pytestmark = pytest.mark.nightly

TAU = ("data", "tau_bench", "gpt-4o-airline_tasks_0-29.json.gz")
REFLEXION = ("data", "reflexion", "hotpotqa_react_reflexion_trials_1-2.txt.gz")
SGD = ("data", "sgd", "train_part.jsonl.gz")
LEDGER = ("data", "corrections", "ledger.json")


def kinds(records: list[JsonObject]) -> Counter[str]:
    """Records by type, recursions by their action."""
    return Counter(r["action"]["action_type"] if "action" in r else r["type"] for r in records)


def test_a_clone_without_the_data_skips_and_one_that_lacks_a_part_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_data, "ROOT", tmp_path / "turnfold")
    with pytest.raises(pytest.skip.Exception, match="not beside the project"):
        shared("data", "absent")
    (tmp_path / "shared").mkdir()
    with pytest.raises(pytest.fail.Exception, match="data/absent"):
        shared("data", "absent")


# --- tau-bench ---------------------------------------------------------------------------------


def test_a_tau_bench_file_is_read_as_it_is() -> None:
    path = shared(*TAU)
    direct = list(convert("openai-chat", path))
    assert kinds(direct) == kinds(list(tau_bench.records(path)))
    assert len({record["session_id"] for record in direct}) == 120


# --- reflexion ---------------------------------------------------------------------------------


def raw_reflexion() -> str:
    return gzip.decompress(shared(*REFLEXION).read_bytes()).decode()


def test_reflexion_runs_are_those_the_file_sums_up() -> None:
    summed = re.findall(r"Correct: (\d+), Incorrect: (\d+), Halted: (\d+)", raw_reflexion())
    found = Counter((run.trial, run.outcome) for run in reflexion.runs(shared(*REFLEXION)))
    assert found == {
        (trial, outcome): int(count)
        for trial, counts in enumerate(summed, 1)
        for outcome, count in zip(("correct", "incorrect", "halted"), counts, strict=True)
    }


# --- SGD ---------------------------------------------------------------------------------------


def test_sgd_repetitions_are_new_events_of_the_same_users(tmp_path: Path) -> None:
    path, out = shared(*SGD), tmp_path / "sgd.ndjson"
    count = sgd.write(path, out, repeat=2, users=7)
    turns = [msgspec.json.decode(line) for line in out.read_bytes().splitlines()]
    assert len(turns) == count == 2 * len(list(sgd.records(path)))
    assert len({turn["event_id"] for turn in turns}) == count
    assert {turn["user_id"] for turn in turns} == {f"user-{index}" for index in range(7)}
    assert turns[count // 2]["session_id"] == f"{turns[0]['session_id']}-r1"
    assert parse_time(turns[0]["occurred_at"]) < parse_time(turns[count // 2]["occurred_at"])


# --- the ledger --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("day", "key", "value"),
    [
        ("2026-02-06", "P05", "毎日30分の英語学習"),
        ("2026-02-15", "P05", "毎日30分の英語学習"),
        ("2026-02-16", "P05", "毎日45分の英語学習"),
        ("2026-05-07", "P05", "毎日20分の英語学習"),
        ("2026-02-10", "S01", None),
        ("2026-04-16", "P01", "ヒロ"),
        ("2026-04-17", "P01", "ヒロさん"),
    ],
)
def test_truth_of_a_date(day: str, key: str, value: Any) -> None:
    held = ledger.truth(shared(*LEDGER))
    assert len(held) == 91
    assert held[date.fromisoformat(day)].get(key) == value
