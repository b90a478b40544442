"""The Python clients, sync and async, against `turnfold serve`."""

import asyncio
import inspect
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import turnfold_client
from tests.command import turn, turnfold
from tests.serving.front import Front, fronting
from tests.serving.serving import Server, serving
from tests.waiting import until
from turnfold_client import (
    AsyncTurnfold,
    SessionEvent,
    SessionUpdate,
    Turnfold,
    UserEvent,
    UserUpdate,
    errors,
)
from turnfold_client.events import Blocks
from turnfold_client.models import (
    ProblemDocument,
    SearchHit,
    SessionContext,
    SessionDocument,
    TimelineTurn,
    Turn,
    UserLearningProfile,
)

pytestmark = pytest.mark.component

DOCUMENT = json.loads(Path("schemas/generated/openapi.json").read_text(encoding="utf-8"))
OPERATIONS = {
    said["operationId"]: said for ways in DOCUMENT["paths"].values() for said in ways.values()
}


class Both:
    """Calls a method of the sync or of the async client; an iterator's items as a list."""

    def __init__(self, kind: type[Turnfold] | type[AsyncTurnfold], url: str, **options: Any):
        self._make: Callable[[], Any] = lambda: kind(url, **options)

    def __call__(self, name: str, *args: Any, **options: Any) -> Any:
        client = self._make()
        if isinstance(client, AsyncTurnfold):
            return asyncio.run(self._later(client, name, *args, **options))
        with client:
            found = getattr(client, name)(*args, **options)
            return list(found) if isinstance(found, Iterator) else found

    def until(self, told: Callable[[Any], Any], name: str, *args: Any, **options: Any) -> Any:
        """Calls until the history, which is written within seconds of the rows, has told that."""

        def ask() -> Any:
            with suppress(errors.NotFoundError):
                reply = self(name, *args, **options)
                return (reply,) if told(reply) else None

        return until(ask, every=0.2, told=lambda: f"{name}{args} {options}: not in the history")[0]

    async def _later(self, client: AsyncTurnfold, name: str, *args: Any, **options: Any) -> Any:
        async with client:
            found = getattr(client, name)(*args, **options)
            return [one async for one in found] if isinstance(found, AsyncIterator) else await found


KINDS = pytest.mark.parametrize("kind", [Turnfold, AsyncTurnfold], ids=["sync", "async"])


@pytest.fixture(params=[Turnfold, AsyncTurnfold], ids=["sync", "async"])
def call(request: pytest.FixtureRequest, sample: Server) -> Both:
    return Both(request.param, sample.url)


def fresh(word: str) -> str:
    return f"{word}-{uuid4().hex[:8]}"


def shown(said: Mapping[str, Any]) -> dict[str, bool]:
    """Python's names of an operation's parameters: whether each must be given."""
    renamed = {"from": "from_", "to": "to_", "q": "query"}
    found: dict[str, bool] = {}
    for one in said.get("parameters", ()):
        if one["schema"].get("type") == "object":  # its properties are parameters, any of them
            found |= dict.fromkeys(one["schema"]["properties"], False)
        else:
            name = one["name"].lower().replace("-", "_")
            found[renamed.get(name, name)] = one.get("required", False)
    if "requestBody" in said:
        schema = said["requestBody"]["content"]["application/json"]["schema"]
        found["body" if "$ref" in schema else "records"] = True
    return found


@KINDS
def test_every_operation_is_a_method_with_its_parameters(kind: type[Any]) -> None:
    assert OPERATIONS
    for name, said in OPERATIONS.items():
        parameters = dict(inspect.signature(getattr(kind, name)).parameters)
        del parameters["self"]
        taken = {name: one.default is one.empty for name, one in parameters.items()}
        assert taken == shown(said), name


