"""The Python client's spool: what is in the file after any number of kills, refusals, silences."""

import json
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from turnfold_client import SpoolError, Turnfold, errors
from turnfold_client.spool import Entry, Spool

KEYS = st.lists(st.text(min_size=1, max_size=5), max_size=6, unique=True)
TEXT = st.text(max_size=20)
MESSAGE = {"role": "user", "content": "tea"}


def entry(key: str, text: str = "") -> Entry:
    return Entry(key, to_json({"text": text}))


class Server:
    """Answers as told, one word a request: `ok`; `lost`: taken without an answer; `away`: not
    taken; `busy`, `bad`. `taken`: the keys of what was taken, in order, each once."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.taken: dict[str, Any] = {}

    def __call__(self, request: httpx.Request) -> httpx.Response:
        word = self.words.pop(0) if self.words else "ok"
        if word in ("busy", "bad"):
            return httpx.Response(503 if word == "busy" else 422, json={"detail": word})
        if word in ("ok", "lost"):
            self.taken.setdefault(request.headers["idempotency-key"], json.loads(request.content))
        if word != "ok":
            raise httpx.ConnectError("nobody is there", request=request)
        told = {"session_id": "s", "message_ids": [], "turns": [], "counts": {}, "left_out": {}}
        return httpx.Response(200, json=told)

    def client(self, path: Path) -> Turnfold:
        transport = httpx.MockTransport(self)
        return Turnfold("http://there", transport=transport, retries=0, spool=path)


@given(KEYS, st.data())
@settings(deadline=None)
def test_a_kill_at_any_byte_loses_what_was_not_kept_and_no_more(
    keys: list[str], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "deep", "spool")
        ends = [0]
        kept = [entry(key, data.draw(TEXT)) for key in keys]
        for one in kept:
            Spool(path).append(one)
            ends.append(path.stat().st_size)
        if not keys:
            return
        cut = data.draw(st.integers(0, ends[-1]))
        path.write_bytes(path.read_bytes()[:cut])
        whole = [one for one, end in zip(kept, ends[1:], strict=True) if end <= cut]
        assert Spool(path).entries() == whole
        Spool(path).append(entry("after"))
        assert Spool(path).entries() == [*whole, entry("after")]


@given(KEYS, st.data())
@settings(deadline=None)
def test_what_was_answered_is_dropped_and_the_rest_stays_in_order(
    keys: list[str], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(Path(folder, "spool"))
        for key in keys:
            spool.append(entry(key))
        done = data.draw(st.lists(st.sampled_from(keys))) if keys else []
        spool.drop(done)
        assert spool.entries() == [entry(key) for key in keys if key not in done]


WORDS = st.lists(st.sampled_from(("ok", "lost", "away", "busy")), max_size=12)


@given(WORDS, st.integers(1, 6), st.booleans())
@settings(deadline=None)
def test_whatever_the_server_does_each_call_counts_once_and_in_order(
    words: list[str], calls: int, flushes: bool
) -> None:
    """A program that calls, ends and begins again; at the end the server is there."""
    with tempfile.TemporaryDirectory() as folder:
        path, server = Path(folder, "spool"), Server(words)
        for number in range(calls):
            with server.client(path) as client:
                message = MESSAGE | {"content": str(number)}
                reply = client.add([message], user_id="maya", idempotency_key=f"k{number}")
                assert (reply is None) == bool(Spool(path).entries())
                if flushes:
                    with suppress(errors.UnreachableError, errors.NotReadyError):
                        client.flush()
                        assert Spool(path).entries() == []
        server.words.clear()
        with server.client(path) as client:
            client.flush()
        assert list(server.taken) == [f"k{number}" for number in range(calls)]
        said = [body["messages"][0] for body in server.taken.values()]
        assert [one["content"] for one in said] == [str(number) for number in range(calls)]
        assert all("created_at" in one for one in said), "when it was said, not when it was sent"
        assert path.read_bytes() == b"" and not Path(f"{path}.refused").exists()


def test_what_the_server_refuses_keeps_nobody_waiting(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    server = Server(["away", "bad", "ok", "bad"])
    with server.client(path) as client:
        assert client.add([MESSAGE], user_id="maya", idempotency_key="old") is None
    with server.client(path) as client:
        assert client.add([MESSAGE], user_id="maya", idempotency_key="new") is not None
        with pytest.raises(errors.InvalidError, match="bad"):
            client.add([MESSAGE], user_id="maya", idempotency_key="own")
    assert list(server.taken) == ["new"] and Spool(path).entries() == []
    (refused,) = map(json.loads, Path(f"{path}.refused").read_text("utf-8").splitlines())
    assert refused["key"] == "old" and "bad" in refused["reason"]
    assert refused["body"]["user_id"] == "maya"


def test_a_line_that_is_no_request_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    Spool(path).append(entry("one"))
    path.write_bytes(path.read_bytes() + b"?\n")
    Spool(path).append(entry("two"))
    assert Spool(path).entries() == [entry("one"), entry("two")]
    assert Spool(path).entries() == [entry("one"), entry("two")]
    (refused,) = map(json.loads, Path(f"{path}.refused").read_text("utf-8").splitlines())
    assert refused == {"reason": "not a request", "line": "?"}


def test_a_spool_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path, server = tmp_path / "file" / "spool", Server([])
    with server.client(path) as client, pytest.raises(SpoolError, match="spool"):
        client.add([MESSAGE], user_id="maya")
    assert not server.taken, "what may not be kept is not sent"


def test_a_server_that_was_away_is_not_asked_at_every_call(tmp_path: Path) -> None:
    server = Server(["away"] * 9)
    with server.client(tmp_path / "spool") as client:
        for _ in range(5):
            assert client.add([MESSAGE], user_id="maya") is None
        assert len(server.words) == 8
        server.words.clear()
        client.flush()
    assert len(server.taken) == 5


def test_others_see_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "spool"
    Spool(path).append(entry("one"))
    Spool(path).append(entry("two"))
    Spool(path).drop(["one"])
    Spool(path).refuse(entry("two"), "bad")
    assert {one.stat().st_mode & 0o777 for one in tmp_path.iterdir()} == {0o600}
