"""Rows have names. What an entity keeps is asked for by typed keys, each kind declared once. A row
of the history is a struct, and one generated module knows the order of its values."""

from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import get_args

from schemas.base import DAY
from schemas.events import Turn
from schemas.generated import history
from schemas.row import asdict
from schemas.rows import TABLES
from schemas.rows import Source as SourceModel
from sinks.tables import to_arrow
from streams import folds
from streams.folds.effects import RowKind
from streams.pipeline.entity import COLD, ROW_KINDS
from tests.unit.session_told import Told, turn

ROWS = {row.table: row for row in get_args(history.HistoryRow)}
SOURCE = history.Source("default", 7, "turns", 1, 2)


def test_every_kind_of_row_that_a_fold_declares_can_be_decoded() -> None:
    (folder,) = map(Path, folds.__path__)
    modules = [import_module(f"streams.folds.{file.stem}") for file in folder.glob("[a-z]*.py")]
    declared = {
        id(kind): kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, RowKind)
    }
    assert len(declared) > 15
    known = {id(kind) for kinds in ROW_KINDS.values() for kind in kinds}
    assert not [kind.letter for number, kind in declared.items() if number not in known]


def test_no_two_kinds_of_a_table_have_one_letter() -> None:
    for table, kinds in ROW_KINDS.items():
        letters = Counter([COLD, *(kind.letter for kind in kinds)])
        assert max(letters.values()) == 1, f"{table}: {letters.most_common(1)}"
        assert all(len(letter) == 1 for letter in letters), "the first character tells the kind"


def test_every_table_has_a_struct_with_its_columns() -> None:
    for table, model in TABLES.items():
        assert ROWS[table].__struct_fields__ == tuple(model.model_fields)
    assert (*SOURCE.__struct_fields__, "date") == tuple(SourceModel.model_fields)
    for table, row in history.ROWS.items():
        assert row.table == table
        assert "occurred_at" in row.__struct_fields__


def test_a_row_is_stored_under_the_names_of_its_columns() -> None:
    for row in Told(turn("a", 0), turn("b", 1, status="running"), turn("b", 2)).history:
        stored = history.stored(row, SOURCE, row.occurred_at)
        (found,) = to_arrow(row.table, [stored]).select(
            [name for name in asdict(row) if name != "occurred_at"]
        ).to_pylist()  # fmt: skip
        expected = {name: value for name, value in asdict(row).items() if name != "occurred_at"}
        assert found == {k: list(v) if isinstance(v, tuple) else v for k, v in expected.items()}
        assert stored[-1] == row.occurred_at // DAY


def test_what_is_made_by_position_stands_under_its_names() -> None:
    """For speed `log.turn` and `links` name no columns: each value says here where it belongs."""
    own = {name: name for name in ("client_id", "task_id", "topic", "artifact", "error")}
    texts = {"user_input": "said", "agent_answer": "answered", "user_id": "somebody"}
    lesson = {"difficulty": "hard", "correct_rate": 0.25, "more": 1}
    made = Told(turn("a", 0, client_id="client_id"), turn(
        "b", 1, **own, **texts, source="chat", status="error", intent=["quiz", "x"],
        metadata=lesson, image_summaries=["a cat"], other="kept",
    ))  # fmt: skip
    event = next(row for row in reversed(made.history) if isinstance(row, history.Event))
    said = asdict(event)
    for name, value in {
        **own, **texts, "source": "chat", "status": "error", "event_id": "b",
    }.items():  # fmt: skip
        assert said[name] == value
    assert (event.intent, event.difficulty, event.correct_rate) == ("quiz", "hard", 0.25)
    assert list(event.image_summaries) == ["a cat"]
    assert event.metadata is not None and '"more":1' in event.metadata
    assert event.extra == '{"other":"kept"}'
    assert event.occurred_at == Turn.model_validate_json(event.doc).occurred_at
    (link,) = [row for row in made.history if isinstance(row, history.Link)]
    assert asdict(link) == {
        "op": "put", "owner_id": event.session_id, "from_event_id": "b", "to_event_id": "a",
        "label": "reply_to", "confidence": 0.5, "provisional": True, "seq": link.seq,
        "occurred_at": event.occurred_at, "session_id": event.session_id,
    }  # fmt: skip