def test_both_clients_are_the_same_but_for_waiting() -> None:
    one, other = (
        {name: str(inspect.signature(found)).replace("Async", "")
         for name, found in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}
        for kind in (Turnfold, AsyncTurnfold)
    )  # fmt: skip
    other["close"] = other.pop("aclose")
    assert one == other


def test_what_is_exported_is_there_and_every_error_is_told_of() -> None:
    for name in turnfold_client.__all__:
        assert hasattr(turnfold_client, name)
    made = {
        name for name, found in vars(errors).items()
        if isinstance(found, type) and issubclass(found, errors.ClientError)
    }  # fmt: skip
    assert made <= set(turnfold_client.__all__)
    assert all(name in str(errors.__doc__) for name in made)


def test_records_come_back_as_documents(call: Both) -> None:
    session, user = fresh("s"), fresh("u")
    first = Turn.model_validate(
        turn(fresh("e"), session_id=session, user_id=user, user_input="tea?", agent_answer="Tea.")
        | {"occurred_at": "2026-03-01T09:30:00Z"}
    )
    second = turn(fresh("e"), session_id=session, user_id=user, intent="quiz")
    reply = call("post_records", [first, second])
    assert reply.counts == {"applied": 2}
    assert [one.id for one in reply.results] == [first.event_id, second["event_id"]]
    assert call("post_records", [first]).counts == {"duplicate": 1}
    document = call("session", session)
    assert isinstance(document, SessionDocument) and document.session_id == session
    assert isinstance(call("session_context", session), SessionContext)
    turns = call.until(lambda found: len(found) == 2, "iter_timeline", session, limit=1)
    assert all(isinstance(one, TimelineTurn) for one in turns)
    assert [one.event_id for one in turns] == [second["event_id"], first.event_id]
    page = call("timeline", session, limit=1)
    assert len(page.turns) == 1 and page.next
    hits = call.until(lambda page: page.hits, "search", "tea", session_id=session).hits
    assert isinstance(hits[0], SearchHit) and hits[0].id == first.event_id
    assert call("user", user).user_id == user
    then = call("session", session, as_of=datetime(2026, 2, 1, tzinfo=UTC))
    assert [one.user_input for one in then.conversations] == [second["user_input"]]


def test_updates_answer_with_what_they_made(call: Both) -> None:
    session, user = fresh("s"), fresh("u")
    context = call("update_session", SessionUpdate(session_id=session, topic="数学"))
    assert context.current_topic == "数学"
    given = UserUpdate(user_id=user, event=UserEvent(intent="quiz", topic="数学"))
    assert isinstance(call("update_user", given), UserLearningProfile)
    assert call("profile", user).user_id == user
    assert (
        "数学" in call("memory_summary", session_id=session, accept_language="zh").model_dump_json()
    )


def test_the_same_key_writes_once(call: Both) -> None:
    user, key = fresh("u"), fresh("key")
    given = UserUpdate(user_id=user, event=UserEvent(intent="quiz", topic="x", artifact="quiz_set"))
    made = [call("update_user", given, idempotency_key=key) for _ in range(2)]
    assert made[0] == made[1]
    assert call("update_user", given) != made[0]


def test_states_moods_and_reasons(call: Both) -> None:
    user, state, event = fresh("u"), fresh("state"), fresh("e")
    plan = {
        "type": "write_plan", "plan_id": fresh("p"), "user_id": user, "event_id": event,
        "occurred_at": "2026-01-02T00:00:00Z", "extractor": {"name": "hand", "version": "1"},
        "state_updates": [{"op": "upsert", "kind": "fact", "state_id": state, "body_text": "a",
                           "valid_from": "2026-01-02T00:00:00Z", "confidence": 0.9}],
        "event_affect": {"vad": {"v": 0.5, "a": 0.5, "d": 0.5}, "text": "glad", "confidence": 0.9},
    }  # fmt: skip
    assert call("post_records", [plan]).counts == {"applied": 1}
    page = call.until(lambda page: len(page.states) == 2, "states", user)
    assert state in [one.state_id for one in page.states]
    assert state in [one.state_id for one in call("iter_states", user, limit=1)]
    assert call("states", user, as_of=date(2026, 1, 1)).states == []
    assert call("mood", user).vad.v > 0
    assert [one.entity_id for one in call("iter_why", state)] == [state]
    assert call("why", state).revisions[0].evidence_event_id == event


