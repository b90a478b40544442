"""The short form of kill_repartition: 4 -> 6 under load, 6 -> 3, each killed."""

from pathlib import Path

from tests.fault.kill_repartition import play
from tests.fault.load import records
from tests.shared_data import shared


def test_guarantees_1_and_3_whenever_the_change_of_partitions_is_killed(tmp_path: Path) -> None:
    result = play(tmp_path, records(shared("data").parent), kills=6, size=600, seed=5)
    assert result.wrong == []
    assert sum(n for name, n in result.struck.items() if not name.startswith("(")) >= 4
    assert result.struck["(records sent meanwhile)"] > 100
