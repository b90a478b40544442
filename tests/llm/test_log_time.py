"""Groups become idle also where the machine's clock is behind the log's."""

from types import SimpleNamespace

import pytest

from streams.llm.log_time import LogTime

SECOND = 1_000_000
NOON = 1_800_000_000 * SECOND


class Clocks:
    """Those of a machine, in microseconds."""

    def __init__(self) -> None:
        self.wall, self.passed = NOON, 5 * SECOND

    def wait(self, micros: int) -> None:
        self.wall += micros
        self.passed += micros


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    made = Clocks()
    reading = SimpleNamespace(
        time_ns=lambda: made.wall * 1000, monotonic=lambda: made.passed / SECOND
    )
    monkeypatch.setattr("streams.llm.log_time.time", reading)
    return made


def test_it_is_the_machine_s_clock(clocks: Clocks) -> None:
    log_time = LogTime()
    assert log_time.now(0) == NOON
    assert log_time.now(NOON - SECOND) == NOON
    clocks.wait(SECOND)
    assert log_time.now(NOON - SECOND) == NOON + SECOND


@pytest.mark.parametrize("behind", [SECOND, 3_600 * SECOND])
def test_where_that_is_behind_time_passes_all_the_same(clocks: Clocks, behind: int) -> None:
    log_time, newest = LogTime(), NOON + behind
    assert log_time.now(newest) == newest
    clocks.wait(SECOND // 2)
    assert log_time.now(newest) == newest + SECOND // 2
    clocks.wall -= 7_200 * SECOND
    assert log_time.now(newest) == newest + SECOND // 2
    later = newest + SECOND
    assert log_time.now(later) == later
    clocks.wall = later + 9 * SECOND
    assert log_time.now(later) == later + 9 * SECOND
