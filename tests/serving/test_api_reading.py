"""`/v1` over real sockets: documents now and then, pages, dead letters, event streams."""

import json
import threading
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from schemas.memory import UserDocument
from schemas.session import SessionDocument
from schemas.task import TaskDocument
from streams.files import file_runner
from streams.sample import CONVERSATIONS
from streams.serving.http.endpoints import ENDPOINTS
from streams.serving.http.route import STREAM, Route
from tests.command import turn
from tests.serving.serving import Server, serving
from tests.serving.test_api_memory import fields, ok
from tests.waiting import WITHIN, until

DAY_AFTER = "2026-03-03"


def test_a_session_is_the_same_as_the_command_says(api: httpx.Client) -> None:
    found = ok(api.get("/v1/sessions/emma-move"))
    SessionDocument.model_validate(found)
    assert (found["status"], found["user_id"]) == ("closed", "emma")


def test_a_session_as_of_a_day_knows_nothing_later(api: httpx.Client) -> None:
    now = ok(api.get("/v1/sessions/emma-move"))
    then = ok(api.get(f"/v1/sessions/emma-move?as_of={DAY_AFTER}"))
    assert 0 < then["conversation_count"] < now["conversation_count"]
    assert then["updated_at"] <= f"{DAY_AFTER}T23:59:59.999999Z"
    assert fields(api.get("/v1/sessions/emma-move?as_of=2020-01-01"), 404) == []


def test_a_timeline_in_pages_is_the_whole(api: httpx.Client) -> None:
    whole = ok(api.get("/v1/sessions/lin-calculus/timeline"))
    assert whole["next"] is None and len(whole["turns"]) == 6
    path = "/v1/sessions/lin-calculus/timeline?limit=3"
    assert _pages(api, path, "turns") == whole["turns"]
    assert [one["occurred_at"] for one in whole["turns"]] == sorted(
        one["occurred_at"] for one in whole["turns"]
    )
    assert fields(api.get("/v1/sessions/lin/timeline"), 404) == [], "that is a user"


def test_a_task_by_its_session_and_by_itself(api: httpx.Client) -> None:
    found = ok(api.get("/v1/tasks/emma-move-task-1?session_id=emma-move"))
    TaskDocument.model_validate(found)
    assert ok(api.get("/v1/tasks/emma-move-task-1")) == found
    assert fields(api.get("/v1/tasks/emma-move-task-1?session_id=lin-calculus"), 404) == []
    assert fields(api.get("/v1/tasks/none"), 404) == []


def test_a_user_is_what_the_history_says(api: httpx.Client, sample: Server) -> None:
    """The rows of the tier and the views of the history tell the same, mood and all."""
    found = ok(api.get("/v1/users/emma"))
    UserDocument.model_validate(found)
    states = ok(api.get("/v1/users/emma/states"))["states"]
    told = [
        {name: one[name] for name in one if name != "owner_id"}
        for one in states
        if one["kind"] != "long_mood_state"
    ]
    mine = [{name: one[name] for name in one if name != "entities"} for one in found["states"]]
    assert _by_id(mine) == _by_id(told)
    assert found["mood"]["text"] == "proud and happy"


def test_states_at_two_clocks(api: httpx.Client) -> None:
    def home(**asked: str) -> str:
        states = ok(api.get("/v1/users/emma/states", params=asked))["states"]
        return next(str(one["payload"]["city"]) for one in states if one["state_id"] == "emma-home")

    assert home() == "Manchester"
    assert home(as_of="2026-03-05") == "Leeds"
    assert home(as_of="2026-03-20", known_at="2026-03-05") == "Leeds", "not learnt yet"


def test_states_in_pages(api: httpx.Client) -> None:
    whole = ok(api.get("/v1/users/emma/states?as_of=2026-03-13"))["states"]
    assert _pages(api, "/v1/users/emma/states?as_of=2026-03-13&limit=2", "states") == whole
    assert ok(api.get("/v1/users/nobody/states"))["states"] == []


