"""Keys, roles and tenants: who is let through, and what a reply and the log say."""

import json
import logging
import stat
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from streams.serving.http import keys as keys_module
from streams.serving.http.app import guarded
from streams.serving.http.keys import Caller, Keys, Role, changed, make
from tests.command import Done, turnfold
from tests.serving.guarded_app import Served, served, small_app
from tests.waiting import WITHIN, until

pytestmark = pytest.mark.component

SECRET = "MARKED-f00d"
SESSION = "/v1/sessions/s"
PROBLEM = "application/problem+json"


def add(file: Path, tenant: str, role: Role, expires_at: int | None = None) -> str:
    """Adds a key; its token."""
    token, key = make(tenant, role, expires_at, "")
    with changed(file) as held:
        held.append(key)
    return token


def bearer(token: str) -> dict[str, str]:
    """The header that carries a token."""
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of keys."""
    return tmp_path_factory.mktemp("keys") / "keys.json"


@pytest.fixture(scope="module")
def tokens(file: Path) -> dict[str, str]:
    """One token for each role of tenant `acme`, and an admin's of all tenants."""
    made = {role: add(file, "acme", role) for role in keys_module.ROLES}
    return made | {"all": add(file, "*", "admin")}


@pytest.fixture(scope="module")
def server(file: Path, tokens: dict[str, str]) -> Iterator[Served]:
    """The small application behind keys."""
    with served(guarded(small_app(), Keys(file))) as running:
        yield running


@pytest.fixture(scope="module")
def open_server() -> Iterator[Served]:
    """The same without keys."""
    with served(guarded(small_app(), None)) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    """A client of the server with keys."""
    with httpx.Client(base_url=server.url, timeout=WITHIN) as asking:
        yield asking


