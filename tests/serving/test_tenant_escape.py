"""No tenant sees, changes or even notices anything of another, whatever it asks.

Two tenants have sessions, users, tasks and states under the same ids, and different content. What
is `hidden`'s holds a mark; `prying` asks every endpoint of the OpenAPI document in every way that
might lead there. Served by the real command, over real sockets, from files and from Kafka.
"""

import json
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest

from streams.serving.http.keys import Role, changed, make
from tests.command import PROGRAM, environment
from tests.serving.tiers import TIERS, Tier
from tests.serving.two_tenants import (
    AIMED,
    HEADERS,
    HIDDEN,
    MARK,
    NOWHERE,
    PRYING,
    SHARED,
    THEIRS,
    TIMES,
    TRICKS,
    kept,
    records,
    turn,
)
from tests.waiting import WITHIN, until

pytestmark = pytest.mark.component

KEY = "Authorization"
STREAM = "/v1/sessions/{session_id}/events"
BY_ID = {"/v1/sessions/{session_id}", "/v1/users/{user_id}", "/v1/states/{state_id}/why"}
OPEN = {"/healthz", "/readyz"}
NOW = re.compile(r'"(exported_)?at":"[^"]*"')
"""The time of the request, in a mood and an archive."""
VARYING = {"date", "ratelimit", "content-length"}
"""Headers that differ between two replies that are the same."""


class Serving(NamedTuple):
    """The server, its endpoints, and a client for each of the two and for an operator. `settle`:
    until the history has all that was answered."""

    url: str
    operations: list[tuple[str, str, list[dict[str, Any]]]]
    hidden: httpx.Client
    prying: httpx.Client
    everyone: httpx.Client
    log: Path
    settle: Callable[[], None]

    def paths(self, method: str) -> list[tuple[str, list[dict[str, Any]]]]:
        """Path and parameters of the operations with a method."""
        return [(path, given) for verb, path, given in self.operations if verb == method]


def client(url: str, file: Path, tenant: str, role: Role) -> httpx.Client:
    """A client with a new key."""
    token, key = make(tenant, role, None, "")
    with changed(file) as held:
        held.append(key)
    return httpx.Client(base_url=url, headers={KEY: f"Bearer {token}"}, timeout=WITHIN)


def post(asking: httpx.Client, given: list[dict[str, Any]]) -> dict[str, Any]:
    """Posts records; what they ended as."""
    reply = asking.post("/v1/records", json=given, headers={"Prefer": "wait=30"})
    assert reply.status_code == 200, reply.text
    counts: dict[str, Any] = reply.json()["counts"]
    return counts


@pytest.fixture(scope="module", params=TIERS)
def serving(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Serving]:
    """`turnfold serve` with two tenants, on each tier."""
    folder = tmp_path_factory.mktemp("escape")
    with TIERS[request.param](folder) as tier, served(tier, folder) as made:
        yield made


@contextmanager
def served(tier: Tier, folder: Path) -> Iterator[Serving]:
    """The process, from the first record to the last."""
    file, log = folder / "keys.json", folder / "log"
    with changed(file):
        pass
    command = [PROGRAM, "serve", *tier.options, f"--keys={file}"]
    with log.open("wb") as said:
        process = subprocess.Popen(
            [*command, "--port=0", "-o", "json", "--verbose"],
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment(),
        )
    try:
        assert process.stdout
        url = json.loads(process.stdout.readline())["url"]
        clients = [client(url, file, one, "admin") for one in (HIDDEN, PRYING, "*")]
        until(lambda: httpx.get(f"{url}/readyz", timeout=WITHIN).status_code == 200)
        document = httpx.get(f"{url}/openapi.json", timeout=WITHIN).json()
        operations = [
            (method.upper(), path, operation.get("parameters", []))
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ]
        with clients[0] as hidden, clients[1] as prying, clients[2] as everyone:
            for one in clients:  # it has seen the new keys
                until(partial(one.get, "/v1/sessions/x"), lambda reply: reply.status_code != 401)
            own = records(MARK, SHARED, SHARED, "1") + records(MARK, THEIRS, THEIRS, "theirs-1")
            own += records(MARK, AIMED, AIMED, "aimed-1")
            own.append(turn("event-named", f"{MARK}-session", f"{MARK}-user", MARK))  # for lists
            own += [kept(f"message-{session}", session, MARK) for session in (SHARED, THEIRS)]
            assert post(hidden, own) == {"applied": 12, "dead": 3}
            assert post(prying, records("plain", SHARED, SHARED, "1")) == {"applied": 3, "dead": 1}
            settle = partial(settled, tier, url)
            settle()
            yield Serving(url, operations, hidden, prying, everyone, log, settle)
    finally:
        process.terminate()
        assert process.wait(WITHIN) == 0, log.read_text()
        if process.stdout:
            process.stdout.close()


