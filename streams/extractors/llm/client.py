"""Requests to an OpenAI-compatible endpoint: bounded, patient with it, and never silent.

What an attempt can end as:

answered        a Reply; its text may still be nonsense, which is judged elsewhere
Transient       429, 5xx, timeouts, broken connections, half an answer: tried again, with full
                jitter or when Retry-After says; a breaker stands before all attempts
Rejected        this request is what the endpoint cannot take, for it answers others; where there
                were none, a PROBE
ConfigurationError  401, 403, 404, another 4xx to a probe as well, a redirect: exit 3
Unreachable     nothing is answered any more: exit 5
BudgetSpent     nothing was asked
"""

import asyncio
import math
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, Self

import httpx
import msgspec
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    retry_if_exception_type,
    wait_random_exponential,
)

from schemas.base import JsonObject
from streams.errors import ConfigurationError, Unreachable
from streams.extractors.llm.breaker import Breaker
from streams.extractors.llm.budget import BYTES_A_TOKEN, Budget
from streams.extractors.llm.prompt import Message, response_formats, with_schema
from streams.extractors.llm.settings import PREFIX, LlmSettings

PATH = "/chat/completions"
PASSING = frozenset({408, 409, 425, 429})
"""4xx that are a matter of time; besides them 5xx."""
SETTLED = frozenset({401, 403, 404, 405})
"""4xx that no other request would change."""
OPENINGS = 2
"""Of the breaker, without an answer in between: who is not `patient` gives up."""
LONGEST_WAIT = 3600.0
"""Seconds that a Retry-After is believed; then it is asked again."""
PROBE: list[Message] = [
    {"role": "system", "content": "Answer with an empty JSON object."},
    {"role": "user", "content": '{"turns": []}'},
]
"""A request that nothing can be wrong with: who answers it would answer others."""
SHOWN = 300  # characters of what an endpoint says of an error

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Reply(NamedTuple):
    """What the model said, and what of it can be told before it is read (`fault`)."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    fault: str | None = None


class Transient(Exception):  # noqa: N818 - what the failure is
    """Try again, after so many seconds if the endpoint says when. `status` is HTTP's, if any came;
    `timed_out`: it was still at it."""

    def __init__(
        self,
        text: str,
        after: float | None = None,
        *,
        status: int | None = None,
        timed_out: bool = False,
    ) -> None:
        super().__init__(text)
        self.after = after
        self.alive = status == 429
        self.may_be_the_request = status is not None or timed_out


class Rejected(Exception):  # noqa: N818 - what happened to the request
    """The endpoint answers others, and not this request."""


class Client:
    """An open connection. `patient`: wait for an endpoint that is down as long as it takes.
    `retries` counts attempts that failed for the moment."""

    def __init__(self, settings: LlmSettings, budget: Budget, *, patient: bool) -> None:
        self.retries = 0
        self._settings = settings
        self._budget = budget
        self._patient = patient
        self._breaker = Breaker(settings.breaker_failures, settings.breaker_seconds)
        self._format = 0
        self._answered = 0
        self._not_before = 0.0
        self._jitter = wait_random_exponential(multiplier=1.0, max=settings.retry_seconds)

    async def __aenter__(self) -> Self:
        told = self._settings
        timeout = httpx.Timeout(told.read_seconds, connect=told.connect_seconds)
        limits = httpx.Limits(max_connections=told.concurrency)
        headers = {"Content-Type": "application/json", "User-Agent": "turnstone"}
        if told.api_key:
            headers["Authorization"] = f"Bearer {told.api_key.get_secret_value()}"
        self._http = httpx.AsyncClient(timeout=timeout, limits=limits, headers=headers)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

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
        sizes = [len(self._content(messages, one)) for one in range(len(response_formats()))]
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
                reply = await self._call(PROBE, response_format)
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
            return await self._call(messages, tried)
        except Rejected as refused:
            if self._format != tried:  # another request has found out meanwhile
                return await self._call(messages, self._format)
            if self._answered:
                raise
            if tried == 0:
                try:
                    reply = await self._call(messages, 1)
                except Rejected:
                    pass
                else:
                    self._format = 1
                    return reply
            if self._answered or await self._answers_probe():
                raise
            raise ConfigurationError(f"the model at {self._settings.base_url}: {refused}") from None

    def _content(self, messages: list[Message], response_format: int) -> bytes:
        """A request's body."""
        told = self._settings
        body: JsonObject = {
            "model": told.model,
            "messages": with_schema(messages) if response_format else messages,
            "temperature": 0,
            "max_tokens": told.max_output_tokens,
            "response_format": response_formats()[response_format],
            **told.body,
        }
        return _encode({name: one for name, one in body.items() if one is not None})

    async def _call(self, messages: list[Message], response_format: int) -> Reply:
        told = self._settings
        content = self._content(messages, response_format)
        try:
            async with (
                asyncio.timeout(told.total_seconds),
                self._http.stream("POST", told.base_url + PATH, content=content) as response,
            ):
                raw = await _read(response, told.max_response_bytes)
        except TimeoutError:
            text = f"no answer within {told.total_seconds:g} s"
            raise Transient(text, timed_out=True) from None
        except httpx.LocalProtocolError:  # its text quotes the header that is wrong
            raise ConfigurationError(
                f"the request cannot be sent as HTTP; is {PREFIX}API_KEY a key and nothing else?"
            ) from None
        except (httpx.TransportError, httpx.DecodingError) as error:
            text = f"{type(error).__name__}: {error}".rstrip(": ")
            timed_out = isinstance(error, httpx.ReadTimeout)
            raise Transient(told.redacted(text), timed_out=timed_out) from None
        if not response.is_success:
            raise self._refusal(response, raw)
        if len(raw) > told.max_response_bytes:
            fault = f"it is longer than {told.max_response_bytes} bytes"
            return Reply("", len(content) // BYTES_A_TOKEN, told.max_output_tokens, fault)
        return _reply(raw, len(content))

    def _refusal(self, response: httpx.Response, raw: bytes) -> Exception:
        status = response.status_code
        text = f"HTTP {status} {response.reason_phrase}: {_said(raw)}".rstrip(": ")
        text = self._settings.redacted(text)[:SHOWN]
        if status in PASSING or status >= 500:
            return Transient(text, _retry_after(response), status=status)
        if status in (401, 403):
            return ConfigurationError(f"{text}; is {PREFIX}API_KEY right for {PREFIX}BASE_URL?")
        if status in SETTLED or status < 400:
            return ConfigurationError(
                f"{self._settings.base_url}{PATH}: {text}; set {PREFIX}BASE_URL and {PREFIX}MODEL"
            )
        return Rejected(text)


def _said(raw: bytes) -> str:
    """What the endpoint says of an error."""
    text = raw[: 10 * SHOWN].decode("utf-8", "replace")
    try:
        error = _decode(raw)["error"]
        text = str(error["message"] if isinstance(error, dict) else error)
    except (ValueError, LookupError, TypeError):
        pass
    return " ".join(text.split())


async def _read(response: httpx.Response, most: int) -> bytes:
    """The body; of a longer one `most` bytes and some."""
    raw = bytearray()
    async for piece in response.aiter_bytes():
        raw += piece
        if len(raw) > most:
            break
    return bytes(raw)


def _reply(raw: bytes, sent: int) -> Reply:
    """Raises Transient for what is no completion: a proxy's page, half an object."""
    try:
        given = _decode(raw)
        choice = given["choices"][0]
        message = choice["message"]
        text = message.get("content") or ""
        if not isinstance(text, str):
            raise TypeError("content is no text")
        fault = _fault(choice.get("finish_reason"), message.get("refusal"))
        counted = given.get("usage") or {}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise Transient(f"the answer is no chat completion ({what})", status=200) from None
    sent_tokens = _count(counted, "prompt_tokens", sent)
    return Reply(text, sent_tokens, _count(counted, "completion_tokens", len(raw)), fault)


def _fault(finish_reason: Any, refusal: Any) -> str | None:
    if refusal:
        return f"the model refused: {str(refusal)[:SHOWN]}"
    if finish_reason == "length":
        return "it was cut off at its largest length; say less"
    return "the endpoint filtered it" if finish_reason == "content_filter" else None


def _count(usage: Any, name: str, size: int) -> int:
    """Tokens as the endpoint counts them, else as many bytes come to."""
    counted = usage.get(name) if isinstance(usage, dict) else None
    return counted if isinstance(counted, int) and counted >= 0 else size // BYTES_A_TOKEN


def _retry_after(response: httpx.Response) -> float | None:
    """Seconds, from a number of them or an HTTP date."""
    said = response.headers.get("Retry-After")
    if said is None:
        return None
    try:
        seconds = float(said)
    except ValueError:
        try:
            at = parsedate_to_datetime(said)
        except ValueError:
            return None
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        seconds = (at - datetime.now(UTC)).total_seconds()
    return min(max(0.0, seconds), LONGEST_WAIT) if math.isfinite(seconds) else None