def test_why_tells_the_words_it_rests_on(api: httpx.Client) -> None:
    whole = ok(api.get("/v1/states/emma-home/why"))["revisions"]
    assert whole[0]["op"] == "insert" and "Leeds" in whole[0]["user_input"]
    assert whole[-1]["after"]["payload"]["city"] == "Manchester"
    assert _pages(api, "/v1/states/emma-home/why?limit=1", "revisions") == whole
    assert fields(api.get("/v1/states/none/why"), 404) == []


def test_search_finds_what_a_text_is_about(api: httpx.Client) -> None:
    found = ok(api.get("/v1/search", params={"q": "flat in Manchester", "limit": 3}))
    assert len(found["hits"]) == 3
    assert any(one["session_id"] == "emma-move" for one in found["hits"])
    start, end = found["hits"][0]["matches"][0]
    assert found["hits"][0]["text"][start:end]
    following = ok(api.get("/v1/search", params={"q": "flat in Manchester", "limit": 3,
                                                 "cursor": found["next"]}))  # fmt: skip
    assert not _by_place(found) & _by_place(following)
    only = ok(api.get("/v1/search", params={"q": "极限", "user_id": "lin", "kind": "event"}))
    assert {(one["kind"], one["user_id"]) for one in only["hits"]} == {("event", "lin")}
    assert fields(api.get("/v1/search")) == ["q"]
    assert fields(api.get("/v1/search?q=x&kind=pictures")) == ["kind"]
    assert fields(api.get("/v1/search?q=x&from=then&to=now")) == ["from", "to"]
    assert fields(api.get("/v1/search?q=x&from=2026-03-02&to=2026-03-01")) == ["from"]


def test_from_and_to_a_date_are_that_day(api: httpx.Client) -> None:
    """As in the command: `from` means the beginning of a date, `to` its end."""
    day = ok(api.get("/v1/search?q=Manchester&kind=event&from=2026-03-02&to=2026-03-02"))["hits"]
    assert day and {hit["at"][:10] for hit in day} == {"2026-03-02"}


def test_about_is_the_date_that_is_named(api: httpx.Client) -> None:
    ok(api.post("/v1/records", json=turn("fox", session_id="fox", user_input="Saw a fox yesterday",
                                         occurred_at="2021-05-08T12:00:00Z")))  # fmt: skip
    ok(api.post("/v1/records", json=turn("owl", session_id="fox", user_input="And an owl, a fox",
                                         occurred_at="2021-05-08T12:01:00Z")))  # fmt: skip
    until(lambda: ok(api.get("/v1/search?q=fox&session_id=fox"))["hits"],
               lambda hits: len(hits) == 2)  # fmt: skip
    (hit,) = ok(api.get("/v1/search?q=fox&about=2021-05-01..2021-05-07"))["hits"]
    assert (hit["id"], hit["about_start"]) == ("fox", "2021-05-07T00:00:00Z")
    backwards = ok(api.get("/v1/search?q=fox&about=2021-05-07..2021-05-01"))["hits"]
    assert [one["id"] for one in backwards] == ["fox"]
    shown = ok(api.get("/v1/sessions/fox/timeline"))["turns"]
    assert [one["about_end"] for one in shown] == ["2021-05-08T00:00:00Z", None]
    for wrong in ("May", "2021-13", "0000"):
        assert fields(api.get("/v1/search", params={"q": "fox", "about": wrong})) == ["about"]


def test_a_cursor_of_no_search_is_told_by_its_name(api: httpx.Client) -> None:
    assert fields(api.get("/v1/search", params={"q": "flat", "cursor": "WzFd"})) == ["cursor"]