def settled(tier: Tier, url: str) -> None:
    """Waits until the history has all that was answered, and the server is there again."""
    tier.settle()
    until(lambda: httpx.get(f"{url}/readyz", timeout=WITHIN).status_code == 200)


@pytest.fixture(scope="module")
def nobody(serving: Serving) -> Iterator[httpx.Client]:
    """A client without a key."""
    with httpx.Client(base_url=serving.url, timeout=WITHIN) as asking:
        yield asking


def path_of(template: str, value: str) -> str:
    """The path with each of its parameters the value."""
    parts = [quote(value, safe="") if one.startswith("{") else one for one in template.split("/")]
    return "/".join(parts)


def ids_of(template: str) -> tuple[str, str, str]:
    """Ids that both tenants have, that `hidden` alone has, and that nobody has."""
    kind = kind_of(template)
    return (
        (f"{kind}1", f"{kind}theirs-1", f"{kind}nowhere-1") if kind else (SHARED, THEIRS, NOWHERE)
    )


def kind_of(template: str) -> str:
    """What ids of states and tasks begin with."""
    return next((one for one in ("state-", "task-") if f"{{{one[:-1]}_id}}" in template), "")


def query_of(given: list[dict[str, Any]], value: str) -> dict[str, str]:
    """The required parameters of a query, with a value."""
    return {one["name"]: value for one in given if one["in"] == "query" and one.get("required")}


def stream(asking: httpx.Client, path: str, **headers: str) -> tuple[int, str]:
    """Status of an event stream, and its first event; the whole reply where it is none."""
    told = ""
    with asking.stream("GET", path, headers=headers) as reply:
        for text in reply.iter_text():
            told += text
            if "event:" in told and told.endswith("\n\n"):
                break
    return reply.status_code, told


def check(reply: httpx.Response) -> None:
    """Nothing of the other tenant is in a reply, and nothing went wrong in the server."""
    asked = f"{reply.request.method} {reply.request.url}"
    assert reply.status_code < 500 or reply.status_code in (501, 503), (asked, reply.text)
    told = reply.text
    for sent in (str(reply.request.url), reply.request.content.decode(errors="replace")):
        if MARK in sent:  # what was asked may be said again, the text that was sought may not
            assert f"{MARK} " not in told, (asked, told)
            return
    assert MARK not in told + repr(reply.headers), (asked, told)


def test_the_marks_are_there_to_be_found(serving: Serving) -> None:
    for path, given in serving.paths("GET"):
        if path in OPEN or path == STREAM or path.startswith(("/v1/dead-letters", "/v1/erasures")):
            continue
        reply = serving.hidden.get(path_of(path, ids_of(path)[0]), params=query_of(given, MARK))
        if path == "/memory/summary":
            reply = serving.hidden.get(path, params={"session_id": SHARED})
        assert reply.status_code == 200, (path, reply.text)
        assert MARK in reply.text, path
    status, told = stream(serving.hidden, path_of(STREAM, SHARED))
    assert (status, MARK in told) == (200, True)


def test_the_other_tenants_ids_show_nothing(serving: Serving) -> None:
    tricks = cycle(TRICKS)  # all of them at what is asked by id, half of them at the rest
    for path, given in serving.paths("GET"):
        many = len(TRICKS) if path in BY_ID else len(TRICKS) // 2
        for value in (*ids_of(path), *islice(tricks, many)):
            for headers in ({}, *HEADERS) if value == THEIRS else ({},):
                if path == STREAM:
                    if not headers and value in ids_of(path):
                        status, told = stream(serving.prying, path_of(path, value))
                        assert status == (200 if value == SHARED else 404)
                        assert MARK not in told
                    continue
                asked = query_of(given, value)
                check(serving.prying.get(path_of(path, value), params=asked, headers=headers))


