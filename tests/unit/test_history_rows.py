"""Messages of `history` as columns: a whole row or none, and what is wrong with what is none."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, get_args

import pytest
from aiokafka.structs import TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from schemas.export import full_row
from schemas.rows import TABLES
from streams.kafka.sink.batch import MISFIT, PACK_ROWS, SinkBatch
from streams.kafka.sink.history_rows import BLOCK_BYTES, parse
from tests.kafka.history import message

AT = TopicPartition("history", 1)
MOMENT = 1_767_225_600_123_456
TEXTS = ("", "a", 'quote " and \\ and \n', "ü 😀", "\u0000", "x" * 3_000)
SOURCE = {"tenant": "default", "recorded_at": MOMENT, "src_topic": "turns", "src_partition": 0,
          "src_offset": 1, "date": 20_454}  # fmt: skip
AFFECT = {**SOURCE, "event_id": "e", "user_id": "u", "session_id": None, "v": 0.5, "a": -1.0,
          "d": 0.0, "text": "t", "labels": ["x"], "confidence": 1.0, "from_plan": False,
          "occurred_at": MOMENT}  # fmt: skip
LINK = {**SOURCE, "op": "put", "owner_id": "s", "from_event_id": "a", "to_event_id": "b",
        "label": "reply_to", "confidence": 1.0, "provisional": True, "seq": 1,
        "occurred_at": MOMENT}  # fmt: skip
EXAMPLES: dict[Any, Any] = {int: 1, float: 1.0, bool: True}


class Raw(NamedTuple):
    """A record as aiokafka's parser makes it."""

    offset: int
    value: bytes | None
    timestamp: int = 1_767_225_600_000
    key: bytes | None = b"k"
    headers: Sequence[tuple[str, bytes]] = (("table", b"affects"),)


def affect(**changed: Any) -> bytes:
    return message("affects", AFFECT | changed, 0, 0).value


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=5), st.floats(-1, 1), st.booleans())
def test_the_values_are_those_of_the_model(texts: list[str], number: float, flag: bool) -> None:
    given_rows = [
        AFFECT | {"text": text, "labels": texts, "v": number, "from_plan": flag, "session_id": text}
        for text in texts
    ]
    found = parse("affects", [message("affects", row, 0, 0).value for row in given_rows])
    for row, wanted in zip(found.to_pylist(), given_rows, strict=True):
        shown = {name: row[name] for name in ("text", "labels", "v", "from_plan", "session_id")}
        assert shown == {name: wanted[name] for name in shown}
        assert row["occurred_at"].timestamp() == MOMENT / 1e6


def test_bytes_are_read_of_either_alphabet() -> None:
    payload = bytes(range(256))
    row = {"reason": "r", "detail": "d", "payload": payload, "key": None, "headers": None, **SOURCE}
    value = message("dead_letters", row, 0, 0).value
    text = json.loads(value)["payload"].encode()
    standard = text.replace(b"-", b"+").replace(b"_", b"/")
    assert standard != text
    found = parse("dead_letters", [value, value.replace(text, standard)])
    assert found["payload"].to_pylist() == [payload, payload]


WRONG = [
    (b"", "one JSON object"), (b"   ", "one JSON object"), (b"{", "name"),
    (b"null", "one JSON object"), (b"[1]", "one JSON object"),
    (affect() + b"\n", "one JSON object"), (affect() + b"{}", "several"),
    (affect() + affect(), "several"), (affect() + b" x", "Invalid value"),
    (affect().replace(b'"text":"t",', b""), "affects.text: missing"),
    (affect().replace(b'"t"', b"null"), "affects.text: missing"),
    (affect().replace(b'"t"', b"5"), "text"), (affect().replace(b'"t"', b'"t","text":"u"'), "text"),
    (affect().replace(b'"t"', b'"\xff"'), "affects.text"),
    (affect().replace(b'"t"', b'"\\ud83d"'), "surrogate"),
    (affect().replace(b"0.5", b"NaN"), "affects.v: not a finite"),
    (affect().replace(b"0.5", b"1e999"), "too big"), (affect().replace(b"0.5", b'"0.5"'), "v"),
    (affect().replace(b"20454", b"1.5"), "1.5"),
    (affect().replace(b'["x"]', b"[null]"), "affects.labels: a null"),
    (affect().replace(b'["x"]', b'["x",1]'), "labels"),
    (affect().replace(b"2026-01-01T", b"yesterday"), "affects.occurred_at"),
    (affect()[:-1] + b',"new_column":1}', "new_column"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "reason"), WRONG)