def test_what_is_not_there(call: Both) -> None:
    with pytest.raises(errors.NotFoundError) as found:
        call("session", "no/such session?#%2F..")
    assert found.value.problem == ProblemDocument(
        type="/problems/not-found", title="Not found", status=404, detail="no session of that id"
    )


@pytest.mark.parametrize("name", [".", "..", "a/b", "a b", "%2F", "日本", "?x=1", "#"])
def test_any_id_is_one_part_of_the_path(call: Both, name: str) -> None:
    call("post_records", [turn(f"e-{name}", session_id=name)])
    assert call("session", name).session_id == name


def test_what_is_wrong_is_named(call: Both) -> None:
    with pytest.raises(errors.InvalidError, match="as_of"):
        call("session", "s", as_of="yesterday")
    with pytest.raises(ValueError, match="no time zone"):
        call("session", "s", as_of=datetime(2026, 1, 1))
    with pytest.raises(errors.InvalidError) as found:
        call("post_records", [{"type": "turn"}])
    assert found.value.problem.errors and found.value.problem.errors[0].position == 1


@KINDS
def test_nobody_there(kind: type[Any]) -> None:
    with closing(socket.socket()) as nobody:
        nobody.bind(("127.0.0.1", 0))
        call = Both(kind, f"http://127.0.0.1:{nobody.getsockname()[1]}", retries=1)
        with pytest.raises(errors.UnreachableError, match="GET /healthz"):
            call("healthz")


