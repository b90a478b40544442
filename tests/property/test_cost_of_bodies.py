"""No body costs more than its share, by whatever way it comes in: a search for one that does.

Counted in steps, as `test_cost_of_reading` counts them. 64 KB are read in 50 ms, 16 MB in a second.
"""

import json
from collections.abc import Iterator
from functools import partial
from itertools import islice
from random import Random

import pytest

from streams.pipeline import images, json_limits
from streams.serving.http import routes_records, write_records
from streams.serving.http.problems import Problem
from tests.command import turn
from tests.property import costly
from tests.property.costly import CLOUD, JSON, LATEST, NDJSON, RECORDS, frame, read
from tests.property.test_cost_of_reading import WHOLE, lines, seconds, steps
from tests.tiers import soaked

SMALL, LARGE = 65_536, 16_000_000
SECONDS_OF_LARGE = 10.0
MOST_OF_SMALL, MOST_OF_LARGE = 800_000, 10_000_000
"""Steps: a million take 50 to 100 ms."""


def repeated(one: bytes, between: bytes, size: int) -> bytes:
    """As many as so many bytes have."""
    return between.join([one] * max(size // (len(one) + len(between)), 1))


def dearest(seed: int, count: int, size: int, most: int) -> tuple[float, costly.Recipe]:
    """The most steps that a body took, and how it is made: so many are tried, most of them changes
    of those that took most."""
    left = iter(range(count))

    def cost(recipe: costly.Recipe) -> float:
        return steps(partial(read, recipe.way, recipe.body(size)), 2 * most)

    return costly.climb(Random(seed), cost, lambda: next(left, None) is None)[0]


@pytest.mark.parametrize("record", [b"{}", b'{"type":"turn"}', b"0", b"x"])
@pytest.mark.parametrize("kind", [NDJSON, JSON, CLOUD])
def test_many_tiny_records_take_no_more_than_their_share(kind: str, record: bytes) -> None:
    between = b"\n" if kind == NDJSON else b","
    body = repeated(record, between, SMALL // 2)
    body = body if kind == NDJSON else b"[" + body + b"]"
    assert steps(partial(read, kind, body)) < MOST_OF_SMALL // 2


@pytest.mark.component
@pytest.mark.parametrize("seed", soaked(range(8), 1))
def test_no_body_of_64_kb_takes_more_than_its_share(seed: int) -> None:
    count, recipe = dearest(seed, 100, SMALL, MOST_OF_SMALL)
    print(f"at most {count:,} steps: {recipe}")
    assert count < MOST_OF_SMALL, recipe


@pytest.mark.nightly
@pytest.mark.parametrize("seed", soaked(range(4), 1))
def test_no_body_of_16_mb_takes_more_than_its_share(seed: int) -> None:
    count, recipe = dearest(seed, 30, LARGE, MOST_OF_LARGE)
    print(f"at most {count:,} steps: {recipe}")
    assert count < MOST_OF_LARGE, recipe


@pytest.mark.nightly
@pytest.mark.parametrize("seed", soaked(range(8), 1))
def test_no_body_of_16_mb_takes_ten_seconds_of_the_processor(seed: int) -> None:
    """Counts the time of C code as well. A second is the aim: 8,000 turns with 160 possible starts
    of images each take eight."""
    tries = iter(range(60))

    def cost(recipe: costly.Recipe) -> float:
        return seconds(partial(read, recipe.way, recipe.body(LARGE)), SECONDS_OF_LARGE)

    worst = costly.climb(Random(seed), cost, lambda: next(tries, None) is None)
    print(*(f"{found.cost:.2f} s: {found.recipe}" for found in worst[:10]), sep="\n")
    assert worst[0].cost < SECONDS_OF_LARGE, worst[0].recipe


PLAN = turn("p", type="write_plan", plan_id="p", user_id="u", extractor={"name": "n"},
            x="request meta q /9j", event_affect=costly.HOLE)  # fmt: skip
SIGNAL = turn("s", type="signal", signal_id="g", scope="session", x="request meta q /9j",
              metadata=costly.HOLE)  # fmt: skip
WORST = [
    costly.Recipe(costly.EVENT, frame(PLAN), "values", ('["/9j/4"]', "null", "9"), 4_000),
    costly.Recipe(NDJSON, frame(PLAN), "values", ('["/9j/4"]',), 4_000),
    costly.Recipe(NDJSON, frame(PLAN), "values", ("{}",), 4_000),
    costly.Recipe(NDJSON, frame(SIGNAL), "values", ('{"a":{}}', '["/9j/4"]', "{}"), 4_000),
    costly.Recipe(NDJSON, frame(turn("t", replaces=costly.HOLE)), "deep", ('{"a":{}}',), 4_000),
]
"""What the search found to take most."""


@pytest.mark.parametrize("recipe", WORST, ids=lambda recipe: "".join(recipe.units))
def test_what_took_most_of_the_processor_takes_no_more_than_its_share(
    recipe: costly.Recipe,
) -> None:
    assert steps(partial(read, recipe.way, recipe.body(SMALL))) < MOST_OF_SMALL


def test_of_a_record_with_many_short_texts_none_is_searched_for_an_image(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find, searched = images.Search.find, list[str]()

    def counting(search: images.Search, text: str) -> Iterator[tuple[int, int]]:
        searched.append(text)
        return find(search, text)

    monkeypatch.setattr(images.Search, "find", counting)
    read(NDJSON, WORST[1].body(SMALL))
    assert set(searched) <= {PLAN["x"]}


@pytest.mark.component
@pytest.mark.parametrize("seed", soaked(range(8), 1))
def test_16_mb_of_refused_lines_take_no_more_of_the_processor_than_their_share(seed: int) -> None:
    most = 4.0  # the budget is 1 s; beside three others on two cores it takes three times as long
    for line in islice(lines(Random(seed), WHOLE), 1, 40, 2):
        body = repeated(line.replace(b"\n", b" "), b"\n", LARGE)
        taken = seconds(partial(read, NDJSON, body), most)
        assert taken < most, line[:200]


def test_records_that_hold_too_much_together_are_refused_before_they_are_made() -> None:
    line = json.dumps(turn("e", x=[0] * 10_000)).encode()
    body = repeated(line, b"\n", len(line) * (json_limits.MAX_BODY_VALUES // 10_000 + 1))
    with pytest.raises(Problem) as refused:
        routes_records._records(body, NDJSON, False, RECORDS)
    assert refused.value.status == 413
    assert str(json_limits.MAX_BODY_VALUES) in json.loads(refused.value.body)["detail"]


def test_an_open_quotation_on_one_line_is_not_counted_on_the_next() -> None:
    text = json.dumps(turn("e", user_input="a, b: " * 2_000)).encode()
    body = b'{"type":"turn","x":"\n' + b"\n".join([text] * 100)
    assert len(routes_records._records(body, NDJSON, False, RECORDS)) == 101


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (b"{}", write_records.MOST_REFUSED),
        (b"{" + b" " * 799_998 + b"}", 5),
        (b"\x80" * 800_000, 5),
    ],
    ids=["many", "long", "no text"],
)
def test_where_too_many_are_refused_none_is_taken_and_the_first_are_named(
    line: bytes, count: int
) -> None:
    lines = [json.dumps(turn("e")).encode(), *[line] * (count + 1)]
    with pytest.raises(Problem) as refused:
        write_records._checked(lines, "default", LATEST, None)
    problem = json.loads(refused.value.body)
    assert problem["status"] == 422 and "none is taken" in problem["detail"]
    assert problem["errors"][0]["position"] == 2
    results, good = write_records._checked(lines[:-1], "default", LATEST, None)
    assert len(good) == 1 and len(results) == len(lines) - 1
