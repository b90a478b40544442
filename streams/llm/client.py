"""Requests to a model's endpoint: bounded, retried, and never failing silently.

An attempt (`completion`) that ends in Transient is repeated, with full jitter or after the time in
Retry-After; a circuit breaker guards all attempts. These are not the SDK's retries: they concern
all requests, and before each it is asked whether the turns are still there. A request ends in one
of these:

Reply               answered
Rejected            the endpoint answers the PROBE, and not this request
ConfigurationError  401 to 404, a redirect, or a 4xx to the PROBE as well: exit code 3
Unreachable         the endpoint answers no request any more: exit code 5
BudgetSpent         the request was not sent
Erased              what it is about was erased, while it waited to be sent or sent again
"""

import asyncio
import itertools
import logging
import random
import time
from collections.abc import Awaitable, Callable
from typing import Self

from schemas.time import format_time
from streams.errors import ConfigurationError, Unreachable
from streams.llm.breaker import Breaker
from streams.llm.budget import Budget, BudgetSpent
from streams.llm.completion import Endpoint, Rejected, Reply, Transient
from streams.llm.dialect import Dialect
from streams.llm.prompt import Message
from streams.llm.settings import LlmSettings

log = logging.getLogger(__name__)

FRESH = 0.1
"""Seconds after which it is asked whether what a request is about is still there."""
OPENINGS = 2
"""How often the breaker opens without an answer in between before a client gives up that is not
`patient`."""
PROBE: list[Message] = [
    {"role": "system", "content": "Answer with an empty JSON object."},
    {"role": "user", "content": '{"turns": []}'},
]
"""A harmless request: an endpoint that answers it rejects others for what they contain."""
MICROS = 1_000_000
MISFITS = 2
"""Answers of another shape before the first of the right one: then JSON is asked for in another
way, because the endpoint accepts a schema and does not keep to it."""


Still = Callable[[], Awaitable[bool]]
"""Whether what a request is about is still there."""


class Erased(Exception):  # noqa: N818 - what happened
    """What a request is about was erased before it was sent, or sent again."""


