"""Whoever was told that a write is applied reads it, in questions to the past and by search, too:
these read the tables, which a server writes once a second."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from schemas.time import format_time
from tests.command import turn
from tests.serving.serving import Server
from tests.waiting import until
from turnfold_client import Turnfold

Read = Callable[[Turnfold, str, str, str], Any]
CHAT = [
    {"role": "user", "content": "My rowing boat is called Aurelia."},
    {"role": "assistant", "content": "A fine name."},
]


@pytest.fixture
def client(sample: Server) -> Iterator[Turnfold]:
    with Turnfold(sample.url) as made:
        yield made


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def of_context(client: Turnfold, user: str, session: str, at: str | None) -> Any:
    """Without a pack that says that the turns are missing: an index is built first."""
    text = ""

    def is_whole() -> bool:
        nonlocal text
        pack = client.context(user, query="What is my rowing boat called?", as_of=at)
        text = pack.text
        return not pack.missing

    until(is_whole)
    return text


def of_context_now(client: Turnfold, user: str, session: str, at: str) -> Any:
    return of_context(client, user, session, None)


def of_session_then(client: Turnfold, user: str, session: str, at: str) -> Any:
    return client.session(session, as_of=at)


def of_timeline(client: Turnfold, user: str, session: str, at: str) -> Any:
    return list(client.iter_timeline(session))


def of_search(client: Turnfold, user: str, session: str, at: str) -> Any:
    return client.search("rowing boat", user_id=user).hits


def of_session_search(client: Turnfold, user: str, session: str, at: str) -> Any:
    return client.search("rowing boat", session_id=session).hits


READS: list[Read] = [
    of_context, of_context_now, of_session_then, of_timeline, of_search, of_session_search,
]  # fmt: skip


@pytest.mark.parametrize("read", READS, ids=lambda read: read.__name__)
def test_a_turn_is_read_right_after_it_was_added(client: Turnfold, read: Read) -> None:
    """Also in a session that the tables know already: there is something to answer from."""
    user, session = uuid4().hex, uuid4().hex
    for name in ("Aurelia", "Borealis", "Celeste"):
        said = [{**CHAT[0], "content": CHAT[0]["content"].replace("Aurelia", name)}, CHAT[1]]
        reply = client.add(user_id=user, session_id=session, messages=said)
        assert reply.turns[0].ending == "applied"
        assert name in str(read(client, user, session, now())), name


@pytest.mark.parametrize(
    "read", [of_session_then, of_timeline, of_search], ids=lambda read: read.__name__
)
def test_so_is_a_question_without_an_answer(client: Turnfold, read: Read) -> None:
    user, session = uuid4().hex, uuid4().hex
    client.add(user_id=user, session_id=session, messages=CHAT)
    client.add(user_id=user, session_id=session,
               messages=[{"role": "user", "content": "Paint my rowing boat Violet?"}])  # fmt: skip
    assert "Violet" in str(read(client, user, session, now()))


def test_a_state_is_read_right_after_its_plan(client: Turnfold) -> None:
    user = uuid4().hex
    for city in ("Oslo", "Leiden"):
        at = format_time(time.time_ns() // 1000)
        plan = {
            "type": "write_plan", "plan_id": uuid4().hex, "user_id": user, "occurred_at": at,
            "extractor": {"name": "test", "version": "1"},
            "state_updates": [{"op": "upsert", "state_id": f"home-{user}", "kind": "fact",
                               "body_text": f"Lives in {city}.", "valid_from": at}],
        }  # fmt: skip
        reply = client.post_records([plan])
        assert reply.counts == {"applied": 1}
        assert city in str(client.states(user, as_of=now()))
        assert city in str(client.context(user, as_of=now()).text)


def test_what_others_write_is_not_waited_for(sample: Server, client: Turnfold) -> None:
    """A question about a user waits for the tables only if this user has just spoken."""
    user = uuid4().hex
    client.add(user_id=user, messages=CHAT)
    of_search(client, user, "", "")
    seconds = []
    for _ in range(5):
        others = [turn(uuid4().hex, session_id=uuid4().hex, user_id=uuid4().hex) for _ in range(3)]
        assert sample.endings(others) == ["applied"] * 3
        began = time.monotonic()
        of_search(client, user, "", "")
        seconds.append(time.monotonic() - began)
    assert min(seconds) < 0.2, seconds
