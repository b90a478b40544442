"""`turnfold mcp`: the protocol over stdin and stdout; the tools call a server by HTTP."""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
import msgspec
from mcp.server.stdio import stdio_server

from streams import event_loop
from streams.errors import TurnfoldError
from streams.serving.mcp.server import ApiReply, Context, server
from streams.serving.mcp.shared import ServerAddress
from streams.serving.mcp.tools import ApiCall

TIMEOUT = 35.0
"""Seconds for each step of a request; longer than a write may wait."""
ATTEMPTS = 4
FIRST_WAIT = 0.2
"""Seconds until the second attempt; each later one waits twice as long."""
AGAIN = (429, 503)


def run(address: Callable[[], ServerAddress], user: str | None, forget: bool) -> None:
    """Serves until stdin ends. `address` may wait, and is called again when the server is lost.
    `forget`: whether users can be erased."""
    event_loop.run(_run(address, user, forget))


async def _run(address: Callable[[], ServerAddress], user: str | None, forget: bool) -> None:
    async with httpx2.AsyncClient(timeout=TIMEOUT) as http:
        asking = _Asking(http, address)
        mcp_server = server(asking.ask, user, forget=forget)
        async with stdio_server() as (incoming, outgoing):
            await mcp_server.run(incoming, outgoing, mcp_server.create_initialization_options())


class _Asking:
    def __init__(self, http: httpx2.AsyncClient, address: Callable[[], ServerAddress]) -> None:
        self._http = http
        self._address = address

    async def ask(self, _: Context, call: ApiCall) -> ApiReply:
        """A write is sent again under the same id, so it is stored once."""
        wait = FIRST_WAIT
        for attempts in reversed(range(ATTEMPTS)):
            reply = await self._tried(call)
            if reply.status not in AGAIN or not attempts:
                break
            await asyncio.sleep(wait)
            wait *= 2
        return reply

    async def _tried(self, call: ApiCall) -> ApiReply:
        """A missing answer is a 503."""
        try:
            at = await asyncio.to_thread(self._address)
            response = await self._http.request(
                call.method,
                at.url + call.path,
                params={name: value for name, value in call.query.items() if value is not None},
                headers=call.headers | ({} if at.key is None else _key(at.key)),
                json=call.body,
            )
            document: Any = msgspec.json.decode(response.content)
        except TurnfoldError as error:
            return _away(str(error))
        except httpx2.TransportError as error:
            return _away(f"no answer of the server: {error or type(error).__name__}")
        except msgspec.DecodeError:
            return ApiReply(502, {"title": "Bad reply", "detail": "the URL is not a Turnfold's"})
        return ApiReply(response.status_code, document)


def _key(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def _away(why: str) -> ApiReply:
    return ApiReply(503, {"title": "Server away", "detail": why})
