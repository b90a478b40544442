"""Connection of every client. Adds the topic prefix, records ACL errors, raises an error for a
rejected token, and closes all after a cancelled `connect`."""

import sys
from collections.abc import Awaitable
from contextvars import ContextVar
from typing import Any

from aiokafka.conn import AIOKafkaConnection, AIOKafkaProtocol, CloseReason, OAuthAuthenticator
from aiokafka.errors import AuthenticationFailedError

from streams.kafka.client import acl_errors, name_prefix


class Connection(AIOKafkaConnection):  # type: ignore[misc]  # aiokafka has no types
    """`names`: maps names of topics, groups and transactional ids to those on the broker."""

    names = name_prefix.OWN

    async def connect(self) -> Any:
        """Connects like aiokafka. Aborts the socket if cancelled: over TLS asyncio would wait for
        the broker's shutdown of an untracked connection."""
        protocols: list[AIOKafkaProtocol] = []
        token = _PROTOCOLS.set(protocols)
        try:
            return await super().connect()
        finally:
            _PROTOCOLS.reset(token)
            if self._protocol is None:
                for protocol in protocols:
                    if protocol._transport is not None:
                        protocol._transport.abort()

    def send(self, request: Any, expect_response: bool = True) -> Awaitable[Any]:
        """Sends a request and returns the awaitable response; the request is written before this
        returns. Raises KafkaConnectionError if the socket is closed and aiokafka does not know yet:
        uvloop would raise RuntimeError, and asyncio's loop would drop the bytes."""
        if self._writer is not None and self._writer.transport.is_closing():
            self.close(reason=CloseReason.CONNECTION_BROKEN)
        prefixed = _PrefixedRequest(request, self.names)
        response: Awaitable[Any] = super().send(prefixed, expect_response)
        return self._answer(prefixed, response) if expect_response else response

    def authenticator_oauth(self) -> "_Token":
        return _Token(sasl_oauth_token_provider=self._sasl_oauth_token_provider)

    async def _answer(self, request: "_PrefixedRequest", pending: Awaitable[Any]) -> Any:
        response = await pending
        acl_errors.note(request.struct, response, self._sasl_plain_username)
        if self.names.prefix:
            name_prefix.incoming(response, self.names)
        return response


_PROTOCOLS: ContextVar[list[AIOKafkaProtocol] | None] = ContextVar("_PROTOCOLS", default=None)
"""Protocols created while connecting: aiokafka's connection stores only a connected one."""


class _Protocol(AIOKafkaProtocol):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        if (protocols := _PROTOCOLS.get()) is not None:
            protocols.append(self)


sys.modules[AIOKafkaConnection.__module__].AIOKafkaProtocol = _Protocol  # type: ignore[attr-defined]


class _PrefixedRequest:
    """A request as aiokafka's connection takes it; `struct`: the struct that is sent."""

    struct: Any = None

    def __init__(self, request: Any, names: name_prefix.Names) -> None:
        self._request = request
        self._names = names

    def prepare(self, versions: Any) -> Any:
        """The request in the newest version that the broker supports."""
        self.struct = self._request.prepare(versions)
        if self._names.prefix:
            name_prefix.outgoing(self.struct, self._names)
        return self.struct


class _Token(OAuthAuthenticator):  # type: ignore[misc]
    """Detects rejected tokens: the broker's response has the reason, but aiokafka accepts any
    response."""

    async def step(self, payload: bytes | None) -> Any:
        """Next bytes to send. Raises AuthenticationFailedError."""
        if payload:
            why = payload.decode("utf-8", "replace")
            raise AuthenticationFailedError(f"the broker does not take the token: {why}")
        return await super().step(payload)
