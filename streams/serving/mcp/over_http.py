"""`POST /mcp`: the protocol's streamable HTTP, stateless. Each tool calls an endpoint of this
server, with the rights of the request's key."""

import asyncio
import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlencode

import msgspec
from starlette.types import Message, Receive, Scope, Send

from streams.serving.http.auth import check_role, where_raised
from streams.serving.http.refusal import Refusal, problem
from streams.serving.http.route import Router

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from streams.serving.mcp.server import ApiReply, Context
    from streams.serving.mcp.tools import ApiCall

BODY_BYTES = 4_000_000
log = logging.getLogger(__name__)


def is_installed() -> bool:
    """Whether the extra `mcp` is."""
    return find_spec("mcp") is not None


class McpEndpoint:
    """For a route. The SDK is loaded on the first request. `endpoints`: the API that the tools
    call. `forget`: whether they can erase users."""

    def __init__(self, endpoints: Router, *, forget: bool = False) -> None:
        self._endpoints = endpoints
        self._forget = forget
        self._begun: asyncio.Future[StreamableHTTPSessionManager] | None = None
        self._ended = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._begun is None:
            self._begun = asyncio.get_running_loop().create_future()
            self._running = asyncio.create_task(self._run(self._begun))
        manager = await asyncio.shield(self._begun)
        await manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """Before the server ends."""
        self._ended.set()
        if self._running is not None:
            await self._running

    async def _run(self, started: "asyncio.Future[StreamableHTTPSessionManager]") -> None:
        try:
            manager = await asyncio.to_thread(self._manager)
        except Exception as error:
            started.set_exception(error)
            return
        async with manager.run():
            started.set_result(manager)
            await self._ended.wait()

    def _manager(self) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from streams.serving.mcp.server import server

        logging.getLogger("mcp").setLevel(logging.WARNING)
        return StreamableHTTPSessionManager(
            server(self._ask, forget=self._forget),
            stateless=True,
            json_response=True,
            max_request_body_size=BODY_BYTES,
        )

    async def _ask(self, context: "Context", call: "ApiCall") -> "ApiReply":
        """Calls the API as the caller of the tool's request."""
        from streams.serving.mcp.server import ApiReply

        assert context.request is not None
        outer: Scope = context.request.scope
        status, body = await self._answered(_inner(outer, call), _body_of(call))
        return ApiReply(status, msgspec.json.decode(body))

    async def _answered(self, scope: Scope, body: bytes) -> tuple[int, bytes]:
        """Status and JSON, including refusals. Unexpected errors are reported by their location
        only, because their text may quote a record."""
        status, parts = 0, bytearray()

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            parts.extend(message.get("body", b""))

        try:
            if (needs := self._endpoints.find(scope)) is not None:
                check_role(scope["state"]["caller"], needs)
            await self._endpoints(scope, receive, send)
        except Refusal as refusal:
            return refusal.status, refusal.body
        except Exception as error:
            log.error("a tool: %s at %s", type(error).__name__, where_raised(error))
            return 500, problem(500, "Internal error", "look into the server's log")
        return status, bytes(parts)


def _body_of(call: "ApiCall") -> bytes:
    return b"" if call.body is None else msgspec.json.encode(call.body)


def _inner(outer: Scope, call: "ApiCall") -> Scope:
    """The scope of a tool's request, derived from the outer request."""
    inherited: dict[str, Any] = {
        name: outer[name]
        for name in ("type", "asgi", "http_version", "scheme", "server", "client", "app", "state")
        if name in outer
    }
    query = {name: value for name, value in call.query.items() if value is not None}
    headers = [(b"accept", b"application/json")]
    headers += [(name.encode(), value.encode()) for name, value in call.headers.items()]
    if call.body is not None:
        headers.append((b"content-type", b"application/json"))
    return inherited | {
        "method": call.method,
        "path": unquote(call.path),
        "raw_path": call.path.encode("ascii"),
        "query_string": urlencode(query).encode("ascii"),
        "root_path": "",
        "headers": headers,
    }