@KINDS
def test_keys(kind: type[Any], tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    made = turnfold(
        "admin", "keys", "add", "--keys", keys, "--tenant", "t", "--role", "read", "-o", "json"
    )
    token = made.json()["token"]
    with serving("--history", tmp_path / "history", "--keys", keys) as server:
        assert Both(kind, server.url, token=token)("memory_summary", user_id="u")
        with pytest.raises(errors.ForbiddenError):
            Both(kind, server.url, token=token)("post_records", [turn("e")])
        with pytest.raises(errors.UnauthorizedError):
            Both(kind, server.url, token="ts_none")("memory_summary", user_id="u")


@KINDS
def test_a_record_whose_tenant_is_not_set_is_the_keys_own(kind: type[Any], tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    made = turnfold(
        "admin", "keys", "add", "--keys", keys, "--tenant", "t", "--role", "write", "-o", "json"
    )
    at = turnfold_client.parse_time("2026-03-01T09:30:00Z")
    record = Turn(event_id="e", session_id="s", user_input="tea?", occurred_at=at)
    with serving("--history", tmp_path / "history", "--keys", keys) as server:
        call = Both(kind, server.url, token=made.json()["token"])
        assert call("post_records", [record]).counts == {"applied": 1}
        assert call("session", "s").session_id == "s"
        record.tenant = "another"
        with pytest.raises(errors.ForbiddenError):
            call("post_records", [record])


@pytest.fixture
def front(sample: Server) -> Iterator[Front]:
    with fronting(sample.url) as made:
        yield made


@KINDS
def test_a_write_that_broke_off_is_sent_again_and_applied_once(
    kind: type[Any], front: Front
) -> None:
    user = fresh("u")
    given = UserUpdate(user_id=user, event=UserEvent(intent="quiz", topic="x", artifact="quiz_set"))
    front.faults = [429, 0, 503]
    made = Both(kind, front.url)("update_user", given)
    assert len(front.seen) == 4
    assert len({seen["idempotency-key"] for seen in front.seen}) == 1
    assert made == Both(kind, front.url)("profile", user)
    assert made.history.quiz_sessions == 1


@KINDS
def test_it_gives_up_in_the_end(kind: type[Any], front: Front) -> None:
    front.faults = [503] * 3
    with pytest.raises(errors.NotReadyError, match="busy") as found:
        Both(kind, front.url, retries=2)("healthz")
    assert found.value.problem.type == "about:blank"
    assert len(front.seen) == 3


@KINDS
def test_what_will_not_change_is_not_asked_again(kind: type[Any], front: Front) -> None:
    front.faults = [500]
    with pytest.raises(errors.ServerError):
        Both(kind, front.url)("healthz")
    assert len(front.seen) == 1


@KINDS
def test_what_is_no_turnfold_is_told(kind: type[Any], front: Front) -> None:
    front.faults = [200]
    with pytest.raises(errors.ReplyError, match="no Health"):
        Both(kind, front.url)("healthz")


def test_a_session_is_followed(sample: Server) -> None:
    session = fresh("s")
    with Turnfold(sample.url) as turnfold:
        turnfold.post_records([turn(fresh("e"), session_id=session)])
        events = turnfold.events(session)
        first = next(events)
        turnfold.post_records([turn(fresh("e"), session_id=session)])
        second = next(events)
        assert [len(one.session.conversations) for one in (first, second)] == [1, 2]
        later = turnfold.events(session, last_event_id=first.id)
        assert next(later).id == second.id


def test_a_session_is_followed_async(sample: Server) -> None:
    session = fresh("s")

    async def follow() -> list[int]:
        async with AsyncTurnfold(sample.url) as turnfold:
            await turnfold.post_records([turn(fresh("e"), session_id=session)])
            found = []
            async for event in turnfold.events(session):
                found.append(len(event.session.conversations))
                if len(found) == 2:
                    break
                await turnfold.post_records([turn(fresh("e"), session_id=session)])
            return found

    assert asyncio.run(follow()) == [1, 2]


@pytest.mark.parametrize("kind", [Turnfold, AsyncTurnfold])
def test_a_line_separator_in_a_text_ends_no_event(sample: Server, kind: type[Any]) -> None:
    session, said = fresh("s"), "one\u2028two\u2029three\x85four"

    async def follow() -> SessionEvent:
        async with AsyncTurnfold(sample.url) as turnfold:
            return await anext(turnfold.events(session))

    with Turnfold(sample.url) as turnfold:
        turnfold.post_records([turn(fresh("e"), session_id=session, user_input=said)])
        event = next(turnfold.events(session)) if kind is Turnfold else asyncio.run(follow())
    assert said in event.session.model_dump_json()


def test_an_event_that_broke_off_is_none_of_the_next_connection() -> None:
    blocks = Blocks("a")
    assert list(blocks.feed("id: b\nevent: session\ndata: {")) == []
    blocks.begin()
    assert list(blocks.feed("retry: 10\n\n")) == []
    assert (blocks.last_id, blocks.retry) == ("a", 0.01)


def test_a_stream_that_ends_is_taken_up_again(tmp_path: Path) -> None:
    """The server is stopped while a client follows, and another takes its port."""
    history = tmp_path / "history"
    with serving("--history", history) as server, Turnfold(server.url, retries=20) as turnfold:
        turnfold.post_records([turn("e1")])
        events = turnfold.events("s")
        assert len(next(events).session.conversations) == 1
        server.process.terminate()
        server.process.wait()
        port = server.url.rpartition(":")[2]
        with serving("--history", history, "--port", port) as again:
            assert again.endings([turn("e2")]) == ["applied"]
            assert len(next(events).session.conversations) == 2


def test_a_session_that_is_not_there_is_not_followed(sample: Server) -> None:
    with Turnfold(sample.url) as turnfold, pytest.raises(errors.NotFoundError):
        next(turnfold.events("nowhere"))