def test_every_parameter_of_a_query_stays_within_the_tenant(serving: Serving) -> None:
    tricks = cycle([*TRICKS, *TIMES, HIDDEN])  # a few at each, all of them somewhere
    for path, given in serving.paths("GET"):
        if path == STREAM:
            continue
        mine = path_of(path, ids_of(path)[0])
        named = [one["name"] for one in given if one["in"] == "query"]
        needed = query_of(given, "plain")
        for name in named:
            for value in (THEIRS, MARK, *islice(tricks, 2)):
                check(serving.prying.get(mine, params=needed | {name: value}))
        unknown = dict.fromkeys(["tenant", "tenant_id", "history", "generation"], HIDDEN)
        check(serving.prying.get(mine, params=needed | unknown))
    for text in (*TRICKS, f"{MARK} asks", f'"{MARK}"', f"{MARK}*"):
        check(serving.prying.get("/v1/search", params={"q": text}))
    assert serving.prying.get("/v1/search", params={"q": MARK}).json()["hits"] == []


def test_paths_that_are_no_template_lead_nowhere(serving: Serving) -> None:
    raw = [
        f"/v1/sessions/../tenants/{HIDDEN}",
        f"/v1//sessions/{THEIRS}",
        f"/v1/sessions/{THEIRS}/",
        f"/{HIDDEN}/v1/sessions/{SHARED}",
        f"/v1/sessions/%2e%2e%2f{HIDDEN}%2f{SHARED}",
        f"/v1/sessions/{SHARED}%00",
        f"/v1/sessions/%00{HIDDEN}%00{SHARED}",
        f"/v1/sessions/%c0%af{THEIRS}",
        f"/v1/sessions/%252e%252e%252f{THEIRS}",
        f"/v1/sessions/{SHARED};tenant={HIDDEN}",
        f"/v1/sessions/{SHARED}%3Ftenant={HIDDEN}",
        f"//v1/sessions/{THEIRS}",
        f"/v1/sessions/{THEIRS}#{SHARED}",
    ]
    asking = HTTPConnection(serving.url.removeprefix("http://"))
    for path in raw:
        asking.request("GET", path, headers={"Authorization": serving.prying.headers[KEY]})
        reply = asking.getresponse()
        assert MARK not in reply.read().decode()
        assert reply.status in (400, 404, 422), path
    asking.close()


def test_another_tenants_cursor_shows_nothing(serving: Serving) -> None:
    post(serving.hidden, [turn(f"more-{number}", SHARED, SHARED, MARK) for number in range(3)])
    serving.settle()
    for path, given in serving.paths("GET"):
        if "cursor" not in {one["name"] for one in given}:
            continue
        mine = path_of(path, ids_of(path)[0])
        asked = query_of(given, MARK) | {"limit": "1"}
        cursor = serving.hidden.get(mine, params=asked).json()["next"]
        if cursor is not None:
            check(serving.prying.get(mine, params=query_of(given, MARK) | {"cursor": cursor}))


def test_dead_letters_are_their_tenants_alone(serving: Serving) -> None:
    def listed(asking: httpx.Client, **headers: str) -> set[str]:
        found = asking.get("/v1/dead-letters", headers=headers).json()["dead_letters"]
        return {one["id"] for one in found}

    hidden = listed(serving.hidden)
    assert len(hidden) == 3
    for letter in hidden:
        path = path_of("/v1/dead-letters/{letter_id}", letter)
        assert MARK in serving.hidden.get(path).text
        reply = serving.prying.get(path)
        check(reply)
        assert reply.status_code == 404
    prying = listed(serving.prying)  # one, and those of what was written here
    assert prying and not prying & hidden
    assert listed(serving.everyone, **{"Turnfold-Tenant": HIDDEN}) == hidden
    assert not listed(serving.everyone, **{"Turnfold-Tenant": PRYING}) & hidden
    assert not listed(serving.everyone, **{"Turnfold-Tenant": "default"})


def test_what_exists_elsewhere_is_answered_as_what_exists_nowhere(serving: Serving) -> None:
    for path, given in serving.paths("GET"):
        _, theirs, nowhere = ids_of(path)
        if path == STREAM:
            one = stream(serving.prying, path_of(path, theirs))
            assert one == stream(serving.prying, path_of(path, nowhere))
            continue
        optional = [one["name"] for one in given if one["in"] == "query" and "_id" in one["name"]]
        for name in (None, *optional):
            told = []
            for value in (theirs, nowhere):
                asked = query_of(given, value) | ({name: value} if name else {})
                reply = serving.prying.get(path_of(path, value), params=asked)
                headers = [one for one in reply.headers.items() if one[0] not in VARYING]
                told.append((reply.status_code, headers, reply.text.replace(value, "ID")))
            if '"as_of"' in told[0][2]:  # the time of the request
                told = [(one[0], one[1], one[2].partition('"as_of"')[0]) for one in told]
            assert told[0] == told[1], path


