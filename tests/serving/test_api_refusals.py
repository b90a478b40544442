"""Requests that are not as HTTP or the API has them: each gets a problem document that says why."""

import json
import socket
from contextlib import suppress
from itertools import product
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from streams.serving.http.connection import HEAD_BYTES
from streams.serving.http.endpoints import ENDPOINTS
from tests.serving.serving import Server
from tests.waiting import WITHIN

HOST = b"Host: localhost\r\n"
READS = [one for one in ENDPOINTS if one.method == "GET"]
WRITES = [one for one in ENDPOINTS if one.method == "POST"]
METHODS: dict[str, set[str]] = {}
"""What each path takes, with a value in place of its parameter."""
for one in ENDPOINTS:
    METHODS.setdefault(one.path.replace("{", "").replace("}", ""), set()).add(one.method)
PATHS = list(METHODS)


def raw(server: Server, request: bytes) -> tuple[int, dict[str, str], Any]:
    """Status, headers and document of the reply to these bytes."""
    at = urlsplit(server.url)
    with socket.create_connection((at.hostname, at.port), timeout=WITHIN) as connection:
        connection.sendall(request)
        with suppress(OSError):  # it may be closed already
            connection.shutdown(socket.SHUT_WR)
        reply = b""
        while piece := connection.recv(65536):
            reply += piece
    head, _, body = reply.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, json.loads(body) if body else None


def is_problem(reply: httpx.Response, status: int, kind: str) -> None:
    said = reply.json()
    assert reply.headers["content-type"] == "application/problem+json"
    assert (reply.status_code, said["type"], said["status"]) == (
        status, f"/problems/{kind}", status,
    ), said  # fmt: skip
    assert "Traceback" not in reply.text and "<" not in said["detail"]


@pytest.mark.parametrize("path", ["/", "/openapi.json", "/metrics", *PATHS])
def test_every_endpoint_refuses_a_parameter_that_it_does_not_have(
    api: httpx.Client, path: str
) -> None:
    for method in METHODS.get(path, {"GET"}):
        reply = api.request(
            method, path, params={"nonsense": "1"}, json=None if method == "GET" else {}
        )
        is_problem(reply, 400, "unknown-parameter")
        assert "unknown query parameter nonsense" in reply.json()["detail"]
        assert reply.json()["errors"][0]["field"] == "nonsense"


@pytest.mark.parametrize(
    ("path", "slip", "meant"),
    [
        ("/v1/sessions/emma-move", "asof", "as_of"), ("/v1/sessions/emma-move", "asOf", "as_of"),
        ("/v1/users/emma/states", "known-at", "known_at"), ("/v1/users/emma/mood", "At", "at"),
        ("/memory/summary", "userId", "user_id"), ("/memory/summary", "sessionid", "session_id"),
        ("/v1/search", "kinds", "kind"), ("/v1/dead-letters", "limits", "limit"),
    ],
)  # fmt: skip
def test_a_slip_is_told_what_was_meant(api: httpx.Client, path: str, slip: str, meant: str) -> None:
    reply = api.get(path, params={slip: "x"})
    is_problem(reply, 400, "unknown-parameter")
    assert f"did you mean {meant}?" in reply.json()["detail"]


def test_an_unknown_name_is_said_in_part_only(api: httpx.Client) -> None:
    for name in ("x" * 5_000, "é☃", "\r\nset-cookie: a", "<script>"):
        reply = api.get("/healthz", params={name: ""})
        assert reply.status_code == 400
        assert len(reply.content) < 1_000


@pytest.mark.parametrize("endpoint", READS)
def test_a_parameter_is_given_once(api: httpx.Client, endpoint: Any) -> None:
    for parameter in endpoint.dependant.query_params:
        given = {parameter.alias: ["1", "2"]}
        reply = api.get(endpoint.path.replace("{", "").replace("}", ""), params=given)
        is_problem(reply, 422, "invalid")
        assert parameter.alias in {one["field"] for one in reply.json()["errors"]}


@pytest.mark.parametrize("path", PATHS)
def test_a_trailing_slash_is_another_path(api: httpx.Client, path: str) -> None:
    for method in METHODS[path]:
        is_problem(api.request(method, f"{path}/", json={}), 404, "not-found")


