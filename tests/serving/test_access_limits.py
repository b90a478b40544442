"""Limits: bodies, slow and silent clients, rates, event streams, ten thousand connections."""

import gzip
import json
import re
import resource
import select
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from streams.serving.http import connection
from streams.serving.http.app import guarded
from streams.serving.http.keys import Keys, changed, make
from streams.serving.http.rate_limits import Rate, RequestLimits
from tests.serving.conftest import Clock
from tests.serving.guarded_app import LARGE, Served, everything, served, small_app
from tests.waiting import WITHIN, until

pytestmark = pytest.mark.nightly

RECORDS = "/v1/records"
MOST = 1_000_000
BOUNDS = RequestLimits(body_bytes=MOST, held_bytes=2_500_000, streams=3)
MANY = 10_000
HARD = resource.getrlimit(resource.RLIMIT_NOFILE)[1]


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    """The small application with small bounds, without keys."""
    with served(guarded(small_app(), None, BOUNDS)) as running:
        yield running


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The same on short deadlines, which a busy machine may miss where nobody is slow."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 1.5)
    monkeypatch.setattr(connection, "READ_SECONDS", 1.0)
    with served(guarded(small_app(), None, BOUNDS._replace(body_seconds=1.5))) as running:
        yield running


def post(server: Served, body: bytes | Iterator[bytes], **headers: str) -> httpx.Response:
    """Posts a body to where records go."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(server.url + RECORDS, content=body, headers=named, timeout=WITHIN)


def pieces(body: bytes) -> Iterator[bytes]:
    """A body in pieces: sent chunked, without a length."""
    for start in range(0, len(body), 50_000):
        yield body[start : start + 50_000]


# --- bodies -----------------------------------------------------------------------------------


def test_bodies_arrive_whole_and_unpacked(server: Served) -> None:
    body = bytes(range(256)) * 3900
    told = {"bytes": len(body), "sha256": sha256(body).hexdigest()}
    packed = gzip.compress(body)
    two = gzip.compress(body[:1000]) + gzip.compress(body[1000:])
    assert post(server, body).json() == told
    assert post(server, pieces(body)).json() == told
    assert post(server, packed, content_encoding="gzip").json() == told
    assert post(server, pieces(packed), content_encoding="GZIP").json() == told
    assert post(server, two, content_encoding="gzip").json() == told
    assert post(server, b"").json()["bytes"] == 0
    assert post(server, b"x" * MOST).json()["bytes"] == MOST


def test_a_body_too_large_is_refused_however_it_comes(server: Served) -> None:
    large = b"x" * (MOST + 1)
    forms = [
        post(server, large),
        post(server, pieces(large)),
        post(server, gzip.compress(large), content_encoding="gzip"),
        post(server, pieces(gzip.compress(large)), content_encoding="gzip"),
    ]
    for reply in forms:
        assert reply.status_code == 413
        assert str(MOST) in reply.json()["detail"]


def by_urllib(url: str, body: bytes) -> int:
    request = urllib.request.Request(url, body, method="POST")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=WITHIN)
    with refused.value as reply:
        return int(json.load(reply)["status"])


def by_httpx(url: str, body: bytes) -> int:
    return httpx.post(url, content=body, timeout=WITHIN).json()["status"]  # type: ignore[no-any-return]


def by_node(url: str, body: bytes) -> int:
    script = """
        const [url, size] = process.argv.slice(1)
        const reply = await fetch(url, { method: "POST", body: new Uint8Array(Number(size)) })
        console.log((await reply.json()).status)
    """
    asked = [*("node", "--input-type=module", "-e", script), url, str(len(body))]
    return int(subprocess.run(asked, check=True, capture_output=True, timeout=WITHIN).stdout)


@pytest.mark.parametrize("size", [MOST + 1, 8 * MOST, 40 * MOST])
@pytest.mark.parametrize("path", [RECORDS, "/healthz"])
@pytest.mark.parametrize(
    "ask", [by_urllib, by_httpx, pytest.param(by_node, marks=pytest.mark.needs("node"))]
)
def test_who_sends_all_before_reading_sees_why_it_was_refused(
    server: Served, ask: Callable[[str, bytes], int], path: str, size: int
) -> None:
    """One path keeps the connection, the other closes it."""
    assert ask(server.url + path, b"x" * size) == 413


def test_the_rest_of_a_refused_body_is_read_and_dropped(server: Served) -> None:
    part = f"POST {RECORDS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {2 * MOST}\r\n\r\n"
    with server.connect(part.encode()) as opened:
        assert opened.recv(12) == b"HTTP/1.1 413"
        opened.sendall(b"x" * 2 * MOST)
        opened.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert b"HTTP/1.1 200" in everything(opened)
    endless = part.replace(str(2 * MOST), str(1000 * MOST)).encode()
    with server.connect(endless) as opened, pytest.raises(ConnectionError):
        for _ in range(100):
            opened.sendall(b"x" * MOST)


def test_a_length_too_large_is_refused_before_a_byte_is_sent(server: Served) -> None:
    head = f"POST {RECORDS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {10**12}\r\n"
    with server.connect(f"{head}Expect: 100-continue\r\n\r\n".encode()) as opened:
        assert opened.recv(12) == b"HTTP/1.1 413"


def test_a_gzip_bomb_is_stopped_at_the_limit(server: Served) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    zeros = b"\0" * 10_000_000
    bomb = b"".join(packer.compress(zeros) for _ in range(8)) + packer.flush()
    assert len(bomb) < MOST
    before = resource.getrusage(resource.RUSAGE_SELF)
    reply = post(server, bomb, content_encoding="gzip")
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert reply.status_code == 413
    assert after.ru_maxrss - before.ru_maxrss < 50_000  # KB
    assert after.ru_utime - before.ru_utime < 1


@pytest.mark.parametrize(
    "body",
    [
        b"not gzip",
        gzip.compress(b"cut off")[:-1],
        gzip.compress(b"more") + b"rubbish",
        gzip.compress(b"") * 1000,
    ],
    ids=["not gzip", "cut off", "rubbish behind it", "a thousand members"],
)
def test_what_is_no_gzip_is_said_to_be_none(server: Served, body: bytes) -> None:
    reply = post(server, body, content_encoding="gzip")
    assert reply.status_code == 400
    assert "gzip" in reply.json()["detail"]


def test_another_encoding_is_refused(server: Served) -> None:
    reply = post(server, b"x", content_encoding="br")
    assert reply.status_code == 415
    assert reply.headers["accept-encoding"] == "gzip"


def test_bodies_under_way_share_a_room(hasty: Served) -> None:
    head = f"POST {RECORDS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {MOST}\r\n\r\n"
    part = head.encode() + b"x" * (MOST - 1)
    with ExitStack() as stack:
        opened = [stack.enter_context(hasty.connect(part)) for _ in range(3)]
        replies = [one.recv(12) for one in opened]
    assert sorted(replies) == [b"HTTP/1.1 408", b"HTTP/1.1 408", b"HTTP/1.1 503"]
    assert post(hasty, b"x" * MOST).status_code == 200  # and it is given back
    assert post(hasty, b"x" * MOST).status_code == 200
    assert post(hasty, b"x" * MOST).status_code == 200


# --- slow clients -----------------------------------------------------------------------------


def dribble(opened: socket.socket, byte: bytes, began: float) -> tuple[bytes, float]:
    """Sends a byte every 0.1 s until an answer comes; the answer, and seconds from `began` on."""
    while time.monotonic() - began < WITHIN:
        readable, _, _ = select.select([opened], [], [], 0.1)
        if readable:
            return everything(opened), time.monotonic() - began
        opened.sendall(byte)
    return b"", time.monotonic() - began


@pytest.mark.parametrize(
    ("start", "byte", "answer"),
    [
        (
            f"POST {RECORDS} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
            b"x",
            b"408",
        ),
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", b"x", b"408"),
        ("", b"\r\n", b""),
    ],
    ids=["body", "head", "nothing"],
)
def test_a_client_that_dribbles_is_cut_off(
    hasty: Served, start: str, byte: bytes, answer: bytes
) -> None:
    began = time.monotonic()
    with hasty.connect(start.encode()) as opened:
        reply, seconds = dribble(opened, byte, began)
    assert reply[9:12] == answer
    assert 1 < seconds < WITHIN


def test_a_client_that_says_nothing_is_cut_off(hasty: Served) -> None:
    began = time.monotonic()
    with hasty.connect() as opened:
        assert everything(opened) == b""
    assert 1 < time.monotonic() - began < WITHIN


@pytest.mark.parametrize("kept", ["close", "keep-alive"])
def test_a_client_that_does_not_read_is_cut_off(hasty: Served, kept: str) -> None:
    before = set(hasty.connections)
    asked = f"GET /v1/large HTTP/1.1\r\nHost: localhost\r\nConnection: {kept}\r\n\r\n"
    with hasty.connect(asked.encode()):
        own = until(lambda: set(hasty.connections) - before)
        until(lambda: not own & set(hasty.connections), every=0.1)


def test_a_client_that_reads_slowly_gets_it_all(server: Served) -> None:
    asked = b"GET /v1/large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with server.connect(asked) as opened:
        got = 0
        while piece := opened.recv(2_000_000):
            got += len(piece)
            time.sleep(0.1)
    assert got > LARGE


def test_headers_are_bounded_in_size_and_number(server: Served) -> None:
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    endless = head + b"X-Long: " + b"x" * 2 * connection.HEAD_BYTES
    assert server.ask(endless).startswith(b"HTTP/1.1 431")
    whole = endless + b"\r\n\r\n"
    assert server.ask(whole).startswith(b"HTTP/1.1 431")
    many = b"".join(b"X-%d: 1\r\n" % number for number in range(connection.HEADERS))
    assert server.ask(head + many + b"\r\n").startswith(b"HTTP/1.1 431")
    target = b"GET /" + b"x" * 2 * connection.HEAD_BYTES
    assert server.ask(target).startswith(b"HTTP/1.1 431")
    few = b"".join(b"X-%d: 1\r\n" % number for number in range(connection.HEADERS - 2))
    with server.connect(head + few + b"\r\n") as opened:
        assert opened.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
        b"Content-Length: 2\r\n\r\nxy",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
    ],
)
def test_what_is_not_http_is_said_to_be_none(server: Served, sent: bytes) -> None:
    reply = server.ask(sent)
    assert reply.startswith(b"HTTP/1.1 400"), reply
    head, _, body = reply.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    assert json.loads(body)["status"] == 400


# --- rates ------------------------------------------------------------------------------------


def test_a_bucket_empties_and_fills_again() -> None:
    rate = Rate(10)
    taken = [rate.take("a", 100.0) for _ in range(21)]
    assert [left for left, _ in taken] == [*range(19, -1, -1), 0]
    assert [wait == 0 for _, wait in taken] == [True] * 20 + [False]
    assert taken[-1][1] == pytest.approx(0.1)
    assert rate.take("b", 100.0) == (19, 0.0)
    assert rate.take("a", 100.55) == (4, 0.0)
    assert rate.take("a", 200.0) == (19, 0.0)


@pytest.mark.usefixtures("clock")
def test_what_is_refused_to_a_key_costs_its_tenant_nothing(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    made = [make("acme", "write", None, "") for _ in range(2)]
    with changed(file) as held:
        held += [key for _, key in made]
    with (
        served(
            guarded(small_app(), Keys(file), RequestLimits(key_rate=5, tenant_rate=15))
        ) as server,
        httpx.Client(base_url=server.url, timeout=WITHIN) as client,
    ):
        one, other = ({"Authorization": f"Bearer {token}"} for token, _ in made)
        replies = [client.get("/v1/sessions/s", headers=one).status_code for _ in range(60)]
        assert replies.count(429) == 50
        assert client.get("/v1/sessions/s", headers=other).status_code == 200


@pytest.mark.parametrize(
    ("whose", "bounds", "shares"),
    [
        ("key", RequestLimits(key_rate=5, tenant_rate=0), False),
        ("tenant", RequestLimits(key_rate=0, tenant_rate=5), True),
    ],
)
def test_who_asks_too_often_is_told_when_to_come_again(
    tmp_path: Path, clock: Clock, whose: str, bounds: RequestLimits, shares: bool
) -> None:
    file = tmp_path / "keys.json"
    made = [make(tenant, "write", None, "") for tenant in ("acme", "acme", "beta")]
    with changed(file) as held:
        held += [key for _, key in made]
    with (
        served(guarded(small_app(), Keys(file), bounds)) as server,
        httpx.Client(base_url=server.url, timeout=WITHIN) as client,
    ):

        def ask(number: int, path: str = "/v1/sessions/s", **more: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {made[number][0]}", **more}
            method = "POST" if more else "GET"
            return client.request(method, path, headers=headers, content=b"x" if more else None)

        first = ask(0)
        assert first.headers["ratelimit-policy"] == f'"{whose}";q=10;w=2'
        assert first.headers["ratelimit"] == f'"{whose}";r=9;t=2'
        assert [ask(0).status_code for _ in range(9)] == [200] * 9
        refused = ask(0)
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "1"
        assert refused.headers["ratelimit"] == f'"{whose}";r=0;t=1'
        assert refused.json()["title"] == "Too many requests"
        assert whose in refused.json()["detail"]
        # of another key of the tenant, and of another tenant
        left = [int(re.findall("r=([0-9]+)", ask(one).headers["ratelimit"])[0]) for one in (1, 2)]
        assert (left[0] < 9, left[1]) == (shares, 9)
        assert ask(2, RECORDS, **{"Content-Encoding": "br"}).headers["ratelimit"]
        clock.now += int(refused.headers["retry-after"])
        assert ask(0).status_code == 200


def test_a_tenant_has_so_many_event_streams(server: Served) -> None:
    head = b"GET /v1/sessions/s/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
    opened = [server.connect(head) for _ in range(BOUNDS.streams)]
    assert [one.recv(12) for one in opened] == [b"HTTP/1.1 200"] * BOUNDS.streams
    with server.connect(head) as one_more:
        assert one_more.recv(12) == b"HTTP/1.1 429"
    for one in opened:
        one.close()

    def is_given_one() -> bool:
        with server.connect(head) as again:
            return again.recv(12) == b"HTTP/1.1 200"

    until(is_given_one, every=0.1)


def test_all_tenants_have_so_many_event_streams(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    made = [make(tenant, "read", None, "") for tenant in ("acme", "beta")]
    with changed(file) as held:
        held += [key for _, key in made]
    bounds = RequestLimits(streams=3, all_streams=4)
    with served(guarded(small_app(), Keys(file), bounds)) as server, ExitStack() as stack:

        def opened(token: str) -> httpx.Response:
            headers = {"Authorization": f"Bearer {token}"}
            url = f"{server.url}/v1/sessions/s/events"
            return stack.enter_context(httpx.stream("GET", url, headers=headers, timeout=WITHIN))

        acme, beta = (token for token, _ in made)
        found = [opened(token).status_code for token in (acme, acme, acme, acme, beta)]
        assert found == [200, 200, 200, 429, 200]
        refused = opened(beta)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
        assert "all 4 event streams" in json.loads(refused.read())["detail"]


# --- connections ------------------------------------------------------------------------------


@pytest.fixture
def process() -> Iterator[Served]:
    """The small application in a process of its own, which starts with few files allowed."""
    few = partial(resource.setrlimit, resource.RLIMIT_NOFILE, (256, HARD))
    command = [sys.executable, "-m", "tests.serving.guarded_app"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=few)
    assert running.stdout
    with running:
        try:
            yield Served(int(running.stdout.readline()), None)
        finally:
            running.terminate()


def test_ten_thousand_open_connections_stop_nobody(process: Served) -> None:
    connection.raise_file_limit()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > MANY + 500
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as stack, httpx.Client(base_url=process.url, timeout=WITHIN) as client:
        idle = [stack.enter_context(process.connect(head)) for _ in range(MANY)]
        answered = [one.recv(12) for one in idle]
        assert answered == [b"HTTP/1.1 200"] * MANY
        took = [client.get("/v1/sessions/s").elapsed.total_seconds() for _ in range(50)]
        assert sorted(took)[25] < 1
        for one in (idle[0], idle[-1]):  # all of them are open still
            one.sendall(head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            assert everything(one).count(b"HTTP/1.1 200") == 1
