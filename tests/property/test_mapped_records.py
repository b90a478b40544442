"""A mapped event gives the very record that was sent natively, and expressions mean what JMESPath
says."""

import json
from typing import Any

import jmespath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.folds.effects import Input
from streams.mapping.envelopes import Message
from streams.mapping.expressions import compiled
from streams.mapping.mapper import Mapper
from streams.pipeline.decode import decode
from tests.mapped import foreign, write_mapping
from tests.property.strategies import events, write_plans
from tests.property.world import Json, World

PLACE = ("events", 0, 1)


@pytest.fixture(scope="module")
def mapper(tmp_path_factory: pytest.TempPathFactory) -> Mapper:
    """A mapping of every field of every type of record."""
    return Mapper(write_mapping(tmp_path_factory.mktemp("mapping") / "all.yaml", "events"))


@settings(deadline=None, max_examples=40)
@given(records=st.tuples(events(), write_plans()).map(lambda both: both[0] + both[1]))
def test_mapped_records_fold_as_the_native_ones(mapper: Mapper, records: list[Json]) -> None:
    native, mapped = World(), World()
    mapped.applier.decode = mapper.sources["events"].decode
    for record in records:
        line, event = json.dumps(record).encode(), foreign(record)
        one, other = decode(line, PLACE), mapped.applier.decode(event, PLACE)
        assert isinstance(one, Input), one
        assert other == one
        assert mapped.say(event) == native.say(line)
    assert contents(mapped) == contents(native)


def contents(world: World) -> Any:
    """All that a world has made; of dead letters not the bytes, which differ."""
    letters = world.rows.pop("dead_letters")
    told = [{**letter, "payload": None} for letter in letters]
    return world.documents(), world.rows, told, world.counts, world.warnings


NAMES = st.sampled_from(("a", "b", '"c-d"'))
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.sampled_from(("", "x", "y", "0"))
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("a", "b", "c-d")), inner, max_size=3)
    ),
    max_leaves=12,
)
paths = st.builds(
    lambda first, rest: first + "".join(rest),
    NAMES,
    st.lists(NAMES.map(".{}".format) | st.sampled_from(("[0]", "[1]", "[-1]")), max_size=3),
)
terms = st.one_of(
    paths,
    st.builds("{} == 'x'".format, paths),
    st.builds("{} != 'x'".format, paths),
    st.builds("{} == `1`".format, paths),
    st.sampled_from(("'raw'", "`true`", "`0`", "@", "length(@)")),
)
expressions = st.recursive(
    terms,
    lambda inner: st.one_of(
        st.builds("({} || {})".format, inner, inner),
        st.builds("({} && {})".format, inner, inner),
        st.builds("!({})".format, inner),
        st.builds("{{p: {}, q: {}}}".format, inner, inner),
        st.builds("[{}, {}]".format, inner, inner),
    ),
    max_leaves=5,
)


def _value(read: Any, event: Any) -> Any:
    try:
        return json.dumps(read(event))
    except jmespath.exceptions.JMESPathError as error:
        return type(error).__name__


@settings(deadline=None, max_examples=500)
@given(expression=expressions, event=values)
def test_a_compiled_expression_has_the_value_that_jmespath_gives(
    expression: str, event: Any
) -> None:
    expected = _value(jmespath.compile(expression).search, event)
    assert _value(compiled(expression), event) == expected


def test_a_message_maps_to_the_same_record_whenever_it_is_read(mapper: Mapper) -> None:
    line = foreign({"type": "turn", "event_id": "e", "session_id": "s",
                    "occurred_at": "2026-01-01T00:00:00Z"})  # fmt: skip
    said = Message("events", 1_700_000_000_000, b"k")
    first, second = (mapper.sources["events"].map(line, PLACE, said) for _ in range(2))
    assert first.line == second.line