def test_nor_does_it_take_longer(serving: Serving) -> None:
    for path in ("/v1/sessions/{session_id}", "/memory/user/{user_id}"):
        took: dict[str, list[float]] = {THEIRS: [], NOWHERE: []}
        for _ in range(150):
            for value, seconds in took.items():
                began = time.perf_counter()
                assert serving.prying.get(path_of(path, value)).status_code == 404
                seconds.append(time.perf_counter() - began)
        # the quarter that other processes disturbed least
        theirs, nowhere = (statistics.quantiles(one)[0] for one in took.values())
        assert 0.5 < theirs / nowhere < 2, path


def everything(serving: Serving, asking: httpx.Client) -> dict[str, str]:
    """All that a tenant sees, by path."""
    serving.settle()
    seen = {}
    for path, given in serving.paths("GET"):
        if path in OPEN or path == STREAM or "as_of" in {one["name"] for one in given}:
            continue
        for value in (*ids_of(path), f"{kind_of(path)}{AIMED}"):
            mine = path_of(path, value)
            told = asking.get(mine, params=query_of(given, MARK)).text
            seen[mine] = NOW.sub("", told)
    return seen


def test_no_write_reaches_another_tenant(serving: Serving) -> None:
    def update(**more: Any) -> dict[str, Any]:
        return {"session_id": AIMED, "intent": "pried", **more}

    event = {"intent": "pried", "topic": "pried"}
    asked = {"role": "user", "content": "pried"}
    answer = {"role": "assistant", "content": "pried"}
    chat = {"user_id": AIMED, "session_id": AIMED}
    theirs = turn("pried-1", AIMED, AIMED, "pried")
    cloud = {"specversion": "1.0", "type": "turn", "source": HIDDEN, "subject": HIDDEN}
    bodies: dict[str, list[Any]] = {
        "/memory/session/update": [update(), update(tenant=HIDDEN), update(signal_id="event-1")],
        "/memory/user/update": [
            {"user_id": AIMED, "event": event},
            {"user_id": AIMED, "event": event, "tenant": HIDDEN},
            {"user_id": AIMED, "event": {**event, "tenant": HIDDEN}},
        ],
        "/v1/messages": [
            {**chat, "messages": [asked]}, {**chat, "messages": [answer]},
            {**chat, "messages": [asked | {"id": "event-1"}, answer]},
            {**chat, "messages": [asked], "tenant": HIDDEN},
            {**chat, "messages": [asked | {"tenant": HIDDEN}]},
            {"user_id": SHARED, "messages": [asked, answer]},
        ],
        "/v1/records": [
            theirs, theirs | {"tenant": HIDDEN}, theirs | {"tenant": f"{HIDDEN}\0"},
            theirs | {"tenant": None}, theirs | {"tenant": [HIDDEN]},
            [theirs, theirs | {"tenant": HIDDEN, "event_id": "pried-2"}],
            turn("event-1", SHARED, SHARED, "pried"),
            turn("pried-3", f"{HIDDEN}/{SHARED}", "u", "pried"),
            turn("pried-4", f"x\0{HIDDEN}\0{SHARED}", "u", "pried"), theirs | {"type": ["turn"]},
            theirs | {"type": {}}, theirs | {"type": None},
            records("pried", AIMED, AIMED, "aimed-1"),
        ],
        "/v1/extract": [None],
    }  # fmt: skip
    assert set(bodies) == {path for path, _ in serving.paths("POST")}
    before = everything(serving, serving.hidden)
    for path, given in bodies.items():
        for body in given:
            for headers in ({}, {"Idempotency-Key": "one"}, *HEADERS):
                check(serving.prying.post(path, json=body, headers=headers))
                check(serving.prying.post(path, json=body, params={"tenant": HIDDEN}))
    kind = {"Content-Type": "application/cloudevents+json"}
    for tenant in ({}, {"tenant": HIDDEN}):
        data = theirs | tenant | {"event_id": "pried-5"}
        event_text = json.dumps({**cloud, "id": "pried-5", "data": data})
        check(serving.prying.post("/v1/records", content=event_text, headers=kind))
    named = {"ce-specversion": "1.0", "ce-type": "turn", "ce-source": HIDDEN, "ce-tenant": HIDDEN}
    headers = {**named, "ce-id": "pried-6", "Content-Type": "application/json"}
    data = theirs | {"event_id": "pried-6"}
    check(serving.prying.post("/v1/records", json=data, headers=headers))
    twice = json.dumps(theirs)[:-1] + f', "tenant": "{PRYING}", "tenant": "{HIDDEN}"}}'
    assert serving.prying.post("/v1/records", content=twice).status_code in (403, 422)
    assert everything(serving, serving.hidden) == before


