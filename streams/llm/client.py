"""Sends requests to a model's endpoint with budgets, retries and a circuit breaker.

An attempt (`completion`) that ends in Transient is retried with full jitter or after Retry-After; a
circuit breaker guards all attempts. The SDK's retries are off: these cover all requests, and check
before each attempt that the turns still exist. Outcomes:

Reply               answered
Rejected            the endpoint answers the PROBE, but not this request
ConfigurationError  401 to 404, a redirect, or a 4xx to the PROBE: exit code 3
Unreachable         the endpoint answers no request: exit code 5
BudgetSpent         the request was not sent
Erased              its turns were erased before it was sent or retried
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Literal, Self

from schemas.time import format_time
from streams.errors import ConfigurationError, Unreachable
from streams.llm.budget import Budget
from streams.llm.completion import Dialect, Endpoint, Rejected, Reply, Transient
from streams.llm.prompt import Message
from streams.llm.settings import LlmSettings

log = logging.getLogger(__name__)

FRESH = 0.1
"""Seconds after which the existence of the turns is checked again."""
OPENINGS = 2
"""Openings of the breaker without an answer after which a client that is not `patient` gives up."""
PROBE: list[Message] = [
    {"role": "system", "content": "Answer with an empty JSON object."},
    {"role": "user", "content": '{"turns": []}'},
]
"""A harmless request: if it is answered, another request was rejected for its content."""
MICROS = 1_000_000
DOUBLED = 3  # maximum
LOOK_EVERY = 0.2  # seconds

Still = Callable[[], Awaitable[bool]]
"""Whether the turns of a request still exist."""


class Erased(Exception):  # noqa: N818 - what happened
    """The turns of a request were erased before it was sent or retried."""


class Breaker:
    """Circuit breaker, shared by all requests of a process. It opens after `failures` failures in a
    row. After `seconds` it is half-open: one request probes; its success closes the circuit, its
    failure opens it again for twice the time, up to eight times. `opened` counts the openings since
    the last success."""

    def __init__(
        self, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.opened = 0
        self._limit = failures
        self._seconds = seconds
        self._clock = clock
        self._failures = 0
        self._until = 0.0
        self._probing = False

    @property
    def state(self) -> Literal["closed", "open", "half-open"]:
        if not self.opened:
            return "closed"
        return "half-open" if self._probing or self._clock() >= self._until else "open"

    def may_pass(self) -> bool:
        """Whether a request may be sent now; in the half-open state, one may."""
        if self.state == "closed":
            return True
        if self.state == "open" or self._probing:
            return False
        self._probing = True
        return True

    async def wait(self) -> None:
        """Waits until a request may be sent."""
        while not self.may_pass():
            await asyncio.sleep(min(LOOK_EVERY, max(0.01, self._until - self._clock())))

    def succeeded(self) -> None:
        """Closes the circuit: the endpoint answered."""
        self.opened, self._failures, self._probing = 0, 0, False

    def failed(self) -> None:
        """Counts a failure; may open the circuit."""
        self._failures += 1
        if self._probing or (not self.opened and self._failures >= self._limit):
            self._until = self._clock() + self._seconds * 2 ** min(self.opened, DOUBLED)
            self.opened += 1
            self._probing = False

    def gave_up(self) -> None:
        """A request was cancelled: another one may probe."""
        self._probing = False


class Client:
    """An open connection. `patient`: waits without limit for an endpoint that is down. `retries`
    counts attempts that ended in Transient. `away`: why requests are not answered now, if so, as
    ": REASON" or " until TIME: REASON"."""

    def __init__(self, settings: LlmSettings, budget: Budget, *, patient: bool) -> None:
        self.retries = 0
        self.away: str | None = None
        self._settings = settings
        self._endpoint = Endpoint(settings)
        self._budget = budget
        self.patient = patient
        self.breaker = Breaker(settings.breaker_failures, settings.breaker_seconds)
        self._dialect = Dialect()
        self._settled = False  # whether a request in this dialect was answered
        self._not_before = 0.0
        self._returned = asyncio.Event()  # set and replaced when a call returns

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._endpoint.aclose()

    async def ask(self, messages: list[Message], still: Still | None = None) -> Reply:
        """Returns one answer. `still` is called before each delayed attempt. Raises as above."""
        started = time.monotonic()
        reserved = await self._reserve(messages)
        reply: Reply | None = None
        try:
            reply = await self._retry(messages, still, started)
            return reply
        except Transient as error:
            if error.may_be_the_request and not self._asks_long(error):
                with suppress(Transient):
                    await self._probe()
                    raise Rejected(f"{error}, in every attempt") from None
            self.away = self.away or f": {error}"
            raise Unreachable(
                f"the model at {self._settings.base_url} does not answer: {error}"
            ) from None
        finally:
            self._settle(reserved, reply)

    async def _probe(self) -> None:
        """Sends the PROBE. Returns if it is answered, in this dialect or a simpler one, which is
        then kept: the request or its dialect was at fault. Raises ConfigurationError if the PROBE
        is rejected (billing, model removed), Transient if it is not answered. It uses the
        reservation of the current request: to reserve more could wait for that request itself."""
        await self._hold()
        fault: Rejected | None = None
        for dialect in [self._dialect] if self._settled else self._dialect.all_simpler():
            try:
                reply = await self._endpoint.call(PROBE, dialect)
            except Rejected as rejected:
                fault = rejected
                continue
            self._settle((0.0, 0.0), reply)
            if not self._settled:
                self._dialect, self._settled = dialect, True
            self._succeeded()
            return
        raise ConfigurationError(f"the model at {self._settings.base_url}: {fault}") from None

    async def _reserve(self, messages: list[Message]) -> tuple[float, float]:
        """Reserves for the longest possible dialect."""
        while True:
            dialects = [self._dialect] if self._settled else self._dialect.all_simpler()
            size = max(len(self._endpoint.content(messages, dialect)) for dialect in dialects)
            if (reserved := self._budget.reserve(size)) is not None:
                return reserved
            await self._returned.wait()

    def _settle(self, reserved: tuple[float, float], reply: Reply | None) -> None:
        sent, received = (reply.prompt_tokens, reply.completion_tokens) if reply else (0, 0)
        self._budget.settle(reserved, sent + received, self._settings.cost(sent, received))
        self._returned.set()
        self._returned = asyncio.Event()

    async def _retry(self, messages: list[Message], still: Still | None, started: float) -> Reply:
        number = 0
        while True:
            number += 1
            try:
                return await self._attempt(messages, still, started)
            except Transient as error:
                is_hopeless = self._asks_long(error) or self.breaker.opened >= OPENINGS
                if number >= self._settings.attempts or (is_hopeless and not self.patient):
                    raise
                longest = min(2.0 ** (number - 1), self._settings.retry_seconds)
                pause = random.uniform(0, longest) if error.after is None else error.after
            await asyncio.sleep(pause)

    async def _attempt(self, messages: list[Message], still: Still | None, started: float) -> Reply:
        await self.breaker.wait()
        try:
            await self._hold()
            if still and time.monotonic() - started > FRESH and not await still():
                raise Erased
            reply = await self._in_dialect(messages)
        except Transient as error:
            self._note(error)
            raise
        except (ConfigurationError, Rejected):
            self._succeeded()
            raise
        except BaseException:
            self.breaker.gave_up()
            raise
        self._succeeded()
        return reply

    async def _in_dialect(self, messages: list[Message]) -> Reply:
        """Sends a request in the endpoint's dialect. Until a request is answered, a rejection that
        names a parameter changes the dialect. After any other rejection, the PROBE finds the
        cause."""
        while True:
            dialect = self._dialect
            try:
                reply = await self._endpoint.call(messages, dialect)
            except Rejected as rejected:
                if self._dialect != dialect:  # a concurrent request has changed it
                    continue
                simpler = None if self._settled else dialect.without(rejected.details)
                if simpler is None:
                    await self._probe()
                    simpler = self._dialect
                    if simpler == dialect:
                        raise
                log.info("%s: %s; changes the parameters", self._settings.model, rejected)
                self._dialect = simpler
            else:
                self._settled = self._settled or self._dialect == dialect
                return reply

    def schema_was_ignored(self) -> None:
        """An answer did not follow the schema that the endpoint accepted: later requests have it in
        the instructions instead."""
        if self._dialect.output == "json_schema":
            self._dialect, self._settled = self._dialect._replace(output="json_object"), False

    def _succeeded(self) -> None:
        """The endpoint is reachable, whatever its reply."""
        self.breaker.succeeded()
        self.away = None

    def _note(self, error: Transient) -> None:
        """Applies the error of one attempt to all requests."""
        self.retries += 1
        if error.after is not None:
            self._not_before = max(self._not_before, time.monotonic() + error.after)
        self.breaker.succeeded() if error.alive else self.breaker.failed()
        if self._asks_long(error):
            until = int((time.time() + (error.after or 0)) * MICROS)
            self.away = f" until {format_time(until)}: {error}"
        elif self.breaker.state != "closed":
            self.away = f": {error}"

    async def _hold(self) -> None:
        """Waits until the time of the last Retry-After."""
        if (seconds := self._not_before - time.monotonic()) > 0:
            await asyncio.sleep(seconds)

    def _asks_long(self, error: Transient) -> bool:
        return error.after is not None and error.after > self._settings.retry_seconds
