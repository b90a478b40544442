"""Requests to a model's endpoint: bounded, patient with it, and never silent.

What a request can end as (`completion` says what an attempt can):

answered        a Reply
Transient       tried again, with full jitter or when Retry-After says; a breaker stands before all
                attempts
Rejected        this request is what the endpoint cannot take, for it answers others; where there
                were none, a PROBE
ConfigurationError  401, 403, 404, another 4xx to a probe as well, a redirect: exit 3
Unreachable     nothing is answered any more: exit 5
BudgetSpent     nothing was asked
"""

import asyncio
import time
from typing import Self

from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    wait_random_exponential,
)

from streams.errors import ConfigurationError, Unreachable
from streams.llm.breaker import Breaker
from streams.llm.budget import Budget
from streams.llm.completion import Endpoint, Rejected, Reply, Transient
from streams.llm.prompt import Message, response_formats
from streams.llm.settings import LlmSettings

OPENINGS = 2
"""Of the breaker, without an answer in between: who is not `patient` gives up."""
PROBE: list[Message] = [
    {"role": "system", "content": "Answer with an empty JSON object."},
    {"role": "user", "content": '{"turns": []}'},
]
"""A request that nothing can be wrong with: who answers it would answer others."""


class Client:
    """An open connection. `patient`: wait for an endpoint that is down as long as it takes.
    `retries` counts attempts that failed for the moment."""

    def __init__(self, settings: LlmSettings, budget: Budget, *, patient: bool) -> None:
        self.retries = 0
        self._settings = settings
        self._endpoint = Endpoint(settings)
        self._budget = budget
        self._patient = patient
        self._breaker = Breaker(settings.breaker_failures, settings.breaker_seconds)
        self._format = 0
        self._answered = 0
        self._not_before = 0.0
        self._jitter = wait_random_exponential(multiplier=1.0, max=settings.retry_seconds)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._endpoint.aclose()

    async def ask(self, messages: list[Message]) -> Reply:
        """One answer. Raises as above."""
        reserved = self._reserve(messages)
        before = self._answered
        reply: Reply | None = None
        try:
            answered: Reply = await AsyncRetrying(
                retry=retry_if_exception_type(Transient),
                stop=self._is_over,
                wait=self._pause,
                reraise=True,
            )(self._attempt, messages)
            reply = answered
            return answered
        except Transient as error:
            if await self._answers_others(error, before):
                raise Rejected(f"{error}, again and again") from None
            raise Unreachable(
                f"the model at {self._settings.base_url} does not answer: {error}"
            ) from None
        finally:
            self._settle(reserved, reply)

    def _reserve(self, messages: list[Message]) -> tuple[float, float]:
        """In the longer of the formats: which one it will be may not be known yet."""
        sizes = [
            len(self._endpoint.content(messages, one)) for one in range(len(response_formats()))
        ]
        return self._budget.reserve(max(sizes))

    def _settle(self, reserved: tuple[float, float], reply: Reply | None) -> None:
        sent, received = (reply.prompt_tokens, reply.completion_tokens) if reply else (0, 0)
        self._budget.settle(reserved, sent + received, self._settings.cost(sent, received))

    async def _answers_others(self, error: Transient, before: int) -> bool:
        """Whether it is the request: others were answered meanwhile, or one that is harmless is."""
        if self._asks_long(error):
            return False
        if self._answered > before and self._breaker.opened < OPENINGS:
            return True
        return error.may_be_the_request and await self._answers_probe()

    async def _answers_probe(self) -> bool:
        """In which format ever; until something was answered, that is then the one."""
        await self._held()
        for response_format in range(self._format, len(response_formats())):
            reserved, reply = self._reserve(PROBE), None
            try:
                reply = await self._endpoint.call(PROBE, response_format)
            except Rejected:
                continue
            except Transient:
                return False
            finally:
                self._settle(reserved, reply)
            if not self._answered:
                self._format = response_format
            self._answered += 1
            self._breaker.succeeded()
            return True
        return False

    def _pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        after = error.after if isinstance(error, Transient) else None
        return self._jitter(state) if after is None else after

    async def _attempt(self, messages: list[Message]) -> Reply:
        await self._breaker.wait()
        try:
            await self._held()
            reply = await self._in_format(messages)
        except Transient as error:
            self._take_note(error)
            raise
        except (ConfigurationError, Rejected):
            self._breaker.succeeded()
            raise
        except BaseException:
            self._breaker.gave_up()
            raise
        self._breaker.succeeded()
        self._answered += 1
        return reply

    @property
    def breaker(self) -> str:
        """The circuit breaker's state: closed, open or half-open."""
        return self._breaker.state

    def _take_note(self, error: Transient) -> None:
        """What one attempt has learnt is so for all of them."""
        self.retries += 1
        if error.after is not None:
            self._not_before = max(self._not_before, time.monotonic() + error.after)
        self._breaker.succeeded() if error.alive else self._breaker.failed()

    async def _held(self) -> None:
        """Until the time that the endpoint named."""
        if (hold := self._not_before - time.monotonic()) > 0:
            await asyncio.sleep(hold)

    def _asks_long(self, error: Transient) -> bool:
        return error.after is not None and error.after > self._settings.retry_seconds

    def _is_over(self, state: RetryCallState) -> bool:
        """Whether it is tried no more; who is not patient sees that it is hopeless."""
        error = state.outcome.exception() if state.outcome else None
        if state.attempt_number >= self._settings.attempts or not isinstance(error, Transient):
            return True
        hopeless = self._asks_long(error) or self._breaker.opened >= OPENINGS
        return hopeless and not self._patient

    async def _in_format(self, messages: list[Message]) -> Reply:
        """By JSON Schema, or plain JSON where the endpoint does not take that."""
        tried = self._format
        try:
            return await self._endpoint.call(messages, tried)
        except Rejected as refused:
            if self._format != tried:  # another request has found out meanwhile
                return await self._endpoint.call(messages, self._format)
            if self._answered:
                raise
            if tried == 0:
                try:
                    reply = await self._endpoint.call(messages, 1)
                except Rejected:
                    pass
                else:
                    self._format = 1
                    return reply
            if self._answered or await self._answers_probe():
                raise
            raise ConfigurationError(f"the model at {self._settings.base_url}: {refused}") from None
