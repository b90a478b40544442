"""`GET /v1/users/{id}/export`: what the command `export` writes, by an admin's key."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.types import Message

from sinks.history import connect
from streams.serving.history.history_queries import Watch
from streams.serving.http import routes_archive
from tests.command import folded, ndjson, turn, turnfold
from tests.serving.front import breaking_off
from tests.serving.serving import serving
from tests.serving.test_mcp import key_of
from tests.waiting import until
from turnfold_client import AsyncTurnfold, Turnfold, errors

pytestmark = pytest.mark.nightly


def test_an_admin_gets_what_the_command_writes(tmp_path: Path) -> None:
    file, history = tmp_path / "keys.json", tmp_path / "history"
    keys = {role: key_of(file, role) for role in ("read", "write", "admin")}
    other = key_of(file, "admin", "other")
    with serving("--history", history, "--keys", file, "--extractor", "rules") as server:

        def by(key: str) -> dict[str, str]:
            return {"Authorization": f"Bearer {key}"}

        client = server.client
        said = [turn(f"e{number}", user_input=f"I live in Leeds{number}.") for number in range(40)]
        assert server.post(said, **by(keys["write"])).status_code == 200

        def both() -> tuple[httpx.Response, list[str]]:
            reply = client.get("/v1/users/u/export", headers=by(keys["admin"]))
            return reply, turnfold(
                "export", "u", "--tenant", "acme", "--history", history
            ).out.splitlines()

        def is_whole(pair: tuple[httpx.Response, list[str]]) -> bool:
            """The history is written behind the memory, a table after the other."""
            plans = pair[0].text.count('"type":"write_plan"')
            return plans == 40 and pair[0].text.splitlines()[1:] == pair[1][1:]

        reply, lines = until(both, is_whole)
        assert reply.headers["content-type"] == "application/x-ndjson"
        assert reply.text.count('"type":"turn"') == 40
        assert json.loads(lines[-1]) == {"kind": "end", "lines": len(lines)}
        head = client.head("/v1/users/u/export", headers=by(keys["admin"]))
        assert (head.status_code, head.content) == (200, b"")
        for role in ("read", "write"):
            refused = client.get("/v1/users/u/export", headers=by(keys[role]))
            assert refused.status_code == 403
            for path in ("export%0A", "%65xport%0A"):
                missing = client.get(f"/v1/users/u/{path}", headers=by(keys[role]))
                assert missing.status_code == 404, "a line feed at the end leads nobody past it"
        for key, user in ((other, "u"), (keys["admin"], "nobody")):
            unknown = client.get(f"/v1/users/{user}/export", headers=by(key))
            assert unknown.status_code == 404
        assert client.get("/v1/users/u/export").status_code == 401


def test_an_archive_whose_reader_stands_still_gives_its_room_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it takes one line of a real history; who reads takes nothing of it."""
    folded(ndjson(tmp_path / "a.ndjson", [turn("e1")]), history=tmp_path / "h")

    async def read() -> None:
        watch = Watch(routes_archive.SETTINGS)
        pieces = routes_archive._pieces(tmp_path / "h", "default", "u")
        first = await routes_archive._next(pieces, watch)
        assert first is not None

        async def never(_: Message) -> None:
            await asyncio.sleep(60)

        monkeypatch.setattr(routes_archive, "PIECE_SECONDS", 0.3)
        with pytest.raises(TimeoutError):
            archive = routes_archive.ArchiveResponse(routes_archive._sent(first, pieces, watch))
            await archive.stream_response(never)

    for _ in range(routes_archive.AT_ONCE + 1):
        asyncio.run(read())
        monkeypatch.undo()


async def test_a_history_that_stands_still_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded(ndjson(tmp_path / "a.ndjson", [turn("e1")]), history=tmp_path / "h")
    monkeypatch.setattr(routes_archive, "PIECE_SECONDS", 0.3)
    ended: list[str] = []

    def endlessly() -> Iterator[bytes]:
        try:
            with connect(tmp_path / "h", views=["events"]) as db:
                db.execute("SELECT count(*) FROM range(10_000_000_000_000)").fetchall()
            yield b""
        finally:
            ended.append("it was interrupted")

    with pytest.raises(TimeoutError):
        await routes_archive._next(endlessly(), Watch(routes_archive.SETTINGS))
    await asyncio.to_thread(until, lambda: ended)


def test_the_clients_give_its_lines(tmp_path: Path) -> None:
    with serving("--history", tmp_path / "h", "--extractor", "rules") as server:
        assert server.endings([turn("e1", user_input="I live in Leeds.")]) == ["applied"]
        until(lambda: server.client.get("/v1/users/u/export").status_code, lambda one: one == 200)
        with Turnfold(server.url) as client:
            lines = list(client.export_user("u"))
            with pytest.raises(errors.NotFoundError):
                list(client.export_user("nobody"))

        async def read() -> list[bytes]:
            async with AsyncTurnfold(server.url) as client:
                return [line async for line in client.export_user("u")]

        assert asyncio.run(read())[1:] == lines[1:]
    assert json.loads(lines[-1]) == {"kind": "end", "lines": len(lines)}


@pytest.mark.parametrize("length", [None, 1_000])
def test_the_clients_say_that_an_export_broke_off(length: int | None) -> None:
    """Between two lines, or as the server goes away."""

    with breaking_off(length) as url, Turnfold(url) as client:
        lines = client.export_user("u")
        assert next(lines) == b'{"kind":"header"}\n'
        with pytest.raises(errors.ReplyError, match="broke off"):
            next(lines)
