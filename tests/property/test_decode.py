"""The canonical form decides whether two records say the same (docs/rules.md, "One event").

The quick way in for plain turns has a test of its own, `test_plain_turn.py`.
"""

import json
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.events import Turn
from schemas.upcast import upcast
from streams.folds.effects import Input
from streams.folds.ids import canonical
from streams.pipeline.decode import content_of, decode
from tests.property.strategies import turn_fields
from tests.property.world import Json, turn

CALM = settings(suppress_health_check=[HealthCheck.too_slow])


def read(record: Json, indent: int | None = None) -> Input:
    line = json.dumps(record, ensure_ascii=False, indent=indent).encode()
    given_record = decode(line, ("test", 0, 1))
    assert isinstance(given_record, Input), given_record
    return given_record


@CALM
@given(turn_fields)
def test_a_turn_has_the_canonical_json_of_its_model(fields: Json) -> None:
    record = turn("e1", 0, **fields)
    model = Turn.model_validate(upcast(json.loads(json.dumps(record))))
    assert read(record).doc == canonical(content_of(model))


@CALM
@given(turn_fields, st.randoms(use_true_random=False), st.booleans())
def test_order_offset_nulls_and_white_space_change_no_content(
    fields: Json, shuffle: Random, wide: bool
) -> None:
    record = turn("e1", 0, **fields)
    one = read(record)
    same = {"occurred_at": "2025-01-01T09:00:00+09:00", "schema_version": 2, "error": None}
    pairs = list({**record, **same, "recorded_at": "2026-03-01T00:00:00Z"}.items())
    shuffle.shuffle(pairs)
    other = read(dict(pairs), 2 if wide else None)
    assert (one.fingerprint, one.doc) == (other.fingerprint, other.doc)


@CALM
@given(turn_fields)
def test_another_word_is_other_content(fields: Json) -> None:
    record = turn("e1", 0, **fields)
    other = {**record, "user_input": record.get("user_input", "") + "!"}
    assert read(record).fingerprint != read(other).fingerprint
