"""Whoever was told that a write is applied reads it, in questions to the past and by search, too:
these read the tables, which a server writes once a second."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from schemas.time import format_time
from streams.serving.backends import fold_thread
from streams.serving.backends.backend import Subject
from streams.serving.backends.embedded import EmbeddedBackend
from tests.command import turn
from tests.serving.serving import Server
from tests.waiting import WITHIN, until
from turnfold_client import Turnfold

Read = Callable[[Turnfold, str, str, str], Any]
CHAT = [
    {"role": "user", "content": "My rowing boat is called Aurelia."},
    {"role": "assistant", "content": "A fine name."},
]


@pytest.fixture
def client(sample: Server) -> Iterator[Turnfold]:
    # 503 says that the tables are not there yet: on a busy machine that may be
    with Turnfold(sample.url, retries=60) as made:
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
    for name in ("Aurelia", "Borealis"):
        said = [{**CHAT[0], "content": CHAT[0]["content"].replace("Aurelia", name)}, CHAT[1]]
        reply = client.add(user_id=user, session_id=session, messages=said)
        assert reply is not None and reply.turns[0].ending == "applied"
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


async def test_what_others_write_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only for who waits, and then before it is due."""
    monkeypatch.setattr(fold_thread, "EVERY", 1e9)
    said = turn("e1", session_id="s1", user_id="ann", status="running", agent_answer="")
    async with EmbeddedBackend(tmp_path / "h") as memory:
        assert not memory.unwritten("default")
        await memory.submit([json.dumps(turn("e0", session_id="s0")).encode()], WITHIN)
        assert await memory.written("default", WITHIN)
        (outcome,) = await memory.submit([json.dumps(said).encode()], WITHIN)
        assert outcome.ending == "applied"
        subjects: tuple[Subject, ...] = (("sessions", "s1"), ("users", "ann"))
        for subject in subjects:
            assert memory.unwritten("default", subject)
            assert not memory.unwritten("default", (subject[0], "other"))
            assert not memory.unwritten("elsewhere", subject)
        assert not memory.unwritten("default", ("sessions", "s0"), ("users", "u"))
        assert await memory.written("default", 0, ("users", "other"))
        assert not await memory.written("default", 0, ("users", "ann"))
        assert await memory.written("default", WITHIN, ("users", "ann"))
        assert not memory.unwritten("default")
