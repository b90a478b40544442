"""Sends one request to an OpenAI-compatible endpoint. Outcomes:

Reply               its text is not checked here
Transient           429, 5xx, timeouts, broken connections, incomplete replies: to be retried
Rejected            another 4xx: the endpoint cannot take this request, or any with its parameters
ConfigurationError  401, 402, 403, 404, a redirect
"""

import asyncio
import math
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Literal, NamedTuple

import httpx2
import msgspec
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, DefaultAsyncHttpxClient

from schemas.base import JsonObject
from streams.errors import ConfigurationError
from streams.llm.answers import strict_schema
from streams.llm.budget import BYTES_A_TOKEN
from streams.llm.prompt import Message, with_schema
from streams.llm.settings import PREFIX, LlmSettings

PATH = "/chat/completions"
SENT = frozenset(
    ["host", "connection", "accept", "accept-encoding", "user-agent",
     "content-type", "content-length", "transfer-encoding"]
)  # fmt: skip
"""Headers of a request."""
PASSING = frozenset({408, 409, 425, 429})
"""Transient 4xx; all 5xx are transient, too."""
HINTS = {
    401: f"is {PREFIX}API_KEY right for {PREFIX}BASE_URL?",
    402: f"the account at {PREFIX}BASE_URL has no money left",
    403: f"is {PREFIX}API_KEY right for {PREFIX}BASE_URL?",
}
MISPLACED = frozenset({404, 405})
"""Statuses of a wrong address."""
LONGEST_WAIT = 3600.0
"""Maximum seconds of a Retry-After."""
SHOWN = 300  # characters of an endpoint's error text
REFUSED = "the model refused"
QUOTED = 16
"""Characters of an error text that identify a quotation of the request."""
MOST_TOKENS = 1 << 31
"""Token counts from here on are ignored as errors of the endpoint."""

Output = Literal["json_schema", "json_object", "text"]
OUTPUTS: tuple[Output, ...] = ("json_schema", "json_object", "text")
"""Output modes, best first: strict JSON schema, any JSON, text. In the last two, the instructions
contain the schema."""

_NAMED = re.compile(
    r"\b(max_completion_tokens|max_tokens|temperature|response_format|json_schema|json_object)\b"
)
_OF_OUTPUT = frozenset(["response_format", "json_schema", "json_object"])

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Dialect(NamedTuple):
    """The parameters that an endpoint accepts for a model; its 4xx replies name the others.
    `limit`: name of the parameter for the maximum output tokens."""

    output: Output = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    def body(self, messages: list[Message], settings: LlmSettings) -> JsonObject:
        """Returns the body of a request; `settings.body` overrides fields, null removes a field."""
        schema = strict_schema(tuple(settings.all_categories))
        form: JsonObject | None = None if self.output == "text" else {"type": self.output}
        if form and self.output == "json_schema":
            form["json_schema"] = {"name": "memory", "strict": True, "schema": schema}
        body: JsonObject = {
            "model": settings.model,
            "messages": messages if self.output == "json_schema" else with_schema(messages, schema),
            "temperature": 0 if self.temperature else None,
            self.limit: settings.max_output_tokens,
            "response_format": form,
            **settings.body,
        }
        return {name: value for name, value in body.items() if value is not None}

    def without(self, refusal: str) -> "Dialect | None":
        """Returns the dialect without the parameter that an error names; None if it names none."""
        named = set(_NAMED.findall(refusal))
        if self.limit == "max_tokens" and self.limit in named:
            return self._replace(limit="max_completion_tokens")
        if self.temperature and "temperature" in named:
            return self._replace(temperature=False)
        return next(iter(self.all_simpler()[1:]), None) if _OF_OUTPUT & named else None

    def all_simpler(self) -> "list[Dialect]":
        """This dialect, and the ones with simpler output modes."""
        return [self._replace(output=output) for output in OUTPUTS[OUTPUTS.index(self.output) :]]


class Reply(NamedTuple):
    """A model's answer. `fault`: a fault reported by the endpoint."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    fault: str | None = None


class Transient(Exception):  # noqa: N818 - what the failure is
    """A failure to retry, after `after` seconds if the endpoint specifies it. `status`: the HTTP
    status, if any; `timed_out`: the reply took too long."""

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
    """The endpoint rejects this request. `details`: its error text, and the parameter named."""

    def __init__(self, text: str, details: str = "") -> None:
        super().__init__(text)
        self.details = details


class _Truncated(httpx2.AsyncByteStream):
    """The first `most` bytes of a stream."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream, self._most = stream, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        remaining = self._most
        async for piece in self._stream:
            yield piece[:remaining]
            remaining -= len(piece)
            if remaining <= 0:
                return

    async def aclose(self) -> None:
        await self._stream.aclose()


