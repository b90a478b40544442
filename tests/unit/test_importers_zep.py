"""`zep`: threads as sessions, facts of the graph as facts of their users."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.events import RECORD_TYPES
from schemas.upcast import upcast
from streams.importers.base import ImportDefaults, ImportFault, NoUser, Skipped
from streams.importers.convert import convert

# as `thread.get` answers, with the thread's id
THREAD: dict[str, Any] = {
    "thread_id": "t1", "user_id": "maya", "row_count": 2, "total_count": 2,
    "thread_created_at": "2026-01-05T09:00:00Z",
    "messages": [
        {"uuid": "m1", "role": "user", "name": "Maya", "content": "I moved to Porto.",
         "created_at": "2026-01-05T09:30:00.5Z", "processed": True},
        {"uuid": "m2", "role": "assistant", "content": "Noted.",
         "created_at": "2026-01-05T09:31:00Z"},
    ],
}  # fmt: skip
# as `graph.edge.get_by_user_id` answers
EDGE: dict[str, Any] = {
    "uuid": "e1", "name": "LIVES_IN", "fact": "Maya lives in Porto", "score": None,
    "source_node_uuid": "n1", "target_node_uuid": "n2", "episodes": ["m1"],
    "created_at": "2026-01-05T09:32:00Z", "valid_at": "2026-01-05T09:30:00Z",
    "invalid_at": None, "expired_at": None, "attributes": {"edge_type": "LIVES_IN"},
}  # fmt: skip


def read(
    folder: Path,
    *documents: Any,
    skipped: Skipped | None = None,
    defaults: ImportDefaults | None = None,
) -> list[dict[str, Any]]:
    file = folder / "zep.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in documents))
    found = list(convert("zep", file, skipped, defaults or ImportDefaults()))
    for record in found:
        model = RECORD_TYPES[record["type"]].model_validate(upcast(dict(record)))
        assert model.model_extra == {}
    return found


def test_a_thread_is_a_session_of_its_user(tmp_path: Path) -> None:
    turn, answered = read(tmp_path, THREAD)
    assert (turn["session_id"], turn["user_id"]) == ("t1", "maya")
    assert (turn["user_input"], turn["agent_answer"]) == ("I moved to Porto.", "Noted.")
    assert turn["occurred_at"] == "2026-01-05T09:30:00.500000Z"
    assert answered["occurred_at"] == "2026-01-05T09:31:00Z"


def test_older_replies_have_the_role_elsewhere(tmp_path: Path) -> None:
    messages = [{**one, "role_type": one["role"], "role": "Maya"} for one in THREAD["messages"]]
    old = {**THREAD, "messages": messages, "session_id": THREAD["thread_id"]}
    del old["thread_id"]
    assert read(tmp_path, old) == read(tmp_path, THREAD)


def test_a_fact_holds_for_its_user_as_long_as_it_is_valid(tmp_path: Path) -> None:
    ended = {**EDGE, "uuid": "e2", "invalid_at": "2026-02-01T00:00:00Z"}
    held, over = read(tmp_path, {"user_id": "maya", "edges": [EDGE, ended]})
    (state,) = held["state_updates"]
    assert (held["user_id"], held["occurred_at"]) == ("maya", "2026-01-05T09:32:00Z")
    assert (state["state_id"], state["body_text"]) == ("e1", "Maya lives in Porto")
    assert state["valid_from"] == "2026-01-05T09:30:00Z" and "valid_to" not in state
    assert state["payload"]["relation"] == "LIVES_IN"
    assert over["state_updates"][0]["valid_to"] == "2026-02-01T00:00:00Z"


def test_threads_and_facts_may_stand_in_one_file_in_any_form(tmp_path: Path) -> None:
    alone = {**EDGE, "user_id": "maya"}
    apart = read(tmp_path, THREAD, alone)
    assert read(tmp_path, [THREAD, alone]) == apart
    assert read(tmp_path, {**THREAD, "edges": [EDGE]}) == [apart[2], *apart[:2]]
    assert read(tmp_path, {"threads": [THREAD]}, {"user_id": "maya", "edges": [EDGE]}) == apart


def test_what_names_no_user_needs_one_from_who_imports(tmp_path: Path) -> None:
    for nobodys in ({**THREAD, "user_id": None}, EDGE, {"edges": [EDGE]}):
        with pytest.raises(NoUser):
            read(tmp_path, nobodys)
        assert {
            one.get("user_id") for one in read(tmp_path, nobodys, defaults=ImportDefaults("ann"))
        } & {"ann"}


@pytest.mark.parametrize("episodes", [5, True, "e1", {"e1": 1}])
def test_episodes_that_are_no_list_are_none(tmp_path: Path, episodes: Any) -> None:
    skipped = Skipped()
    fact = {**EDGE, "user_id": "maya", "episodes": episodes}
    assert len(read(tmp_path, fact, skipped=skipped)) == 1
    assert not skipped


def test_what_cannot_be_carried_over_is_counted(tmp_path: Path) -> None:
    skipped = Skipped()
    told = {"role": "norole", "content": "x"}
    marked = {**THREAD["messages"][0], "metadata": {"a": 1}}
    read(
        tmp_path, {**THREAD, "messages": [told, marked]},
        {"user_id": "maya", "edges": [EDGE], "nodes": [{}, {}], "episodes": [{}]}, skipped=skipped,
    )  # fmt: skip
    assert skipped == {
        "message without a role": 1, "metadata of a message": 1, "node of the graph": 2,
        "episode of the graph": 1, "link from a fact to an episode": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"user_id": "u"}, "item 2: expected a thread with `messages` or a fact"),
        (3, "item 2: expected an object"),
        ({**THREAD, "messages": {}}, "item 2, field messages: expected an array"),
        (
            {**THREAD, "messages": [{"role": "robot", "content": "x"}]},
            "item 2, field messages[0].role",
        ),
        ({**EDGE, "user_id": "u", "uuid": None}, "item 2, field uuid: is missing"),
        ({**EDGE, "user_id": "u", "fact": ""}, "item 2, field fact: expected text"),
        (
            {**EDGE, "user_id": "u", "invalid_at": "2025-01-01T00:00:00Z"},
            "item 2, field invalid_at",
        ),
        (
            {**EDGE, "user_id": "u", "expired_at": "2025-01-01T00:00:00Z"},
            "item 2, field expired_at",
        ),
        (
            {**EDGE, "user_id": "u", "valid_at": 1e12},
            "item 2, field valid_at: 1000000000000.0 lies",
        ),
    ],
)
def test_a_bad_item_is_refused_with_its_place(tmp_path: Path, item: Any, said: str) -> None:
    with pytest.raises(ImportFault) as refused:
        read(tmp_path, THREAD, item)
    assert str(refused.value).startswith(said)
