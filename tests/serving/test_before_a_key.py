"""What a server does for those who show no key: little, whatever they send."""

import gzip
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest

from streams.serving.http.app import guarded
from streams.serving.http.keys import Keys, changed, make
from streams.serving.http.rate_limits import RequestLimits
from streams.serving.inspector.inspector import FORM_BYTES, Inspector
from tests.serving.guarded_app import Served, served, small_app
from tests.waiting import WITHIN, until

TRAILERS = {
    "a trailer without end": b"0\r\nx: " + b"x" * 200_000,
    "many trailers": b"0\r\n" + b"x: y\r\n" * 40_000,
    "a chunk extension without end": b"1;" + b"x" * 200_000,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The small application with keys and pages."""
    path = tmp_path_factory.mktemp("keys") / "keys.json"
    with changed(path) as held:
        held.append(make("default", "admin", None, "")[1])
    keys = Keys(path)
    pages = Inspector(keys)
    with served(guarded(small_app(pages), keys, RequestLimits(), pages)) as running:
        yield running


def pieces(body: bytes) -> Iterator[bytes]:
    """A body that is sent chunked."""
    yield body


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json", "/", "/sign-out"])
def test_an_open_path_takes_no_body(server: Served, method: str, path: str) -> None:
    packed = {"content-encoding": "gzip"}
    for body, headers in (
        (b"x", {}),
        (gzip.compress(b" " * 1_000_000), packed),
        (pieces(b"x"), {}),
    ):
        reply = httpx.request(
            method, server.url + path, content=body, headers=headers, timeout=WITHIN
        )
        assert (reply.status_code, reply.json()["title"]) == (413, "Body too large")


def test_the_form_with_the_key_is_short_and_plain(server: Served) -> None:
    form, url = b"key=" + b"x" * 100, server.url + "/sign-in"
    reply = httpx.post(url, content=form, timeout=WITHIN)
    assert reply.json()["title"] == "Not this site"  # the form was read
    long = b"key=" + b"x" * FORM_BYTES
    assert httpx.post(url, content=long, timeout=WITHIN).status_code == 413
    packed = {"content-encoding": "gzip"}
    reply = httpx.post(url, content=gzip.compress(form), headers=packed, timeout=WITHIN)
    assert reply.status_code == 415
    assert httpx.post(url, content=pieces(form), timeout=WITHIN).status_code == 415


@pytest.mark.parametrize("sent", TRAILERS.values(), ids=TRAILERS)
def test_what_stands_around_chunks_is_bounded_as_a_head_is(sent: bytes) -> None:
    with served(guarded(small_app(), None, RequestLimits())) as server:
        head = b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        with server.connect(head + b"1\r\nx\r\n", WITHIN) as opened:
            opened.sendall(sent)
            assert opened.recv(1000).startswith(b"HTTP/1.1 431 ")


def test_trailers_are_no_headers() -> None:
    with served(guarded(small_app(), None, RequestLimits())) as server:
        head = b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        with server.connect(head + b"1\r\nx\r\n" * 20_000 + b"0\r\nx: y\r\n\r\n", WITHIN) as opened:
            assert opened.recv(1000).startswith(b"HTTP/1.1 200 ")


@pytest.mark.usefixtures("clock")
def test_who_shows_no_key_has_a_rate(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    with changed(path) as held:
        held.append(make("default", "admin", None, "")[1])
    with served(guarded(small_app(), Keys(path), RequestLimits(open_rate=2))) as server:
        replies = [httpx.get(server.url + "/healthz", timeout=WITHIN) for _ in range(40)]
    refused = [one for one in replies if one.status_code == 429]
    assert replies[0].status_code == 200 and refused
    assert int(refused[0].headers["retry-after"]) >= 1


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Bearer ts_0_0"}, {"authorization": "x"}]
)
def test_wrong_keys_have_a_rate_which_costs_right_ones_nothing(
    tmp_path: Path, headers: dict[str, str]
) -> None:
    path = tmp_path / "keys.json"
    with changed(path) as held:
        token, key = make("default", "admin", None, "")
        held.append(key)
    with served(guarded(small_app(), Keys(path), RequestLimits(open_rate=2))) as server:
        ask = partial(httpx.get, server.url + "/v1/dead-letters", timeout=WITHIN)
        replies = [ask(headers=headers) for _ in range(40)]
        assert ask(headers={"authorization": f"Bearer {token}"}).status_code == 200
        assert httpx.get(server.url + "/healthz", timeout=WITHIN).status_code == 200
    assert {one.status_code for one in replies} == {401, 429}
    refused = next(one for one in replies if one.status_code == 429)
    assert int(refused.headers["retry-after"]) >= 1


def test_bodies_of_a_tenants_keys_leave_room_for_those_of_others(tmp_path: Path) -> None:
    path, tokens = tmp_path / "keys.json", []
    with changed(path) as held:
        for tenant in ("acme", "acme", "beta"):
            token, key = make(tenant, "admin", None, "")
            held.append(key)
            tokens.append(token)
    bounds = RequestLimits(body_bytes=100_000, held_bytes=400_000)
    with served(guarded(small_app(), Keys(path), bounds)) as server:
        head = "POST /v1/records HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n"
        head += "Content-Length: 90000\r\n\r\n"
        ask = partial(httpx.post, server.url + "/v1/records", content=b"x" * 90_000)
        with server.connect(head.format(tokens[0]).encode() + b"x" * 80_000, WITHIN):
            _, same, other = ({"authorization": f"Bearer {token}"} for token in tokens)
            until(lambda: ask(headers=same, timeout=WITHIN).status_code == 429)
            assert ask(headers=other, timeout=WITHIN).status_code == 200
        until(lambda: ask(headers=same, timeout=WITHIN).status_code == 200)


def test_a_body_that_unpacks_to_very_much_is_refused() -> None:
    with served(guarded(small_app(), None, RequestLimits())) as server:
        packed = {"content-encoding": "gzip"}
        url = server.url + "/v1/records"
        small = httpx.post(url, content=gzip.compress(b" " * 900_000), headers=packed)
        assert small.status_code == 200
        large = httpx.post(url, content=gzip.compress(b" " * 9_000_000), headers=packed)
        assert large.status_code == 413 and "times what was sent" in large.json()["detail"]
