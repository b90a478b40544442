"""`mem0`: replies of `get_all` as facts of their users."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.base import DAY, parse_time
from schemas.events import RECORD_TYPES
from schemas.upcast import upcast
from streams.importers.base import ImportDefaults, ImportFault, NoUser, Skipped
from streams.importers.convert import convert
from tests.unit.memory_told import Memory

# as mem0's library (`Memory.get_all`) and its platform (`MemoryClient.get_all`) write them
LIBRARY: dict[str, Any] = {
    "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e", "memory": "Is allergic to nuts",
    "hash": "e10adc3949ba59abbe56e057f20f883e", "created_at": "2026-01-05T09:30:00.125000-08:00",
    "updated_at": None, "user_id": "maya", "run_id": "trip-1", "metadata": {"source": "chat"},
}  # fmt: skip
PLATFORM: dict[str, Any] = {
    "id": "b2f4", "memory": "Lives in Porto", "user_id": "maya", "agent_id": None,
    "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-02-01T00:00:00Z",
    "expiration_date": "2026-03-31", "categories": ["travel", "health"], "metadata": None,
}  # fmt: skip


def read(
    folder: Path,
    *documents: Any,
    skipped: Skipped | None = None,
    defaults: ImportDefaults | None = None,
) -> list[dict[str, Any]]:
    file = folder / "mem0.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in documents))
    found = list(convert("mem0", file, skipped, defaults or ImportDefaults()))
    for record in found:
        model = RECORD_TYPES[record["type"]].model_validate(upcast(dict(record)))
        assert model.model_extra == {}
    return found


def test_a_memory_is_a_fact_of_its_user(tmp_path: Path) -> None:
    (record,) = read(tmp_path, {"results": [LIBRARY]})
    (state,) = record["state_updates"]
    assert (record["user_id"], record["occurred_at"]) == ("maya", "2026-01-05T17:30:00.125000Z")
    assert (state["state_id"], state["body_text"]) == (LIBRARY["id"], "Is allergic to nuts")
    assert state["payload"] == {
        "source": "mem0", "run_id": "trip-1", "metadata": {"source": "chat"},
    }  # fmt: skip


def test_a_memory_holds_from_its_last_change_up_to_its_last_day(tmp_path: Path) -> None:
    (record,) = read(tmp_path, [PLATFORM])
    (state,) = record["state_updates"]
    assert state["valid_from"] == record["occurred_at"] == "2026-02-01T00:00:00Z"
    assert parse_time(state["valid_to"]) == parse_time("2026-03-31T00:00:00Z") + DAY
    assert state["payload"]["category"] == "health"


@pytest.mark.parametrize("categories", [5, True, "health", {"health": 1}, [5, None]])
def test_categories_that_are_no_list_of_texts_name_no_category(
    tmp_path: Path, categories: Any
) -> None:
    (record,) = read(tmp_path, {**PLATFORM, "categories": categories})
    (state,) = record["state_updates"]
    assert "category" not in state["payload"]


@pytest.mark.parametrize(
    "documents",
    [
        [{"count": 2, "next": None, "previous": None, "results": [LIBRARY, PLATFORM]}],
        [[LIBRARY, PLATFORM]],
        [LIBRARY, PLATFORM],
        [[{"results": [LIBRARY]}, {"results": [PLATFORM]}]],
    ],
)
def test_pages_arrays_and_lines_say_the_same(tmp_path: Path, documents: list[Any]) -> None:
    assert read(tmp_path, *documents) == read(tmp_path, LIBRARY, PLATFORM)


def test_a_later_export_changes_what_has_changed_and_doubles_nothing(tmp_path: Path) -> None:
    user = Memory("maya")
    moved = {**PLATFORM, "memory": "Lives in Braga", "updated_at": "2026-02-20T00:00:00Z"}
    first, again = read(tmp_path, PLATFORM), read(tmp_path, PLATFORM)
    assert first == again
    outcomes = [user.give(one) for one in (*first, *again, *read(tmp_path, moved))]
    assert outcomes == ["applied", "duplicate", "applied"]
    assert [one["body_text"] for one in user.states().values()] == ["Lives in Braga"]


def test_a_memory_of_no_user_needs_one_from_who_imports(tmp_path: Path) -> None:
    nobodys = {**LIBRARY, "user_id": None, "agent_id": "support"}
    with pytest.raises(NoUser, match="item 1, field user_id"):
        read(tmp_path, nobodys)
    (record,) = read(tmp_path, nobodys, defaults=ImportDefaults("ann"))
    assert record["user_id"] == "ann"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"id": None}, "item 2, field id: is missing"),
        ({"id": "x" * 129}, "item 2, field id: expected 1..128 characters"),
        ({"memory": {"a": 1}}, "item 2, field memory: expected text"),
        ({"created_at": "yesterday", "updated_at": None}, "item 2, field created_at: expected RFC"),
        ({"expiration_date": "2020-01-01"}, "item 2, field expiration_date: lies before"),
    ],
)
def test_a_bad_memory_is_refused_with_its_place(
    tmp_path: Path, changed: dict[str, Any], said: str
) -> None:
    with pytest.raises(ImportFault) as refused:
        read(tmp_path, PLATFORM, {**LIBRARY, **changed})
    assert str(refused.value).startswith(said)


def test_an_export_by_a_schema_of_ones_own_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ImportFault, match=r"export with get_all\(\)"):
        read(tmp_path, {"full_name": "Dev", "company": "TechCorp"})


def test_what_cannot_be_carried_over_is_counted(tmp_path: Path) -> None:
    skipped = Skipped()
    relations = [{"source": "maya", "relationship": "lives_in", "destination": "porto"}] * 2
    reply = {"results": [LIBRARY, {**PLATFORM, "memory": ""}], "relations": relations}
    assert len(read(tmp_path, reply, skipped=skipped)) == 1
    assert skipped == {"relation of the graph memory": 2, "memory without text": 1}


def test_a_memory_without_times_has_that_of_the_file(tmp_path: Path) -> None:
    bare = {"id": "1", "memory": "Has a dog", "user_id": "u"}
    skipped = Skipped()
    defaults = ImportDefaults(created=parse_time("2026-01-31T00:00:00Z"))
    (record,) = read(tmp_path, bare, skipped=skipped, defaults=defaults)
    assert record["occurred_at"] == "2026-01-31T00:00:00Z" and skipped.dated is not None
