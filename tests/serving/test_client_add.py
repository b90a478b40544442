"""`add` of the Python clients, sync and async, against `turnfold serve`."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tests.serving.front import fronting
from tests.serving.serving import Server
from tests.serving.test_http_client import KINDS, Both, fresh
from turnfold_client import errors

QUESTION = {"role": "user", "content": "Where do I live?"}
ANSWER = {"role": "assistant", "content": "In Oslo."}


class ModelOfTheirs(BaseModel):
    """As OpenAI's own client gives a message."""

    role: str
    content: str
    refusal: str | None = None


@KINDS
def test_messages_become_a_turn(kind: type[Any], sample: Server) -> None:
    call, session = Both(kind, sample.url), fresh("s")
    asked = call("add", [QUESTION], user_id="maya", session_id=session, topic="home")
    assert [one.status for one in asked.turns] == ["running"]
    answered = call(
        "add",
        [ModelOfTheirs.model_validate(ANSWER)],
        user_id="maya",
        session_id=session,
        prefer="wait=20",
    )
    assert [(one.id, one.status) for one in answered.turns] == [(asked.turns[0].id, "done")]
    (conversation,) = call("session", session).conversations
    assert (conversation.user_input, conversation.agent_answer) == ("Where do I live?", "In Oslo.")
    assert call("session_context", session).current_topic == "home"


@KINDS
def test_each_call_counts_once_however_often_it_is_sent(kind: type[Any], sample: Server) -> None:
    session = fresh("s")
    with fronting(sample.url) as front:
        call = Both(kind, front.url)
        front.faults = [0, 503, 0]  # taken and not answered, not taken, taken and not answered
        reply = call("add", [QUESTION, ANSWER], user_id="maya", session_id=session)
        assert reply.counts == {"duplicate": 2}
        assert len({seen["idempotency-key"] for seen in front.seen}) == 1
        assert call("add", [QUESTION, ANSWER], user_id="maya", session_id=session).counts == {
            "applied": 2
        }
    assert len(Both(kind, sample.url)("session", session).conversations) == 2


@KINDS
def test_a_bad_message_is_named(kind: type[Any], sample: Server) -> None:
    with pytest.raises(errors.InvalidError, match=r"messages\[1\]\.role"):
        Both(kind, sample.url)("add", [QUESTION, {"role": "x", "content": ""}], user_id="maya")


@KINDS
def test_a_server_that_is_away_gets_all_of_it_later_once_and_in_order(
    kind: type[Any], sample: Server, tmp_path: Path
) -> None:
    """The last attempt before it was away had been taken, and not answered."""
    session, spool = fresh("s"), tmp_path / "spool"
    said = {"user_id": "maya", "session_id": session}
    with fronting(sample.url) as front:
        call = Both(kind, front.url, spool=spool, retries=0)
        assert call("add", [QUESTION], **said).turns[0].status == "running"
        front.faults = [0]
        assert call("add", [ANSWER], **said) is None
    away = Both(kind, front.url, spool=spool, retries=0)
    assert away("add", [QUESTION | {"content": "Since when?"}], **said) is None
    with pytest.raises(errors.UnreachableError, match=r"no answer from http://127.*turnfold serve"):
        away("flush")
    back = Both(kind, sample.url, spool=spool)
    before = len(spool.read_bytes().splitlines())
    assert before == 2, "the answer and the question"
    assert back("add", [ANSWER | {"content": "Since March."}], **said).turns[0].status == "done"
    assert spool.read_bytes() == b""
    conversations = back("session", session).conversations
    assert [(one.user_input, one.agent_answer, one.status) for one in conversations] == [
        ("Where do I live?", "In Oslo.", "done"),
        ("Since when?", "Since March.", "done"),
    ]
