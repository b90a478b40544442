"""The connection of every client: names get the installation's prefix, what the broker's ACLs do
not allow is noted, a token that is refused is an error, and a cancelled `connect` leaves nothing
open."""

import sys
from collections.abc import Awaitable
from contextvars import ContextVar
from typing import Any

from aiokafka.conn import AIOKafkaConnection, AIOKafkaProtocol, CloseReason, OAuthAuthenticator
from aiokafka.errors import AuthenticationFailedError

from streams.kafka.client import denials, prefix


class Connection(AIOKafkaConnection):  # type: ignore[misc]  # aiokafka has no types
    """`names`: what topics, groups and transactional ids are called on the broker."""

    names = prefix.OWN

    async def connect(self) -> Any:
        """As aiokafka connects. Cuts what was made where that is cancelled just then: over TLS
        asyncio would say goodbye, and wait for the broker's when nobody knows it any more."""
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
        """The answer. What is sent is on its way when this returns, before it is awaited. Raises
        KafkaConnectionError where the socket is closed and aiokafka has not heard of it yet: uvloop
        would raise RuntimeError, and asyncio's loop would drop what is sent."""
        if self._writer is not None and self._writer.transport.is_closing():
            self.close(reason=CloseReason.CONNECTION_BROKEN)
        asked = _Asked(request, self.names)
        answer: Awaitable[Any] = super().send(asked, expect_response)
        return self._answer(asked, answer) if expect_response else answer

    def authenticator_oauth(self) -> "_Token":
        """As aiokafka asks for it."""
        return _Token(sasl_oauth_token_provider=self._sasl_oauth_token_provider)

    async def _answer(self, asked: "_Asked", coming: Awaitable[Any]) -> Any:
        answer = await coming
        denials.note(asked.struct, answer, self._sasl_plain_username)
        if self.names.prefix:
            prefix.incoming(answer, self.names)
        return answer


_PROTOCOLS: ContextVar[list[AIOKafkaProtocol] | None] = ContextVar("_PROTOCOLS", default=None)
"""Those that were made to connect: aiokafka's connection knows its own only when it is there."""


class _Protocol(AIOKafkaProtocol):  # type: ignore[misc]
    def __init__(self, *of: Any, **settings: Any) -> None:
        super().__init__(*of, **settings)
        if (protocols := _PROTOCOLS.get()) is not None:
            protocols.append(self)


sys.modules[AIOKafkaConnection.__module__].AIOKafkaProtocol = _Protocol  # type: ignore[attr-defined]


class _Asked:
    """A request as aiokafka's connection takes it, with `struct`, what is sent."""

    struct: Any = None

    def __init__(self, request: Any, names: prefix.Names) -> None:
        self._request = request
        self._names = names

    def prepare(self, versions: Any) -> Any:
        """The request in the newest version that the broker knows."""
        self.struct = self._request.prepare(versions)
        if self._names.prefix:
            prefix.outgoing(self.struct, self._names)
        return self.struct


class _Token(OAuthAuthenticator):  # type: ignore[misc]
    """The broker says in its answer why it refuses a token; aiokafka takes any answer for a yes."""

    async def step(self, payload: bytes | None) -> Any:
        """What to send next. Raises AuthenticationFailedError."""
        if payload:
            why = payload.decode("utf-8", "replace")
            raise AuthenticationFailedError(f"the broker does not take the token: {why}")
        return await super().step(payload)