def check_problem(reply: httpx.Response, status: int) -> dict[str, Any]:
    """The problem document of a reply that has that status."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == PROBLEM
    document: dict[str, Any] = reply.json()
    assert document["status"] == status
    assert document["type"].startswith("/problems/")
    assert document["detail"]
    return document


# --- tokens -----------------------------------------------------------------------------------


def test_a_key_opens_its_own_tenant_in_its_role(
    client: httpx.Client, tokens: dict[str, str]
) -> None:
    for role in keys_module.ROLES:
        reply = client.get(SESSION, headers=bearer(tokens[role]))
        tenant, said, key_id, of_all = reply.json()
        assert (tenant, said, of_all) == ("acme", role, False)
        assert tokens[role].split("_")[1] == key_id


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer nothing"},
        {"Authorization": "Bearer ts_000000000000_" + "0" * 64},
        {"Authorization": "Basic dXNlcjpwYXNz"},
    ],
)
def test_who_has_no_key_learns_nothing(client: httpx.Client, given: dict[str, str]) -> None:
    for path in (SESSION, "/v1/dead-letters", "/metrics", "/no/such/path"):
        reply = client.get(path, headers=given)
        check_problem(reply, 401)
        assert reply.headers["www-authenticate"].startswith("Bearer")


def test_every_part_of_a_token_counts(client: httpx.Client, tokens: dict[str, str]) -> None:
    token, other = tokens["read"], tokens["all"]
    prefix, key_id, secret = token.split("_")
    wrong = [
        f"{prefix}_{key_id}_{secret[:-1]}",
        f"{prefix}_{key_id}_{secret}0",
        f"{prefix}_{key_id}_",
        f"{prefix}_{key_id}",
        f"{prefix}__{secret}",
        f"xx_{key_id}_{secret}",
        f"{prefix}_{other.split('_')[1]}_{secret}",
        token.upper(),
    ]
    for one in wrong:
        check_problem(client.get(SESSION, headers=bearer(one)), 401)
    twice = [("Authorization", f"Bearer {token}"), ("Authorization", f"Bearer {other}")]
    check_problem(client.get(SESSION, headers=twice), 401)
    assert client.get(SESSION, headers={"authorization": f"bearer  {token}"}).status_code == 200


def test_a_key_that_expired_is_refused(
    file: Path, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = add(file, "acme", "read", int((time.time() + 3600) * 1e6))
    until(lambda: client.get(SESSION, headers=bearer(soon)).status_code == 200)
    later = SimpleNamespace(time=lambda: time.time() + 3600, monotonic=time.monotonic)
    monkeypatch.setattr(keys_module, "time", later)
    check_problem(client.get(SESSION, headers=bearer(soon)), 401)


# --- tenants: roles are in test_every_route ------------------------------------------------------


def test_a_key_of_all_tenants_names_one(client: httpx.Client, tokens: dict[str, str]) -> None:
    mine = bearer(tokens["all"])
    assert client.get(SESSION, headers=mine | {"Turnfold-Tenant": "beta"}).json()[0] == "beta"
    for name in ("*", "", "a/b", "x" * 129):
        check_problem(client.get(SESSION, headers=mine | {"Turnfold-Tenant": name}), 400)


def test_a_path_that_is_not_there_needs_a_key(client: httpx.Client, tokens: dict[str, str]) -> None:
    for path in ("/v1/dead-letters/x", "/v1/dead-letters%2Fx", "/v1/nothing"):
        check_problem(client.get(path), 401)
        check_problem(client.get(path, headers=bearer(tokens["read"])), 404)


def test_health_needs_no_key(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == ["default", "read", None, False]


# --- without keys -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.8.9.1:80", "[::1]", "[::1]:80"]
)
def test_without_keys_this_machine_may_all(open_server: Served, host: str) -> None:
    reply = httpx.get(open_server.url + SESSION, headers={"Host": host}, timeout=WITHIN)
    assert reply.json() == list(Caller("default", "admin", None, of_all=True))


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "",
        "::",
        "a:b",
    ],
)
def test_without_keys_another_name_is_refused(open_server: Served, host: str) -> None:
    for path in (SESSION, "/healthz"):
        reply = httpx.get(open_server.url + path, headers={"Host": host}, timeout=WITHIN)
        check_problem(reply, 403)


def test_without_keys_a_page_of_another_site_may_not_write(open_server: Served) -> None:
    url = open_server.url + "/v1/records"
    for origin in ("https://evil.example", "null", "http://localhost:9", "http://127.0.0.1"):
        check_problem(
            httpx.post(url, headers={"Origin": origin}, content=b"{}", timeout=WITHIN), 403
        )
    own = {"Origin": open_server.url}
    assert httpx.post(url, headers=own, content=b"{}", timeout=WITHIN).status_code == 200
    asked = httpx.options(url, headers={"Origin": open_server.url})
    assert not [name for name in asked.headers if name.startswith("access-control")]


# --- the file follows -------------------------------------------------------------------------


def test_a_revoked_key_is_refused_within_a_second(
    file: Path, client: httpx.Client, server: Served
) -> None:
    token = add(file, "acme", "write")
    until(lambda: client.get(SESSION, headers=bearer(token)).status_code == 200)
    with httpx.stream(
        "GET", server.url + SESSION + "/events", headers=bearer(token), timeout=WITHIN
    ) as stream:
        heard = stream.iter_bytes()
        next(heard)
        done = turnfold("admin", "keys", "revoke", "--yes", token.split("_")[1], "--keys", file)
        assert done.code == 0
        began = time.monotonic()
        for _ in heard:
            assert time.monotonic() - began < WITHIN  # an open event stream ends, too
    check_problem(client.get(SESSION, headers=bearer(token)), 401)


def test_a_broken_file_keeps_the_last_good_keys_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "keys.json"
    token = add(file, "acme", "read")
    good = file.read_text("utf-8")
    known = Keys(file)
    for broken in ("", "{", good.replace('"read"', '"root"'), good.replace("acme", "a/b")):
        file.write_text(broken, "utf-8")
        time.sleep(1.2 * keys_module.LOOK_SECONDS)
        caplog.clear()
        assert known.caller(token.encode()) == Caller("acme", "read", token.split("_")[1])
        assert known.trouble
        (said,) = caplog.records
        assert said.levelno == logging.ERROR
        assert str(file) in said.getMessage()
    file.unlink()
    time.sleep(1.2 * keys_module.LOOK_SECONDS)
    assert known.caller(token.encode())
    file.write_text(good.replace("acme", "beta"), "utf-8")
    file.chmod(0o600)
    time.sleep(1.2 * keys_module.LOOK_SECONDS)
    found = known.caller(token.encode())
    assert found
    assert found.tenant == "beta"
    assert known.trouble is None


# --- the commands -----------------------------------------------------------------------------


def keys(*args: str, file: Path) -> Done:
    """`turnfold admin keys …`"""
    return turnfold("admin", "keys", *args, "--keys", file)


def test_the_commands_make_list_and_revoke(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    made = keys("add", "--tenant", "acme", "--role", "write", "--note", "chat", file=file)
    token = made.out.strip()
    _, key_id, secret = token.split("_")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert secret not in file.read_text("utf-8")
    (listed,) = keys("list", "-o", "json", file=file).json()
    assert (listed["id"], listed["tenant"], listed["role"]) == (key_id, "acme", "write")
    assert not {secret, token} & set(json.dumps(listed).split('"'))
    file.chmod(0o640)
    known = Keys(file)
    assert known.caller(token.encode()) == Caller("acme", "write", key_id)
    until = "2031-01-01T00:00:00+09:00"
    second = keys(
        "add", "--tenant", "*", "--role", "admin", "--expires", until, "-o", "json", file=file
    )
    assert second.json()["token"].startswith("ts_")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert keys("list", "-o", "json", file=file).json()[1]["expires_at"] == "2030-12-31T15:00:00Z"
    assert "would revoke" in keys("revoke", key_id, file=file).out
    assert len(keys("list", "-o", "json", file=file).json()) == 2
    assert keys("revoke", "--yes", key_id, "-o", "json", file=file).json() == {"revoked": key_id}
    assert len(keys("list", "-o", "json", file=file).json()) == 1


def test_the_commands_say_what_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    assert keys("list", file=file).code == 3
    assert keys("add", "--tenant", "a/b", "--role", "read", file=file).code == 2
    assert keys("add", "--tenant", "*", "--role", "write", file=file).code == 2
    late = keys("add", "--tenant", "a", "--role", "read", "--expires", "soon", file=file)
    assert late.code == 2
    over = keys("add", "--tenant", "a", "--role", "read", "--expires", "2026-01-31", file=file)
    assert over.code == 2
    assert "expires: 2026-01-31T23:59:59.999999Z is in the past" in over.err
    assert not file.exists()
    assert keys("add", "--tenant", "a", "--role", "read", file=file).code == 0
    unknown = keys("revoke", "--yes", "nobody", file=file)
    assert (unknown.code, "nobody" in unknown.err) == (4, True)
    good = file.read_text("utf-8")
    file.write_text(good.replace('"role": "read"', '"role": "reader"'), "utf-8")
    broken = keys("add", "--tenant", "a", "--role", "read", file=file)
    assert broken.code == 3
    assert "$.keys[0].role" in broken.err
    file.write_text(good, "utf-8")
    file.chmod(0o666)
    assert "chmod 600" in keys("list", file=file).err


def test_keys_made_side_by_side_are_all_there(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    done: list[Done] = []
    calls = [
        threading.Thread(
            target=lambda: done.append(keys("add", "--tenant", "a", "--role", "read", file=file))
        )
        for _ in range(4)
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    made = [one.out.strip().split("_")[1] for one in done if one.code == 0]
    assert {one["id"] for one in keys("list", "-o", "json", file=file).json()} == set(made)
    assert all("run it again" in one.err for one in done if one.code)


# --- what every reply and the log say -----------------------------------------------------------


def test_every_reply_has_the_security_headers(
    server: Served, client: httpx.Client, tokens: dict[str, str]
) -> None:
    mine = bearer(tokens["all"]) | {"Turnfold-Tenant": "a"}
    replies = [
        client.get("/healthz"),
        client.get(SESSION),
        client.get(SESSION, headers=mine),
        client.get("/no/such", headers=mine),
        client.put("/v1/records", headers=mine),
        client.post("/v1/broken/x", headers=mine, content=b"x"),
        client.post("/v1/records", headers=mine | {"Content-Encoding": "br"}, content=b"x"),
        client.get(SESSION, headers=mine | {"x": "y" * 40_000}),
    ]
    assert [one.status_code for one in replies] == [200, 401, 200, 404, 405, 500, 415, 431]
    for reply in replies:
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cache-control"] == "no-store"
        assert "server" not in reply.headers
    raw = server.ask(b"NO HTTP AT ALL\r\n\r\n")
    assert raw.startswith(b"HTTP/1.1 400")
    assert b"nosniff" in raw


def test_the_log_holds_routes_and_no_id_text_or_token(
    client: httpx.Client, tokens: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpx").setLevel(logging.CRITICAL)
    logging.getLogger("httpcore").setLevel(logging.CRITICAL)
    for token in (tokens["write"], f"ts_{SECRET}_{SECRET}"):
        for path in (f"/v1/sessions/{SECRET}", f"/{SECRET}", f"/v1/broken/{SECRET}"):
            marked = bearer(token) | {"X-Marked": SECRET}
            client.post(path, headers=marked, content=SECRET.encode(), params={"q": SECRET})
            client.get(path, headers=bearer(token))
    client.get("/metrics", headers=bearer(tokens["write"]))
    # a line is written behind its reply
    until(lambda: " 403" in caplog.records[-1].getMessage())
    said = [one.getMessage() + repr(one.__dict__) for one in caplog.records]
    assert f"acme {tokens['write'].split('_')[1]}" in said[-1]  # who was refused
    assert any("GET /v1/sessions/{session_id} 200" in one for one in said)
    assert any("ValueError" in one for one in said)
    for secret in (SECRET, tokens["write"], tokens["write"].split("_")[2]):
        assert [one for one in said if secret in one] == []