def test_what_is_wrong_is_said_and_the_others_are_rows(value: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse("affects", [value])
    with pytest.raises(ValueError):
        parse("affects", [affect(), value, affect()])


def test_a_word_that_is_no_choice_and_a_table_that_is_none() -> None:
    good = message("links", LINK, 0, 0).value
    assert parse("links", [good]).num_rows == 1
    with pytest.raises(ValueError, match=r"links\.op: not one of put, remove"):
        parse("links", [good.replace(b'"put"', b'"push"')])
    with pytest.raises(ValueError, match="no table 'nothing'"):
        parse("nothing", [good])


@pytest.mark.parametrize("table", TABLES)
def test_only_what_may_be_null_may_be_missing(table: str) -> None:
    model = full_row(table)
    fields = {"labels": [], "image_summaries": [], "evidence_event_ids": [], "op": "put",
              "payload": b""}  # fmt: skip
    row: dict[str, Any] = {**dict.fromkeys(model.model_fields), **fields}
    hints = {name: field.annotation for name, field in model.model_fields.items()}
    nullable = {name for name, hint in hints.items() if type(None) in get_args(hint)}
    for name, hint in hints.items():
        if row[name] is None and name not in nullable:
            row[name] = EXAMPLES.get(hint, "x")
    row |= dict.fromkeys(("occurred_at", "recorded_at", "created_at", "updated_at"), MOMENT)
    row = {name: row[name] for name in hints}
    whole = json.loads(model.model_construct(None, **row).model_dump_json())
    for name in hints:
        value = json.dumps({one: whole[one] for one in whole if one != name}).encode()
        if name in nullable:
            assert parse(table, [value])[name].to_pylist() == [None]
        else:
            with pytest.raises(ValueError, match=name):
                parse(table, [value])


def test_a_message_of_any_size_is_a_row_among_small_ones() -> None:
    """However the text is cut for the cores."""
    sizes = [1, 3 * BLOCK_BYTES, 10, BLOCK_BYTES, *[700] * 3_000]
    values = [affect(event_id=f"e{at}", text="x" * size) for at, size in enumerate(sizes)]
    found = parse("affects", values)
    assert found["event_id"].to_pylist() == [f"e{at}" for at in range(len(sizes))]
    assert [len(text or "") for text in found["text"].to_pylist()] == sizes


def test_misfits_among_many_are_found_and_bury_nobody_else() -> None:
    batch = SinkBatch()
    count, wrong = PACK_ROWS * 2 + 10, {0, 77, PACK_ROWS, PACK_ROWS * 2 + 9}
    for offset in range(count):
        value = b'{"event_id":1}' if offset in wrong else affect(event_id=f"e{offset}")
        batch.add(AT, "affects", Raw(offset, value))
    batch.upto[AT] = count - 1
    found = batch.pieces({AT: "app"})
    (rows,), (dead,) = found["affects"], found["dead_letters"]
    assert list(rows.offsets) == [one for one in range(count) if one not in wrong]
    assert rows.rows["event_id"].to_pylist() == [f"e{one}" for one in rows.offsets]
    assert (set(dead.offsets), batch.misfits) == (wrong, len(wrong))
    assert set(dead.rows["reason"].to_pylist()) == {MISFIT}
    assert set(dead.rows["src_partition"].to_pylist()) == {1}


def test_of_a_document_the_newest_of_a_batch_is_kept() -> None:
    document = {**SOURCE, "session_id": "s", "user_id": None, "status": "active",
                "closed_reason": None, "created_at": MOMENT, "updated_at": MOMENT,
                "version": 7}  # fmt: skip
    batch = SinkBatch()
    for offset in range(PACK_ROWS + 100):
        row = document | {"session_id": f"s{offset % 7}", "doc": str(offset)}
        batch.add(AT, "sessions", Raw(offset, message("sessions", row, 0, 0).value))
    (piece,) = batch.pieces({AT: "app"})["sessions"]
    newest = range(PACK_ROWS + 93, PACK_ROWS + 100)
    assert list(piece.offsets) == list(newest)
    assert piece.rows["doc"].to_pylist() == [str(one) for one in newest]
