"""All dialogues of SGD: the context of each session equals one counted from the raw data."""

from pathlib import Path

import msgspec

from sinks.history import connect
from tests.acceptance import sgd
from tests.command import rows
from tests.shared_data import SGD, shared


def test_every_turn_is_in_the_history_once(sgd_run: Path) -> None:
    sql = "SELECT count(*), count(DISTINCT event_id), count(DISTINCT session_id) FROM events"
    assert rows(sgd_run / "history", sql) == [(38_568, 38_568, 5_110)]


def test_the_context_of_every_session_is_as_counted(sgd_run: Path) -> None:
    with connect(sgd_run / "history", views=["session_current"]) as db:
        sql = "SELECT session_id, doc FROM session_current"
        found = {key: msgspec.json.decode(doc) for key, doc in db.execute(sql).fetchall()}
    assert len(found) == 5_110
    wrong = {}
    for dialogue in sgd.dialogues(shared(*SGD)):
        expected = sgd.expected_context(dialogue)
        context = found[dialogue["dialogue_id"]]["context"]
        shown = {name: context[name] for name in expected}
        if shown != expected:
            wrong[dialogue["dialogue_id"]] = (expected, shown)
    assert not wrong


def test_every_session_counts_its_conversations(sgd_run: Path) -> None:
    expected = {d["dialogue_id"]: len(d["turns"]) // 2 for d in sgd.dialogues(shared(*SGD))}
    sql = "SELECT session_id, CAST(doc ->> '$.conversation_count' AS BIGINT) FROM session_current"
    assert dict(rows(sgd_run / "history", sql)) == expected


def test_each_turn_replies_to_the_one_before(sgd_run: Path) -> None:
    sql = (
        "SELECT from_event_id, to_event_id FROM link_current "
        "WHERE label = 'reply_to' AND provisional"
    )
    found = dict(rows(sgd_run / "history", sql))
    expected = {
        f"{dialogue['dialogue_id']}-{n}": f"{dialogue['dialogue_id']}-{n - 1}"
        for dialogue in sgd.dialogues(shared(*SGD))
        for n in range(1, len(dialogue["turns"]) // 2)
    }
    assert found == expected
