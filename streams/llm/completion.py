"""One request to an OpenAI-compatible endpoint, and what comes of it.

Reply           its text may still be nonsense, which is judged elsewhere
Transient       429, 5xx, timeouts, broken connections, half an answer: for another attempt
Rejected        another 4xx: this request is what the endpoint cannot take, or none like it
ConfigurationError  401, 402, 403, 404, a redirect
"""

import asyncio
import math
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, NamedTuple

import httpx2
import msgspec
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, DefaultAsyncHttpxClient

from streams.errors import ConfigurationError
from streams.llm.budget import BYTES_A_TOKEN
from streams.llm.dialect import Dialect
from streams.llm.prompt import Message
from streams.llm.settings import PREFIX, LlmSettings

PATH = "/chat/completions"
SENT = frozenset(
    ["host", "connection", "accept", "accept-encoding", "user-agent",
     "content-type", "content-length", "transfer-encoding"]
)  # fmt: skip
"""Headers of a request."""
PASSING = frozenset({408, 409, 425, 429})
"""4xx that are a matter of time; besides them 5xx."""
HINTS = {
    401: f"is {PREFIX}API_KEY right for {PREFIX}BASE_URL?",
    402: f"the account at {PREFIX}BASE_URL has no money left",
    403: f"is {PREFIX}API_KEY right for {PREFIX}BASE_URL?",
}
MISPLACED = frozenset({404, 405})
"""With these, statuses that no other request would change."""
LONGEST_WAIT = 3600.0
"""Seconds that a Retry-After is believed; then it is asked again."""
SHOWN = 300  # characters of what an endpoint says of an error
REFUSED = "the model refused"
QUOTED = 16
"""Characters by which words are known as those of the request."""
MOST_TOKENS = 1 << 31
"""What no call comes to: an endpoint that counts more cannot count."""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Reply(NamedTuple):
    """What the model said, and what of it can be told before it is read (`fault`). `dialect`: how
    it was asked."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    fault: str | None = None
    dialect: Dialect = Dialect()


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
    """The endpoint answers others, and not this request. `said`: its words, and the parameter that
    it names."""

    def __init__(self, text: str, said: str = "") -> None:
        super().__init__(text)
        self.said = said


class _Cut(httpx2.AsyncByteStream):
    """The first bytes of a body."""

    def __init__(self, whole: httpx2.AsyncByteStream, most: int) -> None:
        self._whole, self._most = whole, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        async for piece in self._whole:
            yield piece[:left]
            left -= len(piece)
            if left <= 0:
                return

    async def aclose(self) -> None:
        await self._whole.aclose()


class Endpoint:
    """An open connection: the SDK's, which sends a request once and follows no redirect. Retries
    are the client's, for the breaker and `Retry-After` concern all requests."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = told = settings
        self._sdk = AsyncOpenAI(
            base_url=told.base_url,
            api_key="-",  # it is put in by `_as_ours`
            default_headers={"Accept-Encoding": "identity"},
            max_retries=0,
            # who waits for a connection of ours to be free waits for no endpoint
            timeout=httpx2.Timeout(told.read_seconds, connect=told.connect_seconds, pool=None),
            http_client=DefaultAsyncHttpxClient(
                follow_redirects=False,
                limits=httpx2.Limits(max_connections=told.concurrency),
                event_hooks={"request": [self._as_ours], "response": [self._bounded]},
            ),
        )

    async def aclose(self) -> None:
        """Ends the connections."""
        await self._sdk.close()

    async def _as_ours(self, request: httpx2.Request) -> None:
        """With our key alone: without what the SDK adds of this machine, and of the variables that
        are meant for OpenAI."""
        for name in request.headers.keys() - SENT:
            del request.headers[name]
        if self._settings.api_key:
            key = self._settings.api_key.get_secret_value()
            request.headers["Authorization"] = f"Bearer {key}"

    async def _bounded(self, response: httpx2.Response) -> None:
        if response.headers.get("Content-Encoding", "identity") != "identity":  # of any length
            raise httpx2.DecodingError("it is compressed, which it was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Cut(response.stream, self._settings.max_response_bytes + 1)

    def content(self, messages: list[Message], dialect: Dialect) -> bytes:
        """A request's body."""
        return _encode(dialect.body(messages, self._settings))

    async def call(self, messages: list[Message], dialect: Dialect) -> Reply:
        """Raises as above."""
        told = self._settings
        body = dialect.body(messages, told)
        try:
            async with asyncio.timeout(told.total_seconds):
                response = await self._sdk.post(PATH, body=body, cast_to=httpx2.Response)
        except TimeoutError:
            text = f"no answer within {told.total_seconds:g} s"
            raise Transient(text, timed_out=True) from None
        except APIStatusError as error:
            raise self._refusal(error, messages) from None
        except APIConnectionError as error:
            why = error.__cause__ or error
            if isinstance(why, httpx2.LocalProtocolError):  # its text quotes the wrong header
                raise ConfigurationError(
                    f"the request cannot be sent as HTTP; is {PREFIX}API_KEY a key and nothing "
                    "else?"
                ) from None
            text = told.redacted(f"{type(why).__name__}: {why}".rstrip(": "))
            timed_out = isinstance(why, httpx2.ReadTimeout)
            raise Transient(text, timed_out=timed_out) from None
        sent = len(_encode(body))
        if len(response.content) > told.max_response_bytes:
            fault = f"it is longer than {told.max_response_bytes} bytes"
            return Reply("", sent // BYTES_A_TOKEN, told.max_output_tokens, fault)
        return _reply(response.content, sent)._replace(dialect=dialect)

    def _refusal(self, error: APIStatusError, messages: list[Message]) -> Exception:
        status, body = error.status_code, error.body or ""
        said = " ".join(str(body.get("message", body) if isinstance(body, dict) else body).split())
        shown = said[: 10 * SHOWN]
        if _quotes(shown, messages):  # it is shown in logs and readiness, which hold no user's text
            shown = "its words quote the request, and are left out"
        try:
            phrase = HTTPStatus(status).phrase  # an endpoint may put anything there
        except ValueError:
            phrase = ""
        text = f"HTTP {status} {phrase}".rstrip() + (f": {shown}" if shown else "")
        text = self._settings.redacted(text)[:SHOWN]
        if status in PASSING or status >= 500:
            return Transient(text, _retry_after(error.response), status=status)
        where = self._settings.base_url
        if status == HTTPStatus.NOT_FOUND and _names(said, self._settings.model):
            return ConfigurationError(
                f"{where} does not have the model {self._settings.model!r}: set {PREFIX}MODEL "
                f"({text})"
            )
        if status in HINTS:
            return ConfigurationError(f"{text}; {HINTS[status]}")
        if status in MISPLACED or status < 400:
            wanted = f"set {PREFIX}BASE_URL and {PREFIX}MODEL"
            return ConfigurationError(f"{where}{PATH}: {text}; {wanted}")
        return Rejected(text, f"{said[: 10 * SHOWN]} {error.param}")


def _names(said: str, model: str) -> bool:
    """Whether an error is about the model, as its words in quotes or between spaces say."""
    return model in re.split(r"[\s`'\"]+", said)


def _quotes(said: str, messages: list[Message]) -> bool:
    """Whether a piece of it stands in what was asked, past the instructions."""
    asked = "\n".join(" ".join(one["content"].split()) for one in messages[1:])
    return any(said[at : at + QUOTED] in asked for at in range(len(said) - QUOTED + 1))


def _reply(raw: bytes, sent: int) -> Reply:
    """Raises Transient for what is no completion: a proxy's page, half an object."""
    try:
        given = _decode(raw)
        choice = given["choices"][0]
        message = choice["message"]
        text = message.get("content") or ""
        if not isinstance(text, str):
            raise TypeError("its content is no text")
        fault = _fault(choice.get("finish_reason"), message.get("refusal"))
        counted = given.get("usage") or {}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise Transient(f"the answer is no chat completion ({what})", status=200) from None
    sent_tokens = _count(counted, "prompt_tokens", sent)
    return Reply(text, sent_tokens, _count(counted, "completion_tokens", len(raw)), fault)


def _fault(finish_reason: Any, refusal: Any) -> str | None:
    if refusal:
        return f"{REFUSED}: {str(refusal)[:SHOWN]}"
    if finish_reason == "length":
        return "it was cut off at its largest length; think briefly and say less"
    return "the endpoint filtered it" if finish_reason == "content_filter" else None


def _count(usage: Any, name: str, size: int) -> int:
    """Tokens as the endpoint counts them, else as many bytes come to."""
    counted = usage.get(name) if isinstance(usage, dict) else None
    if isinstance(counted, int) and 0 <= counted < MOST_TOKENS:
        return counted
    return size // BYTES_A_TOKEN


def _retry_after(response: httpx2.Response) -> float | None:
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
