"""Every route × caller: who is let through, and for which tenant, by what the route declares."""

import asyncio
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from starlette import routing
from starlette.types import Message, Receive, Scope, Send

from schemas.base import EntityId, Id
from streams.serving.http.app import guarded
from streams.serving.http.endpoints import ENDPOINTS
from streams.serving.http.keys import Keys, Role, changed, make
from streams.serving.http.problems import Fault
from streams.serving.http.route import Router
from streams.serving.http.routes_health import METRICS
from streams.serving.inspector.inspector import Inspector
from tests.contract.test_ids_of_commands import VALUES, meant

ADMIN = {
    "DELETE /v1/users/{user_id}", "DELETE /v1/sessions/{session_id}",
    "DELETE /v1/sessions/{session_id}/turns/{event_id}", "GET /v1/users/{user_id}/export",
    "GET /v1/erasures/{erasure_id}", "GET /v1/dead-letters", "GET /v1/dead-letters/{letter_id}",
    "GET /metrics", "GET /users/{user_id}/forget", "POST /users/{user_id}/forget",
    "GET /erasures/{erasure_id}", "GET /generations", "GET /generations/{generation}",
    "GET /generations/{generation}/promote", "POST /generations/{generation}/promote",
    "GET /pipeline", "GET /pipeline/events", "GET /letters/{letter_id}",
    "POST /letters/{letter_id}/replay",
}  # fmt: skip
WRITE_TO_SEE = {"GET /states/{state_id}/change"}
OPEN = {
    "GET /healthz", "GET /readyz", "GET /static/{name}", "POST /sign-in", "POST /sign-out",
}  # fmt: skip
OF_ALL = {
    "GET /metrics", "GET /pipeline/events", "GET /generations", "GET /generations/{generation}",
    "GET /generations/{generation}/promote", "POST /generations/{generation}/promote",
}  # fmt: skip
ROLES: tuple[Role, ...] = ("read", "write", "admin")
ROUTES: list[Any] = [*ENDPOINTS, METRICS, *Inspector(None).routes()]


def name_of(route: Any) -> str:
    """As the tables above have it: the page and its twin are alike."""
    method = next(iter(route.methods - {"HEAD"}))
    return f"{method} {route.path.removesuffix('.json').replace('/index', '/')}"


def role_of(name: str) -> Role | None:
    if name in OPEN:
        return None
    if name in ADMIN:
        return "admin"
    return "read" if name.startswith("GET ") and name not in WRITE_TO_SEE else "write"


class Reached(Router):
    """Answers in place of the routes: which tenant a request is of."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tenant = scope["state"]["caller"].tenant
        assert scope["route"].needs is scope["needs"]
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": tenant.encode()})


class Server(NamedTuple):
    """All routes behind what guards them, and a token of each caller."""

    app: Any
    tokens: dict[str, str]

    def ask(self, route: Any, caller: str, *headers: tuple[bytes, bytes]) -> tuple[int, str]:
        """Status, and the tenant that the request was of."""
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        path = route.path.replace("{", "").replace("}", "")
        keys = [(b"authorization", b"Bearer " + self.tokens[caller].encode())]
        scope = {
            "type": "http", "http_version": "1.1", "path": path, "raw_path": path.encode(),
            "method": next(iter(route.methods - {"HEAD"})), "query_string": b"",
            "headers": [
                (b"host", b"localhost"), (b"accept", b"text/html, */*"), *headers,
                *(keys if caller else ()),
            ],
        }  # fmt: skip
        asyncio.run(self.app(scope, receive, send))
        is_through = sent[0]["status"] == 204
        return sent[0]["status"], sent[1]["body"].decode() if is_through else ""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    file = tmp_path_factory.mktemp("keys") / "keys.json"
    tokens = {"": ""}
    with changed(file) as kept:
        for caller, tenant, role in (*((one, "acme", one) for one in ROLES), ("all", "*", "admin")):
            tokens[caller], key = make(tenant, role, None, "")
            kept.append(key)
    keys = Keys(file)
    pages = Inspector(keys)
    router = Reached(routing.Router([*ENDPOINTS, METRICS, *pages.routes()]))
    yield Server(guarded(router, keys, pages=pages), tokens)


def test_the_tables_name_routes_that_are_there() -> None:
    assert {name_of(route) for route in ROUTES} >= ADMIN | WRITE_TO_SEE | OPEN | OF_ALL


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{name_of(route)} {route.path}")
def test_a_route_lets_through_whom_it_says(server: Server, route: Any) -> None:
    name = name_of(route)
    role = role_of(name)
    assert route.needs.role == role
    assert server.ask(route, "")[0] == (204 if role is None else 401)
    for caller in ROLES:
        expected = role is None or ROLES.index(caller) >= ROLES.index(role)
        status, tenant = server.ask(route, caller)
        assert status == (204 if expected and name not in OF_ALL else 403), caller
        assert tenant in ("acme", "default" if role is None else "")
        named = server.ask(route, caller, (b"turnfold-tenant", b"other"))
        assert named == (status, tenant), "a key of one tenant names none"
    if role is not None:
        unnamed = server.ask(route, "all")
        assert unnamed == ((204, "*") if route is METRICS else (400, "")), "no tenant"
        named = server.ask(route, "all", (b"turnfold-tenant", b"other"))
        assert named == (204, "*" if route is METRICS else "other")


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{name_of(route)} {route.path}")
def test_an_id_is_checked_as_its_field_is(route: Any) -> None:
    """In path and query, with the same words."""
    in_query = [(field, name) for field, name, _ in getattr(route, "_in_query", ())]
    for field, name in [*getattr(route, "_in_path", ()), *in_query]:
        if not name.endswith("_id") or name in ("letter_id", "erasure_id"):
            continue  # a letter's is its file's path and line, an erasure's hexadecimal
        own = (
            EntityId if name == "state_id" and field.field_info.metadata[0].max_length > 128 else Id
        )
        for value in VALUES:
            faults: list[Fault] = []
            route._read(field, value, {}, faults)
            assert [fault.reason for fault in faults] == [one for one in [meant(own, value)] if one]
