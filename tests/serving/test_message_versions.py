"""Messages that are edited, answered again or deleted: memory is what the others alone make, and
`why` says what happened."""

from collections.abc import Iterator
from contextlib import ExitStack
from random import Random
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.command import turn
from tests.kafka.working import alone
from tests.serving.serving import Server, serving
from tests.waiting import until

Json = dict[str, Any]
SAYINGS = (
    "I live in Leeds.", "I moved to Oslo.", "I love tea.", "I hate running.", "I love running.",
    "I work at Acme.", "I am allergic to nuts.",
)  # fmt: skip
WAIT = {"prefer": "wait=60"}


@pytest.fixture(scope="module", params=["files", pytest.param("kafka", marks=pytest.mark.nightly)])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("versions")
    with ExitStack() as held:
        if request.param == "files":
            options = [f"--history={folder}", "--extractor=rules"]
        else:
            working = held.enter_context(alone(folder))
            working.start("--extractor", "rules")
            working.await_ready()
            options = list(working.at)
        server = held.enter_context(serving("--within=60", *options))
        server.until("/readyz", 200)
        yield server


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One with a history, which has the messages as they were sent."""
    with serving("--within=60", f"--history={tmp_path_factory.mktemp('originals')}") as server:
        yield server


def say(
    server: Server, user: str, text: str, id: str, at: int = 0, session: str = "", **more: Any
) -> httpx.Response:
    """A user's message and its answer, in the session of the user's name if no other."""
    when = {"created_at": 1_750_000_000 + 10 * at}
    messages = [
        {"role": "user", "content": text, "id": id, **when, **more},
        {"role": "assistant", "content": "Noted.", "id": f"{id}-answer"},
    ]
    body = {"user_id": user, "session_id": session or user, "messages": messages}
    return server.client.post("/v1/messages", json=body, headers=WAIT)


def delete(server: Server, session: str, id: str) -> httpx.Response:
    return server.client.delete(f"/v1/messages/{id}", params={"session_id": session}, headers=WAIT)


def document(server: Server, user: str) -> Json:
    """On Kafka the user has it a moment after the session."""
    deadline = monotonic() + 60
    while (reply := server.client.get(f"/v1/users/{user}")).status_code == 404:
        assert monotonic() < deadline
        sleep(0.02)
    found: Json = reply.json()
    return found


def holding(server: Server, user: str) -> set[tuple[str, str]]:
    """Texts of states that hold, and preferences that are not revoked."""
    found = document(server, user)
    states = {("", one["body_text"]) for one in found["states"]}
    likes = {
        (one["polarity"], one["subject"])
        for one in found["preferences"]
        if one["status"] != "revoked"
    }
    return states | likes


@pytest.mark.parametrize("seed", range(4))
def test_memory_is_what_the_messages_that_are_left_make(server: Server, seed: int) -> None:
    draw, user, other = Random(seed), uuid4().hex, uuid4().hex
    standing: list[tuple[list[str], str, int]] = []  # the ids of a message's versions; the latest
    for at in range(8):
        id, text = f"m{at}", draw.choice(SAYINGS)
        how = draw.random()
        versions = standing.pop(draw.randrange(len(standing)))[0] if standing and how < 0.6 else []
        if versions and how < 0.2:
            assert delete(server, user, draw.choice(versions)).json()["counts"] == {"applied": 1}
            continue
        replaced: Json = {"replaces": draw.choice(versions)} if versions else {}
        reply = say(server, user, text, id, at, **replaced)
        assert reply.status_code == 200, reply.text
        standing.append(([*versions, id], text, at))
    for versions, text, at in standing:
        assert say(server, other, text, versions[-1], at).status_code == 200
    until(lambda: holding(server, user) == (holding(server, other) if standing else set()))
    count = server.client.get(f"/v1/sessions/{user}").json()["conversation_count"]
    assert count >= len(standing)


def test_an_edit_is_the_reason_of_what_it_ends(server: Server) -> None:
    user = uuid4().hex
    say(server, user, "I live in Leeds.", "first")
    until(lambda: len(document(server, user)["states"]) == 1)
    (leeds,) = document(server, user)["states"]
    for _ in range(2):  # it may be sent again
        reply = say(server, user, "I like green tea.", "second", 1, replaces="first").json()
        assert [turn["id"] for turn in reply["turns"]] == ["second"]
    assert set(reply["counts"]) == {"duplicate"}
    until(lambda: document(server, user)["states"] == [])
    until(lambda: ("like", "green tea") in holding(server, user))

    why = f"/v1/states/{leeds['state_id']}/why"

    def changes() -> list[tuple[str, str]]:
        found = server.client.get(why).json()
        return [(one["op"], one["reason"]) for one in found.get("revisions", ())]

    if server.client.get(why).status_code == 501:
        return  # on Kafka a sink writes the history
    until(lambda: changes()[1:] == [("close", "the message was edited or answered again")])


def test_a_deletion_may_be_sent_again_and_takes_the_original_back(server: Server) -> None:
    user = uuid4().hex
    say(server, user, "I live in Leeds.", "first", original="as sent")
    assert delete(server, user, "first").json()["counts"] == {"applied": 2}
    assert delete(server, user, "first").json() == {"counts": {}, "results": []}
    until(lambda: holding(server, user) == set())


def originals(server: Server, session: str) -> set[str]:
    reply = server.client.get(f"/v1/sessions/{session}/messages")
    assert reply.status_code == 200, reply.text
    return {one["original"] for one in reply.json()["messages"]}


@pytest.mark.component
@pytest.mark.parametrize("seed", range(2))
def test_a_deletion_takes_back_the_originals_of_the_versions_before_it(
    files: Server, seed: int
) -> None:
    """Of any version, in whatever order they replace each other; later versions stay."""
    draw, user, listed, deleted = Random(seed), uuid4().hex, set[str](), set[str]()
    messages: list[list[str]] = []
    for at in range(12):
        versions = draw.choice(messages) if messages and draw.random() < 0.8 else []
        if versions and draw.random() < 0.5:
            id = draw.choice(versions)
            assert delete(files, user, id).status_code == 200
            listed -= set() if id in deleted else {*versions}
            deleted.add(id)
        else:
            id = f"m{at}"
            replaced: Json = {"replaces": draw.choice(versions)} if versions else {}
            body = {"id": id, "role": "user", "content": draw.choice(SAYINGS), "original": id}
            answer = {"role": "assistant", "content": "Noted."}
            sent = {"user_id": user, "session_id": user, "messages": [body | replaced, answer]}
            reply = files.client.post("/v1/messages", json=sent, headers=WAIT)
            assert reply.status_code == 200, reply.text
            listed.add(id)
            if not versions:
                messages.append(versions)
            versions.append(id)
        assert originals(files, user) == listed


def test_a_message_in_a_session_of_many_users_is_deleted(files: Server) -> None:
    """A session's rows name 64 of them, by id."""
    session, users = uuid4().hex, [f"user-{number:02}" for number in range(70)]
    turns = [turn(f"e-{user}", session_id=session, user_id=user) for user in users]
    assert set(files.endings(turns)) == {"applied"}
    for user in (users[0], users[-1]):
        assert delete(files, session, f"e-{user}").status_code == 200
    query: Json = {"q": "say", "session_id": session, "limit": 100}
    for user in (users[0], users[-1]):  # whose plan may be in the tables a moment later
        found = files.client.get("/v1/search", params=query | {"user_id": user})
        assert found.json()["hits"] == []
    found = files.client.get("/v1/search", params=query)
    assert {one["user_id"] for one in found.json()["hits"]} == set(users[1:-1])


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_message_of_another_session_with_that_id_stays(server: Server, how: str) -> None:
    """Ids are unique in their session; many programs count from 1 in each."""
    user = uuid4().hex
    say(server, user, "I live in Leeds. I love tea.", "1")
    say(server, user, "I am allergic to nuts. I love tea.", "1", 1, session=f"{user}-2")
    if how == "deleted":
        delete(server, user, "1")
    else:
        say(server, user, "I like jazz.", "2", 2, replaces="1")
    say(server, user, "I work at Acme.", "1", 3, session=f"{user}-3")
    until(lambda: any("Acme" in text for _, text in holding(server, user)))
    texts = " ".join(text for _, text in holding(server, user))
    assert "Leeds" not in texts and "nuts" in texts and "tea" in texts


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"replaces": "unknown"}, "no turn of this session begins with that message"),
        ({"replaces": "first-answer"}, "no turn of this session begins with that message"),
        ({"replaces": "new"}, "the message's own id"),
        ({"replaces": ""}, "at least 1 character"),
        ({"replaces": 7}, "valid string"),
    ],
)
def test_what_replaces_nothing_is_refused_and_nothing_is_written(
    server: Server, more: Json, reason: str
) -> None:
    user = uuid4().hex
    say(server, user, "I live in Leeds.", "first")
    reply = say(server, user, "I live in Oslo.", "new", 1, **more)
    assert reply.status_code == 422
    (fault,) = reply.json()["errors"]
    assert fault["field"] == "messages[0].replaces"
    assert reason in fault["reason"]
    assert server.client.get(f"/v1/sessions/{user}").json()["conversation_count"] == 1


def test_only_a_users_message_replaces_or_is_deleted(server: Server) -> None:
    user = uuid4().hex
    say(server, user, "I live in Leeds.", "first")
    answer = {"role": "assistant", "content": "Better.", "replaces": "first-answer"}
    body = {"user_id": user, "session_id": user, "messages": [answer]}
    reply = server.client.post("/v1/messages", json=body)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, "messages[0].replaces")
    for id in ("first-answer", "unknown"):
        assert delete(server, user, id).status_code == 404
    assert delete(server, uuid4().hex, "first").status_code == 404
    until(lambda: len(holding(server, user)) == 1)