@pytest.mark.parametrize("path", ["/", "/openapi.json", "/metrics", *PATHS])
def test_a_method_that_a_path_does_not_take_is_told_which_it_takes(
    api: httpx.Client, path: str
) -> None:
    takes = METHODS.get(path, {"GET"})
    for method in {"PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} - takes:
        reply = api.request(method, path)
        is_problem(reply, 405, "method-not-allowed")
        assert set(reply.headers["allow"].split(", ")) - {"HEAD"} == takes


def test_bytes_that_are_no_text_are_no_id(sample: Server) -> None:
    """Nor is NUL. They would be read as another id than was sent."""
    for path in (
        b"/v1/sessions/%FF", b"/v1/sessions/a%C3%28", b"/memory/user/%ED%A0%80",
        b"/v1/sessions/a%00b", b"/memory/summary?user_id=%FF", b"/v1/search?q=%C3",
        b"/memory/summary?user_id=a%00b",
    ):  # fmt: skip
        status, headers, said = raw(sample, b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n")
        assert (status, said["type"]) == (422, "/problems/invalid"), (path, said)
        assert headers["content-type"] == "application/problem+json"


def test_http_1_1_has_one_host(sample: Server) -> None:
    for hosts in (b"", HOST + HOST):
        status, _, said = raw(sample, b"GET /healthz HTTP/1.1\r\n" + hosts + b"\r\n")
        assert (status, said["type"]) == (400, "/problems/no-host")


def test_a_host_that_is_not_this_machine_is_refused(sample: Server) -> None:
    for host in (b"evil.example", b"localhost.evil.example", b"127.0.0.1.nip.io", b"10.0.0.1", b""):
        status, _, said = raw(sample, b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
        assert (status, said["type"]) == (403, "/problems/not-this-machine"), host


@pytest.mark.parametrize("endpoint", WRITES)
def test_a_page_of_another_site_cannot_write(api: httpx.Client, endpoint: Any) -> None:
    """Whatever a browser says of it; what a person or a program sends is taken."""
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "anything"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"},
    ):
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            reply = api.request(method, endpoint.path, json=endpoint.reply.example, headers=headers)
            is_problem(reply, 403, "not-this-machine")
    for headers in ({"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {}):
        reply = api.post(endpoint.path, json=endpoint.reply.example, headers=headers)
        assert reply.status_code == (501 if endpoint.path == "/v1/extract" else 200)  # no model


SITES = ("cross-site", "same-site", "anything", "")
MODES = ("navigate", "no-cors", "cors", "same-origin", "websocket", "", None)


@pytest.mark.parametrize("path", ["/", "/healthz", "/v1/sessions/emma-move", "/openapi.json"])
def test_a_page_of_another_site_may_link_here_and_load_nothing(
    api: httpx.Client, path: str
) -> None:
    for site, mode, method in product(SITES, MODES, ("GET", "HEAD")):
        headers = {"Sec-Fetch-Site": site} | ({} if mode is None else {"Sec-Fetch-Mode": mode})
        reply = api.request(method, path, headers=headers)
        refused = reply.status_code == 403
        assert refused == (mode != "navigate"), (site, mode, method)
    twice = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"),
             ("Sec-Fetch-Mode", "cors")]  # fmt: skip
    assert api.get(path, headers=twice).status_code == 403
    for site, mode in product(("same-origin", "none"), MODES[:-1]):
        headers = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": mode or ""}
        assert api.get(path, headers=headers).status_code == 200, (site, mode)


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("*/*", 200), ("application/json", 200), ("application/*;q=0.5", 200), ("", 200),
        ("text/html,application/xhtml+xml,*/*;q=0.8", 200), ("nonsense", 200),
        ("APPLICATION/JSON; charset=utf-8", 200), ("application/problem+json", 200),
        ("text/html", 406), ("application/xml, text/*", 406), ("application/json;q=0", 406),
    ],
)  # fmt: skip
def test_what_a_client_does_not_accept_is_not_sent(
    api: httpx.Client, accept: str, status: int
) -> None:
    for path in ("/healthz", "/v1/sessions/emma-move", "/openapi.json"):
        reply = api.get(path, headers={"Accept": accept})
        if status == 200:
            assert reply.status_code == 200, path
        else:
            is_problem(reply, 406, "not-acceptable")


def test_heads_and_urls_that_are_too_long(sample: Server) -> None:
    long = b"a" * (HEAD_BYTES + 1)
    for line, header in ((b"/healthz?" + long, b""), (b"/healthz", b"X-Long: " + long + b"\r\n")):
        status, headers, said = raw(sample, b"GET " + line + b" HTTP/1.1\r\n" + HOST + header)
        assert (status, said["type"]) == (431, "/problems/headers-too-large")
        assert headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "request_",
    [
        b"NONSENSE\r\n\r\n", b"GET  HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n",
        b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
        b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        b"CONNECT example.com:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)  # fmt: skip
def test_what_is_no_http_is_said_in_json(sample: Server, request_: bytes) -> None:
    status, headers, said = raw(sample, request_)
    assert 400 <= status < 500, said
    assert headers["content-type"] == "application/problem+json"
    assert said["status"] == status


@pytest.mark.parametrize(
    ("headers", "content", "status", "kind"),
    [
        ({"Content-Type": "text/html"}, b"{}", 415, "unsupported-media-type"),
        ({"Content-Type": ""}, b"{}", 415, "unsupported-media-type"),
        ({"Content-Type": "application/json; charset=latin-1"}, b"{}", 415,
         "unsupported-media-type"),
        ({"Content-Encoding": "br"}, b"{}", 415, "unsupported-media-type"),
        ({"Content-Encoding": "gzip, gzip"}, b"{}", 415, "unsupported-media-type"),
        ({"Content-Encoding": "gzip"}, b"{}", 400, "broken-body"),
        ({"Content-Encoding": "gzip"}, b"\x1f\x8b\x08\x00\x00\x00\x00\x00", 400, "broken-body"),
        ({}, b"", 400, "bad-json"),
        ({}, b"{", 400, "bad-json"),
        ({}, b"\xff\xfe{\x00}\x00", 400, "bad-json"),
        ({}, b"\xef\xbb\xbf", 400, "bad-json"),
        ({}, b"\xef\xbb\xbf\xef\xbb\xbf{}", 400, "bad-json"),
        ({}, b"NaN", 400, "bad-json"),
        ({}, b"[" * 100_000, 400, "bad-json"),
        ({}, b"3", 422, "invalid"),
        ({}, b"null", 422, "invalid"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", [one.path for one in WRITES if one.reply.body is not None])
def test_a_body_that_cannot_be_read_is_told_why(
    api: httpx.Client, path: str, headers: dict[str, str], content: bytes, status: int, kind: str
) -> None:
    given = {"Content-Type": "application/json", **headers}
    is_problem(api.post(path, content=content, headers=given), status, kind)