def test_no_correction_reaches_another_tenant(serving: Serving) -> None:
    """Of an id that both have, each has its own; of one that only the other has, there is none."""
    verbs = {verb for verb, _, _ in serving.operations} - {"GET", "POST"}
    assert verbs == {"PATCH", "DELETE"}
    serving.settle()
    before = everything(serving, serving.hidden)
    asking = {"reason": "pried", "body_text": "pried"}
    for state in (*ids_of("{state_id}"), *TRICKS):
        for user in (None, SHARED, THEIRS, NOWHERE, *TRICKS[:4]):
            path = f"/v1/states/{quote(state, safe='')}"
            query = {} if user is None else {"user_id": user}
            check(serving.prying.patch(path, json=asking, params=query))
            check(serving.prying.delete(path, params={"reason": "pried", **query}))
    serving.settle()
    assert everything(serving, serving.hidden) == before


def test_the_same_idempotency_key_is_another_in_another_tenant(serving: Serving) -> None:
    body = {"session_id": SHARED, "intent": f"{MARK} once"}
    key = {"Idempotency-Key": "the-same", "Prefer": "wait=30"}
    first = serving.hidden.post("/memory/session/update", json=body, headers=key)
    assert MARK in first.text
    mine = serving.prying.post(
        "/memory/session/update", json=body | {"intent": "mine"}, headers=key
    )
    check(mine)
    assert mine.json()["recent_intents"][-1] == "mine"


def test_an_event_stream_hears_nothing_of_another_tenant(serving: Serving) -> None:
    """Nor that something came: its own turn is the first that it hears of."""
    with serving.prying.stream("GET", path_of(STREAM, SHARED)) as reply:
        assert reply.status_code == 200
        events = reply.iter_text()
        told = next(events)
        for number in range(5):
            post(serving.hidden, [turn(f"heard-{number}", SHARED, SHARED, MARK)])
        post(serving.prying, [turn("heard-own", SHARED, SHARED, "its own")])
        deadline = time.monotonic() + WITHIN
        while "its own" not in told:
            assert time.monotonic() < deadline, told
            told += next(events)
    assert MARK not in told
    assert told.count("event:") == 2


def test_every_endpoint_but_health_needs_a_key(serving: Serving, nobody: httpx.Client) -> None:
    for method, path, _ in serving.operations:
        for headers in ({}, {KEY: "Bearer ts_0_0"}, *HEADERS):
            reply = nobody.request(method, path_of(path, SHARED), headers=headers)
            assert reply.status_code == (200 if path in OPEN else 401), path


def test_an_operator_sees_the_tenant_that_is_named(serving: Serving) -> None:
    for tenant, seen in ((HIDDEN, True), (PRYING, False)):
        named = {"Turnfold-Tenant": tenant}
        reply = serving.everyone.get(f"/v1/sessions/{SHARED}", headers=named)
        assert (reply.status_code, MARK in reply.text) == (200, seen)
    assert serving.everyone.get(f"/v1/sessions/{SHARED}").status_code == 400


def test_the_log_holds_no_text_id_or_token(serving: Serving) -> None:
    serving.prying.get(f"/v1/sessions/{THEIRS}")
    said = until(
        partial(serving.log.read_text, "utf-8"),
        lambda said: "GET /v1/sessions/{session_id}" in said,
    )
    tokens = [
        one.headers[KEY].rpartition("_")[2]
        for one in (serving.hidden, serving.prying, serving.everyone)
    ]
    for secret in (MARK, SHARED, THEIRS, AIMED, NOWHERE, "pried", "plain", *tokens):
        assert secret not in said
    assert "Traceback" not in said


def test_the_process_is_alive_after_all_that(nobody: httpx.Client) -> None:
    assert nobody.get("/healthz").json() == {"status": "ok", "generation": "root"}