def test_dead_letters_in_pages(api: httpx.Client) -> None:
    for number in range(3):
        session = f"dead-{number}"
        ok(api.post("/v1/records", json=turn("one", session_id=session)))
        ok(api.post("/v1/records", json=turn("one", session_id=session, user_input="other")))
    whole = until(
        lambda: ok(api.get("/v1/dead-letters")), lambda page: len(page["dead_letters"]) >= 4
    )
    assert whole["next"] is None
    assert _pages(api, "/v1/dead-letters?limit=2", "dead_letters") == whole["dead_letters"]
    reason = ok(api.get("/v1/dead-letters?reason=invalid"))["dead_letters"]
    assert [one["key"] for one in reason] == ["default/lin-algebra"]
    assert fields(api.get("/v1/dead-letters/none:0:1"), 404) == []


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("limit=1&limit=2", "limit"),
        ("reason=typo", "reason"),
        ("reason=", "reason"),
        ("cursor=x", "cursor"),
        ("cursor=WyJ4Il0", "cursor"),
        ("cursor=WzEsImEiXQ", "cursor"),  # [1,"a"]: no place of a dead letter
        ("cursor=WzFlMzAsImE6MDowIl0", "cursor"),  # [1e30,"a:0:0"]: no time
    ],
)
def test_a_wrong_question_is_told_by_field(api: httpx.Client, query: str, named: str) -> None:
    assert fields(api.get(f"/v1/dead-letters?{query}")) == [named]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("dead-letters?cursor=x", "cursor: not a cursor of this list; omit it"),
        ("search?q=x&cursor=x", "cursor: not a cursor of this list; omit it"),
        ("users/emma/states?cursor=x", "cursor: not a cursor of this list; omit it"),
        (
            "search?q=x&kind=event,Event",
            "kind: must be one or more, comma-separated, of event, state, preference, "
            "session_memory",
        ),
        ("users/emma/context?format=xml", "format: must be one of markdown, text, json"),
        ("sessions/a%00b", "session_id: must not contain control characters"),
        ("sessions/a%C2%85b/timeline", "session_id: must not contain control characters"),
        ("search?q=x&user_id=a%0Ab", "user_id: must not contain control characters"),
    ],
)
def test_what_is_wrong_is_said_in_words(api: httpx.Client, path: str, said: str) -> None:
    assert api.get(f"/v1/{path}").json()["detail"] == said


def test_an_id_may_hold_anything_but_control_characters(api: httpx.Client) -> None:
    sessions = ("a/b", "a%2Fb", "é ü", "极限", "?#&", "..", "'; DROP TABLE events; --")
    for session in sessions:
        ok(api.post("/v1/records", json=turn(uuid4().hex, session_id=session)))
    for session in sessions:
        path = "/v1/sessions/" + "".join(f"%{byte:02X}" for byte in session.encode())
        assert ok(api.get(path))["session_id"] == session
        timeline = f"{path}/timeline"
        until(partial(api.get, timeline), lambda reply: reply.status_code == 200)
        assert {one["session_id"] for one in ok(api.get(timeline))["turns"]} == {session}
    for bad in ("%00", "%1F", "a%1Fb", "%C3"):
        assert api.get(f"/v1/sessions/{bad}").status_code in (404, 422)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/v2/x", 404),
        ("POST", "/healthz", 405),
        ("PUT", "/v1/records", 405),
    ],
)
def test_the_routers_refusals_are_problems_too(
    api: httpx.Client, method: str, path: str, status: int
) -> None:
    assert fields(api.request(method, path), status) == []


def test_a_server_is_alive_and_ready(api: httpx.Client) -> None:
    assert ok(api.get("/healthz")) == {"status": "ok", "generation": "root"}
    found = ok(api.get("/readyz"))
    assert (found["ready"], found["generation"], found["promoted"]) == (True, "root", None)
    assert b"turnfold_http_requests_total" in api.get("/metrics").content


@pytest.mark.parametrize("endpoint", [one for one in ENDPOINTS if one.method == "GET"])
def test_head_is_get_without_a_body(api: httpx.Client, endpoint: Route) -> None:
    """Of what is there and of what is not; a stream does not begin."""
    ids = {"session_id": "emma-move", "user_id": "emma", "task_id": "t", "state_id": "emma-home"}
    path = endpoint.path.format_map(defaultdict(lambda: "x", ids))
    params = {"/v1/search": {"q": "flat"}, "/v1/tasks/t": {"session_id": "emma-move"}}.get(path)
    head = api.head(path, params=params)
    assert head.content == b""
    if path.endswith("/events"):
        assert head.status_code == 200
        assert head.headers["content-type"].startswith("text/event-stream")
    else:
        reply = api.get(path, params=params)
        assert head.status_code == reply.status_code
        assert head.headers["content-type"] == reply.headers["content-type"]