class Endpoint:
    """An open connection by the SDK, which sends a request once and follows no redirects. `client`
    retries, because the breaker and `Retry-After` concern all requests."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._sdk = AsyncOpenAI(
            base_url=settings.base_url,
            api_key="-",  # `_set_headers` sets it
            default_headers={"Accept-Encoding": "identity"},
            max_retries=0,
            # no limit for the wait for a free connection: it is not the endpoint's time
            timeout=httpx2.Timeout(
                settings.read_seconds, connect=settings.connect_seconds, pool=None
            ),
            http_client=DefaultAsyncHttpxClient(
                follow_redirects=False,
                limits=httpx2.Limits(max_connections=settings.concurrency),
                event_hooks={"request": [self._set_headers], "response": [self._bounded]},
            ),
        )

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._sdk.close()

    async def _set_headers(self, request: httpx2.Request) -> None:
        """Removes the SDK's headers about this machine and from OpenAI's variables; sets the
        key."""
        for name in request.headers.keys() - SENT:
            del request.headers[name]
        if self._settings.api_key:
            key = self._settings.api_key.get_secret_value()
            request.headers["Authorization"] = f"Bearer {key}"

    async def _bounded(self, response: httpx2.Response) -> None:
        if response.headers.get("Content-Encoding", "identity") != "identity":  # size is unknown
            raise httpx2.DecodingError("the reply is compressed; identity was requested")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Truncated(response.stream, self._settings.max_response_bytes + 1)

    def content(self, messages: list[Message], dialect: Dialect) -> bytes:
        """Returns the body of a request."""
        return _encode(dialect.body(messages, self._settings))

    async def call(self, messages: list[Message], dialect: Dialect) -> Reply:
        """Sends a request. Raises as above."""
        settings = self._settings
        body = dialect.body(messages, settings)
        try:
            async with asyncio.timeout(settings.total_seconds):
                response = await self._sdk.post(PATH, body=body, cast_to=httpx2.Response)
        except TimeoutError:
            text = f"no answer within {settings.total_seconds:g} s"
            raise Transient(text, timed_out=True) from None
        except APIStatusError as error:
            raise self._status_error(error, messages) from None
        except APIConnectionError as error:
            cause = error.__cause__ or error
            text = settings.redacted(f"{type(cause).__name__}: {cause}".rstrip(": "))
            timed_out = isinstance(cause, httpx2.ReadTimeout)
            raise Transient(text, timed_out=timed_out) from None
        sent = len(_encode(body))
        if len(response.content) > settings.max_response_bytes:
            fault = f"it is longer than {settings.max_response_bytes} bytes"
            return Reply("", sent // BYTES_A_TOKEN, settings.max_output_tokens, fault)
        return _reply(response.content, sent)

    def _status_error(self, error: APIStatusError, messages: list[Message]) -> Exception:
        status, body = error.status_code, error.body or ""
        message = body.get("message", body) if isinstance(body, dict) else body
        details = " ".join(str(message).split())
        excerpt = details[: 10 * SHOWN]
        if _quotes(excerpt, messages):  # logs and readiness must not contain a user's text
            excerpt = "its words quote the request, and are left out"
        try:
            phrase = HTTPStatus(status).phrase  # the endpoint's own phrase may be any text
        except ValueError:
            phrase = ""
        text = f"HTTP {status} {phrase}".rstrip() + (f": {excerpt}" if excerpt else "")
        text = self._settings.redacted(text)[:SHOWN]
        if status in PASSING or status >= 500:
            return Transient(text, _retry_after(error.response), status=status)
        where = self._settings.base_url
        if status == HTTPStatus.NOT_FOUND and _names(details, self._settings.model):
            return ConfigurationError(
                f"{where} does not have the model {self._settings.model!r}: set {PREFIX}MODEL "
                f"({text})"
            )
        if status in HINTS:
            return ConfigurationError(f"{text}; {HINTS[status]}")
        if status in MISPLACED or status < 400:
            hint = f"set {PREFIX}BASE_URL and {PREFIX}MODEL"
            return ConfigurationError(f"{where}{PATH}: {text}; {hint}")
        return Rejected(text, f"{details[: 10 * SHOWN]} {error.param}")


def _names(details: str, model: str) -> bool:
    """Whether an error text has the model's name as a word or in quotes."""
    return model in re.split(r"[\s`'\"]+", details)


def _quotes(details: str, messages: list[Message]) -> bool:
    """Whether a part of an error text is in the request, instructions aside."""
    request = "\n".join(" ".join(message["content"].split()) for message in messages[1:])
    return any(details[at : at + QUOTED] in request for at in range(len(details) - QUOTED + 1))


def _reply(raw: bytes, sent: int) -> Reply:
    """Parses a completion. Raises Transient for anything else: a proxy's page, a partial object."""
    try:
        completion = _decode(raw)
        choice = completion["choices"][0]
        message = choice["message"]
        text = message.get("content") or ""
        if not isinstance(text, str):
            raise TypeError("its content is not a text")
        fault = _fault(choice.get("finish_reason"), message.get("refusal"))
        usage = completion.get("usage") or {}
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise Transient(f"the answer is not a chat completion ({reason})", status=200) from None
    sent_tokens = _count(usage, "prompt_tokens", sent)
    return Reply(text, sent_tokens, _count(usage, "completion_tokens", len(raw)), fault)


def _fault(finish_reason: Any, refusal: Any) -> str | None:
    if refusal:
        return f"{REFUSED}: {str(refusal)[:SHOWN]}"
    if finish_reason == "length":
        return "it was cut off at its largest length; think briefly and say less"
    return "the endpoint filtered it" if finish_reason == "content_filter" else None


def _count(usage: Any, name: str, size: int) -> int:
    """The endpoint's count of tokens, otherwise an estimate by bytes."""
    tokens = usage.get(name) if isinstance(usage, dict) else None
    if isinstance(tokens, int) and 0 <= tokens < MOST_TOKENS:
        return tokens
    return size // BYTES_A_TOKEN


def _retry_after(response: httpx2.Response) -> float | None:
    """Seconds, from a number or an HTTP date."""
    header = response.headers.get("Retry-After")
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            at = parsedate_to_datetime(header)
        except ValueError:
            return None
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        seconds = (at - datetime.now(UTC)).total_seconds()
    return min(max(0.0, seconds), LONGEST_WAIT) if math.isfinite(seconds) else None
