"""The quick way in reads what the model reads, and leaves the rest to it."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.events import Turn
from streams.folds.effects import Input
from streams.pipeline import decode as edge
from streams.pipeline import fast_decode

TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["", "你好。", "iVBORw0KGgo" + "A" * 40, "see data:image/png;base64," + "A" * 40]
    ),
)
IDS = st.one_of(
    st.text(min_size=0, max_size=6), st.sampled_from(["e1", "a/b", "x" * 129, "全角　空白"])
)
TIMES = st.one_of(
    st.datetimes(timezones=st.none()).map(lambda t: t.isoformat()),
    st.sampled_from(
        ["2026-01-31T09:30:00Z", "2026-01-31T09:30:00+09:00", "2026-01-31T09:30:00.25Z",
         "2026-01-31t09:30:00z", "2026-01-31 09:30:00Z", "2026-13-31T09:30:00Z", 5, None]
    ),
)  # fmt: skip
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "type": st.just("turn"),
    "event_id": IDS,
    "session_id": IDS,
    "occurred_at": TIMES,
}
OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "recorded_at": TIMES,
    "schema_version": st.sampled_from([1, 2, 3, None, True, 1.0]),
    "tenant": IDS,
    "user_id": st.none() | IDS,
    "client_id": st.none() | IDS,
    "task_id": st.none() | IDS,
    "source": st.sampled_from(["chat", "reminder", "meta_request", "meta-request", "x" * 257]),
    "user_input": st.none() | TEXTS,
    "agent_answer": TEXTS | st.integers(),
    "angent_answer": TEXTS,
    "status": st.sampled_from(["running", "done", "error", "over"]),
    "error": st.none() | TEXTS,
    "intent": st.sampled_from([None, "", "quiz", "x" * 257, ["quiz", "notes"], []]),
    "topic": st.none() | TEXTS,
    "artifact": st.none() | TEXTS,
    "metadata": st.one_of(
        st.none(),
        st.dictionaries(
            st.sampled_from(["difficulty", "correct_rate", "note", "image"]),
            st.sampled_from(
                [None, "easy", "hard", 0, 1, 0.5, 1.5, "A" * 80, [[1]], {"b": 1, "a": 2}]
            ),
        ),
    ),
    "image_summaries": st.sampled_from([None, [], ["a cat"]]),
    "observations": st.sampled_from([None, []]),
    "session_status": st.sampled_from([None, "closed", "open"]),
    "subject": st.sampled_from([None, {"content": "c", "confidence": 1}]),
    "colour": TEXTS,
}
TURNS = st.fixed_dictionaries(FIELDS, optional=OPTIONAL)


@pytest.mark.component
@settings(max_examples=600)
@given(TURNS, st.booleans())
def test_the_quick_way_agrees_with_the_model(record: dict[str, Any], ascii_only: bool) -> None:
    line = json.dumps(record, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    quick = edge.decode(line, ("t", 0, 1))
    slow = _without_the_quick_way(line)
    assert type(quick) is type(slow)
    if not isinstance(quick, Input):
        assert quick == slow
        return
    assert isinstance(slow, Input)
    for name in Input.__struct_fields__:
        if name not in ("record", "plain"):
            assert getattr(quick, name) == getattr(slow, name), name
    for name in Turn.model_fields:
        if name == "metadata":  # the folds look at what the model knows of it; the rest is text
            assert _known(quick.record) == _known(slow.record)
        elif name != "schema_version":  # version 1 and 2 are one record
            assert getattr(quick.record, name) == getattr(slow.record, name), name


def _known(record: Any) -> tuple[Any, ...] | None:
    metadata = record.metadata
    return metadata and (metadata.difficulty, metadata.correct_rate)


def _without_the_quick_way(line: bytes) -> Any:
    read = fast_decode.read
    fast_decode.read = lambda _: None  # type: ignore[assignment]
    try:
        return edge.decode(line, ("t", 0, 1))
    finally:
        fast_decode.read = read


def test_it_has_a_turn_s_fields() -> None:
    names = {field.name for field in msgspec.structs.fields(fast_decode.PlainTurn)}
    assert names == set(Turn.model_fields)


def test_it_takes_what_nearly_every_record_is() -> None:
    line = (
        b'{"type":"turn","event_id":"e","session_id":"s","occurred_at":"2026-01-31T09:30:00Z",'
        b'"user_id":"u","user_input":"hello","metadata":{"correct_rate":1,"slots":{"city":["a"]}}}'
    )
    assert fast_decode.read(line) is not None
