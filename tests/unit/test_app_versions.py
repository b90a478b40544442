"""What is known of a table's app versions is what its log says, and is asked for once."""

import random
from pathlib import Path

import pytest

from sinks import sink_history
from sinks.delta import History, written
from sinks.sink_history import WHOLE, SharedHistory
from tests.unit.test_shared_history import OWNER, piece

APPS = ("a", "b")


def check(history: SharedHistory) -> None:
    """Against the log, by a handle of its own."""
    with History(history.root) as fresh:
        table = fresh.table("threads")
        assert table is not None
        at, known = history._versions._known.get("threads", (-1, {}))
        if at == table.version():
            assert known == {app: written(table, app) for app in known}
        apps = {app: written(table, app + WHOLE) for app in APPS}
    found = history.positions(APPS)
    assert found == {app: offset for app, offset in apps.items() if offset >= 0}


@pytest.mark.parametrize("seed", range(6))
def test_two_who_write_in_turn_know_what_the_log_says(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    with SharedHistory(tmp_path / "h", OWNER) as one, SharedHistory(tmp_path / "h", OWNER) as two:
        for _ in range(16):
            writer, app, at = dice.choice((one, two)), dice.choice(APPS), dice.randint(1, 40)
            rows = {"threads": [piece(range(at, at + 3), app)]}
            writer.write(rows, {app: at + 2}, {app: at - 1})
            if dice.random() < 0.3:
                check(dice.choice((one, two)))
        check(one)
        check(two)


def test_one_who_writes_alone_asks_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a bucket each question reads every commit since the last checkpoint."""
    asked: list[str] = []

    def counted(table: object, app_id: str) -> int:
        asked.append(app_id)
        return written(table, app_id)  # type: ignore[arg-type]

    monkeypatch.setattr(sink_history, "written", counted)
    with SharedHistory(tmp_path / "h", OWNER) as history:
        for at in range(1, 9):
            assert history.write({"threads": [piece([at])]}, {"a": at}, {"a": at - 1}) == 1
    assert sorted(asked) == ["a", f"a{WHOLE}"]