class Client:
    """An open connection. `patient`: waits for an endpoint that is down without limit. `retries`
    counts attempts that ended in Transient. `away`: why no request is answered now, if none is, as
    ": REASON" or " until TIME: REASON"."""

    def __init__(self, settings: LlmSettings, budget: Budget, *, patient: bool) -> None:
        self.retries = 0
        self.away: str | None = None
        self._settings = settings
        self._endpoint = Endpoint(settings)
        self._budget = budget
        self.patient = patient
        self._breaker = Breaker(settings.breaker_failures, settings.breaker_seconds)
        self._dialect = Dialect()
        self._settled = False  # whether a request was answered in it
        self._misfits = 0
        self._judged: Reply | None = None
        self._fits = False
        self._not_before = 0.0
        self._returned = asyncio.Event()  # set, and then another, when a call has come back

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._endpoint.aclose()

    @property
    def breaker(self) -> str:
        """The circuit breaker's state: closed, open or half-open."""
        return self._breaker.state

    async def ask(self, messages: list[Message], still: Still | None = None) -> Reply:
        """One answer. `still` is asked before each attempt that has waited. Raises as above."""
        begun = time.monotonic()
        reserved = await self._reserved(messages)
        reply: Reply | None = None
        try:
            reply = await self._retried(messages, still, begun)
            return reply
        except Transient as error:
            may_be_the_request = error.may_be_the_request and not self._asks_long(error)
            if may_be_the_request and await self._probed() is None:
                raise Rejected(f"{error}, in every attempt") from None
            self.away = self.away or f": {error}"
            raise Unreachable(
                f"the model at {self._settings.base_url} does not answer: {error}"
            ) from None
        finally:
            self._settle(reserved, reply)

    async def _probed(self) -> Rejected | Transient | None:
        """What is wrong with the PROBE. None where it is answered, in this dialect or a simpler
        one, which is then kept. It is sent in the place of a request, for which the budget is
        held: who waited for more would wait for itself."""
        await self._hold()
        fault: Rejected | None = None
        for dialect in [self._dialect] if self._settled else self._dialect.all_simpler():
            try:
                reply = await self._endpoint.call(PROBE, dialect)
            except Rejected as refused:
                fault = refused
            except Transient as error:
                return error
            else:
                self._settle((0.0, 0.0), reply)
                if not self._settled:
                    self._dialect, self._settled = dialect, True
                self._succeeded()
                return None
        return fault

    async def _blame(self) -> None:
        """Returns where the PROBE is answered: then it was the request, or how it asked. Raises
        ConfigurationError where that is refused, too, as none would be taken (no money is left, the
        model has gone); Transient where it is not answered."""
        fault = await self._probed()
        if isinstance(fault, Transient):
            raise fault from None
        if fault is not None:
            raise ConfigurationError(f"the model at {self._settings.base_url}: {fault}") from None

    async def _reserved(self, messages: list[Message]) -> tuple[float, float]:
        """For the longest dialect: which one it will be may not be known yet. Waits for calls under
        way, where the budget is only held for what they may come to."""
        while True:
            dialects = [self._dialect] if self._settled else self._dialect.all_simpler()
            size = max(len(self._endpoint.content(messages, one)) for one in dialects)
            try:
                return self._budget.reserve(size)
            except BudgetSpent as spent:
                if not spent.held:
                    raise
            await self._returned.wait()

    def _settle(self, reserved: tuple[float, float], reply: Reply | None) -> None:
        sent, received = (reply.prompt_tokens, reply.completion_tokens) if reply else (0, 0)
        self._budget.settle(reserved, sent + received, self._settings.cost(sent, received))
        self._returned.set()
        self._returned = asyncio.Event()

    async def _retried(self, messages: list[Message], still: Still | None, begun: float) -> Reply:
        for number in itertools.count(1):
            try:
                return await self._attempt(messages, still, begun)
            except Transient as error:
                hopeless = self._asks_long(error) or self._breaker.opened >= OPENINGS
                if number >= self._settings.attempts or (hopeless and not self.patient):
                    raise
                longest = min(2.0 ** (number - 1), self._settings.retry_seconds)
                pause = random.uniform(0, longest) if error.after is None else error.after
            await asyncio.sleep(pause)
        raise AssertionError

    async def _attempt(self, messages: list[Message], still: Still | None, begun: float) -> Reply:
        await self._breaker.wait()
        try:
            await self._hold()
            if still and time.monotonic() - begun > FRESH and not await still():
                raise Erased
            reply = await self._in_dialect(messages)
        except Transient as error:
            self._take_note(error)
            raise
        except (ConfigurationError, Rejected):
            self._succeeded()
            raise
        except BaseException:
            self._breaker.gave_up()
            raise
        self._succeeded()
        return reply

    async def _in_dialect(self, messages: list[Message]) -> Reply:
        """In the dialect of the endpoint. Until one was answered a refusal that names a parameter
        changes it. Of any other the PROBE tells what was refused."""
        while True:
            tried = self._dialect
            try:
                reply = await self._endpoint.call(messages, tried)
            except Rejected as refused:
                if self._dialect != tried:  # another request has found it meanwhile
                    continue
                other = None if self._settled else tried.without(refused.said)
                if other is None:
                    await self._blame()
                    other = self._dialect
                    if other == tried:
                        raise
                log.info("%s: %s; asks in another way", self._settings.model, refused)
                self._dialect = other
            else:
                self._settled = self._settled or self._dialect == tried
                return reply

    def _succeeded(self) -> None:
        """The endpoint is there, whatever it said."""
        self._breaker.succeeded()
        self.away = None

    def _take_note(self, error: Transient) -> None:
        """Applies what one attempt has shown to all of them."""
        self.retries += 1
        if error.after is not None:
            self._not_before = max(self._not_before, time.monotonic() + error.after)
        self._breaker.succeeded() if error.alive else self._breaker.failed()
        if self._asks_long(error):
            again = int((time.time() + (error.after or 0)) * MICROS)
            self.away = f" until {format_time(again)}: {error}"
        elif self._breaker.state != "closed":
            self.away = f": {error}"

    async def _hold(self) -> None:
        """Waits until the time that the endpoint named."""
        if (seconds := self._not_before - time.monotonic()) > 0:
            await asyncio.sleep(seconds)

    def _asks_long(self, error: Transient) -> bool:
        return error.after is not None and error.after > self._settings.retry_seconds

    def judged(self, reply: Reply, fits: bool) -> None:
        """Whether an answer had the shape that was asked for, which not every endpoint sees to."""
        if self._fits or reply is self._judged or reply.dialect != self._dialect:
            return
        self._judged, self._fits = reply, fits
        self._misfits += not fits
        simpler = self._dialect.simpler()
        if self._misfits >= MISFITS and simpler is not None:
            log.info("%s: answers have another shape; asks in another way", self._settings.model)
            self._dialect, self._settled, self._misfits = simpler, False, 0
