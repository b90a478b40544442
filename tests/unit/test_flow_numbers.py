"""What the view of the pipeline computes: rates, quantiles, the drawing, what ports tell."""

import pytest

from streams.folds.outcome import APPLIED, DUPLICATE, Outcome
from streams.kafka.tools.lag import Lag
from streams.observability.metrics import Histogram
from streams.serving.backends.stats import FOLD, FoldCounts, Observed, by_agent
from streams.serving.flow import exposition
from streams.serving.flow.frame import Frames
from streams.serving.flow.graph import Drawing, columns, graph, narrow, wide
from streams.serving.flow.history_progress import SinkProgress
from streams.serving.flow.parts import Ports
from streams.serving.flow.rates import Unit, Window, number, quantile
from streams.topology import AGENTS, TOPICS

METRICS = """# TYPE turnfold_stalled_lanes gauge
turnfold_stalled_lanes 2.0
turnfold_transaction_seconds_bucket{agent="session",le="0.1"} 5.0
python_info{version="3"} 1.0
"""


def test_a_rate_is_the_mean_of_the_last_seconds() -> None:
    window = Window(5.0)
    for second in range(20):
        window.add(float(second), {"read": 100.0 * second})
    assert window.rate("read") == 100.0
    window.add(20.0, {"read": 1900.0})
    assert window.rate("read") == 80.0


def test_a_history_is_complete_up_to_the_last_request_with_ends_that_its_sink_has_reached() -> None:
    progress = SinkProgress()
    for at, ends, positions, until in (
        (10, (5, 5), (5, 3), None),
        (20, (9, 5), (5, 4), None),
        (30, (9, 6), (8, 5), 10),
        (40, (9, 6), (9, 6), 40),
    ):
        lags = [
            Lag("sink", "history", number, end, position, end - position)
            for number, (end, position) in enumerate(zip(ends, positions, strict=True))
        ]
        progress.add(at, lags)
        assert progress.until == until


def test_a_rate_is_unknown_until_there_are_two_readings_and_after_a_new_beginning() -> None:
    window = Window()
    window.add(0.0, {"read": 5.0})
    assert window.rate("read") is None
    window.add(1.0, {"read": 2.0, "other": 1.0})
    assert window.rate("read") is None
    assert window.rate("other") is None
    window.add(2.0, {})
    assert window.rate("read") is None


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (None, "rate", None), (0, "rate", "0/s"), (0.25, "rate", "0.2/s"),
        (4210.4, "rate", "4\u202f210/s"), (0.0123, "seconds", "12\u202fms"),
        (0.0021, "seconds", "2.1\u202fms"), (1.25, "seconds", "1.2\u202fs"),
        (0, "seconds", "0\u202fs"), (0.871, "share", "87\u202f%"), (1_000_000, "count",
        "1\u202f000\u202f000"),
    ],
)  # fmt: skip
def test_a_number_is_written_to_be_read_at_a_glance(
    value: float | None, unit: Unit, text: str | None
) -> None:
    assert number(value, unit).text == text


def test_a_quantile_is_of_what_came_between_two_readings() -> None:
    before, after = Histogram((0.1, 1.0)), Histogram((0.1, 1.0))
    for one in (before, after):
        for _ in range(100):
            one.observe(0.05)
    for _ in range(10):
        after.observe(0.5)
    early, late = (
        [(float(bound), count) for bound, count in one.cumulative()] for one in (before, after)
    )
    assert quantile(0.5, early, late) == pytest.approx(0.55)
    assert quantile(0.5, (), late) == pytest.approx(0.055)
    assert quantile(0.5, late, late) is None


def test_records_that_are_folded_again_count_once() -> None:
    counts = FoldCounts()
    counts.add(1, [APPLIED, Outcome("dead", "invalid", "x")])
    counts.add(2, [Outcome("dead", "invalid", "x"), DUPLICATE])
    found = counts.observed(0, 0, Histogram((1.0,)))
    assert found.counts[FOLD] == {"read": 3, "applied": 1, "dead": 1, "duplicate": 1}
    assert found.reasons == {"invalid": 1}


def test_lanes_are_added_up_by_agent() -> None:
    note = {"counts": {"read": 3, "hops": 2}, "reasons": {"invalid": 1}}
    found = by_agent([("session", note), ("session", note), ("memory", {})])
    assert found.counts["session"] == {"read": 6, "hops": 4}
    assert found.reasons == {"invalid": 2}


def test_a_tier_that_knows_nothing_has_no_zeros() -> None:
    frame = Frames(None, Ports(())).take(Observed("kafka"), False, "restores")
    assert {one.value for one in frame.numbers.values()} == {None}
    assert Frames(None, Ports(())).take(Observed("history"), True, "").numbers == {}


def test_the_drawing_has_all_that_is_declared_once_and_arrows_lead_on() -> None:
    drawn = graph("kafka")
    names = {one.name for one in drawn.nodes}
    assert names == {one.name for one in TOPICS} | {one.name for one in AGENTS} | {"sink"}
    at = {one.key: place for place, some in enumerate(columns(drawn)) for one in some}
    assert all(at[source] < at[target] for source, target in drawn.arrows)
    assert {one.name for one in graph("files").nodes} >= {"log", "fold", "events", "dead_letters"}


@pytest.mark.parametrize("drawing", [wide("kafka"), narrow("kafka"), wide("files")])
def test_no_box_lies_on_another_or_outside(drawing: Drawing) -> None:
    boxes = drawing.boxes
    for at, one in enumerate(boxes):
        assert 0 <= one.x <= one.x + one.width <= drawing.width
        assert 0 <= one.y <= one.y + one.height <= drawing.height
        for other in boxes[at + 1 :]:
            apart_x = one.x + one.width <= other.x or other.x + other.width <= one.x
            apart_y = one.y + one.height <= other.y or other.y + other.height <= one.y
            assert apart_x or apart_y, (one, other)


def test_of_a_port_only_the_families_that_are_shown_are_read() -> None:
    found = list(exposition.parsed(METRICS))
    assert [(one.name, one.value) for one in found] == [
        ("turnfold_stalled_lanes", 2.0), ("turnfold_transaction_seconds_bucket", 5.0),
    ]  # fmt: skip
    with pytest.raises(ValueError):
        list(exposition.parsed("turnfold_lanes{ 1"))