def test_head_of_what_is_in_no_document(api: httpx.Client) -> None:
    for path in ("/", "/metrics", "/openapi.json"):
        assert (api.head(path).status_code, api.head(path).content) == (200, b"")
    assert api.head("/v1/records").status_code == 405


def test_the_url_that_is_printed_says_where_to_begin(api: httpx.Client) -> None:
    begin = api.get("/").json()
    assert api.get(begin["openapi"]).status_code == api.get(begin["ready"]).status_code == 200


def events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """What a stream brings: id and data of each event."""
    event: dict[str, Any] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if name:
            event[name] = value
        elif "data" in event:
            yield {"id": event["id"], "data": json.loads(event["data"])}
            event = {}


def test_a_stream_brings_each_change_and_resumes(api: httpx.Client) -> None:
    session = uuid4().hex
    ok(api.post("/v1/records", json=turn("one", session_id=session)))
    path = f"/v1/sessions/{session}/events"
    with api.stream("GET", path) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        stream = events(reply.iter_lines())
        first = next(stream)
        assert first["data"] == ok(api.get(f"/v1/sessions/{session}"))
        ok(api.post("/v1/records", json=turn("two", session_id=session)))
        second = next(stream)
        assert second["data"]["conversation_count"] == 2
    with api.stream("GET", path, headers={"last-event-id": first["id"]}) as reply:
        assert next(events(reply.iter_lines())) == second, "it missed one"
    with api.stream("GET", path, headers={"last-event-id": second["id"]}) as reply:
        stream = events(reply.iter_lines())
        late = threading.Timer(
            0.5, api.post, ["/v1/records"], {"json": turn("three", session_id=session)}
        )
        late.start()
        assert next(stream)["data"]["conversation_count"] == 3, "nothing twice"
        late.join()
    assert fields(api.get("/v1/sessions/nobody/events"), 404) == []


def test_streams_end_when_the_server_does(tmp_path: Path) -> None:
    with serving("--history", tmp_path / "history") as server:
        ok(server.client.post("/v1/records", json=turn("one")))
        with server.client.stream("GET", "/v1/sessions/s/events") as reply:
            lines = reply.iter_lines()
            next(events(lines))
            server.process.terminate()
            assert not [line for line in lines if line.startswith("data")]
        server.process.wait(WITHIN)


def _pages(api: httpx.Client, path: str, name: str) -> list[Any]:
    """All entries, page after page."""
    found: list[Any] = []
    cursor = ""
    while True:
        page = ok(api.get(path + (f"&cursor={cursor}" if cursor else "")))
        assert page[name]
        found += page[name]
        if page["next"] is None:
            return found
        cursor = page["next"]


def _by_id(states: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(states, key=lambda one: str(one["state_id"]))


def _by_place(page: Any) -> set[tuple[str, str]]:
    return {(one["kind"], one["id"]) for one in page["hits"]}


READ = [
    route.path.format(
        user_id="emma", session_id="emma-move", state_id="emma-home", task_id="emma-move-1",
        letter_id="a:0:1", erasure_id="0" * 32,
    )
    for route in ENDPOINTS
    if route.method == "GET" and route.media != STREAM
]  # fmt: skip
QUERIES = {"/v1/search": {"q": "move"}, "/memory/summary": {"user_id": "emma"}}


def test_no_read_fails_where_a_file_of_the_history_is_gone(tmp_path: Path) -> None:
    """As while it is erased from, or after a part of it was lost: it is not ready, or answers."""
    history = tmp_path / "history"
    file_runner.run([str(CONVERSATIONS)], history)
    with serving("--history", history) as server:
        server.until("/readyz", 200)
        for file in history.glob("*/**/*.parquet"):
            file.unlink()
        found = {path: server.client.get(path, params=QUERIES.get(path)) for path in READ}
        odd = {path: one.text for path, one in found.items() if one.status_code not in (200, 503)}
    assert {path for path, text in odd.items() if '"status":404' not in text} == set(), odd
    assert found["/v1/users/emma/export"].status_code == 503
