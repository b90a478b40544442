"""Settings of the model extractor: endpoint, prompt, budgets (TURNFOLD_LLM_…)."""

import os
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from streams.configuration import expand_home
from streams.llm import template
from streams.settings import Settings

PREFIX = "TURNFOLD_LLM_"
OPENAI = "https://api.openai.com/v1"
MODEL_OF_OPENAI = "gpt-5.4-mini"
KEY_VARIABLE, ADDRESS_VARIABLE = "OPENAI_API_KEY", "OPENAI_BASE_URL"
"""The variables of OpenAI's clients. The key is sent to OpenAI and to ADDRESS_VARIABLE alone."""
MILLION = 1_000_000
RESERVED = frozenset(
    ["model", "messages", "response_format", "stream", "n", "max_tokens", "max_completion_tokens"]
)
"""Fields that `body` must not set: answers are read, and budgets counted, by them."""
CategoryName = Annotated[str, Field(pattern=r"^[^\s`](?:[^\n`]{0,62}[^\s`])?$")]
CategoryText = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\n]*\S[^\n]*$")]
Seconds = Annotated[float, Field(gt=0, le=86_400)]


class LlmSettings(Settings):
    """The settings. The key is a SecretStr: no representation contains it."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    about = "model settings"
    is_optional = True
    base_url: Annotated[
        str,
        Field(
            validate_default=True,
            description="Address of the API, without /chat/completions: …/v1. Default: "
            f"`{ADDRESS_VARIABLE}`, else OpenAI's.",
        ),
    ] = ""
    model: Annotated[
        str,
        Field(
            max_length=200,
            validate_default=True,
            description=f"Name of the model. Default: `{MODEL_OF_OPENAI}`, at OpenAI.",
        ),
    ] = ""
    api_key: Annotated[
        SecretStr | None,
        Field(
            validate_default=True,
            description=f"Sent as a bearer token. Default: `{KEY_VARIABLE}`, at OpenAI.",
        ),
    ] = None
    body: Annotated[
        dict[str, Any],
        Field(
            default_factory=dict,
            description="JSON merged into each request's body; null removes a field.",
        ),
    ]
    categories: Annotated[
        dict[CategoryName, CategoryText],
        Field(
            default_factory=dict,
            max_length=64,
            description="JSON: categories of states, with a description each. Empty: the built-in "
            "ones.",
        ),
    ]
    prompt: Annotated[
        str,
        Field(
            validate_default=True,
            description="File with a template of the instructions. Empty: the built-in one.",
        ),
    ] = ""

    extract_after: Annotated[
        Literal["turn", "group"],
        Field(
            description="When a server or worker asks: after each `turn`, or after a `group` of "
            "turns, which costs less."
        ),
    ] = "turn"
    turns: Annotated[int, Field(ge=1, le=100, description="Maximum turns per request.")] = 6
    idle_seconds: Annotated[Seconds, Field(description="Silence that closes a group.")] = 60.0
    sources: Annotated[
        tuple[str, ...], Field(description="Sources of turns in which a user speaks.")
    ] = ("chat",)
    max_states: Annotated[
        int,
        Field(ge=0, le=1000, description="Maximum states, and maximum preferences, in a request."),
    ] = 40
    max_state_bytes: Annotated[
        int, Field(ge=0, description="Maximum bytes of states, and of preferences, in a request.")
    ] = 12_000
    max_text: Annotated[int, Field(ge=100, description="Maximum characters per text.")] = 4000

    concurrency: Annotated[int, Field(ge=1, le=256, description="Maximum concurrent requests.")] = 4
    connect_seconds: Annotated[Seconds, Field(description="Connect timeout.")] = 5.0
    read_seconds: Annotated[Seconds, Field(description="Read timeout.")] = 60.0
    total_seconds: Annotated[Seconds, Field(description="Timeout of one attempt.")] = 120.0
    attempts: Annotated[int, Field(ge=1, le=100, description="Attempts per request.")] = 6
    retry_seconds: Annotated[Seconds, Field(description="Maximum wait between attempts.")] = 60.0
    breaker_failures: Annotated[
        int, Field(ge=1, description="Failures in a row that open the circuit breaker.")
    ] = 5
    breaker_seconds: Annotated[Seconds, Field(description="Time until the breaker probes.")] = 15.0
    max_output_tokens: Annotated[int, Field(ge=1, description="Maximum tokens of an answer.")] = (
        4000
    )
    max_response_bytes: Annotated[
        int, Field(ge=1000, description="Maximum bytes of an answer.")
    ] = 1_000_000

    price_input: Annotated[float, Field(ge=0, description="Price per million prompt tokens.")] = 0.0
    price_output: Annotated[float, Field(ge=0, description="Price per million answer tokens.")] = (
        0.0
    )
    budget_tokens: Annotated[int | None, Field(ge=1, description="Maximum per run.")] = None
    budget_cost: Annotated[float | None, Field(gt=0, description="Maximum per run.")] = None
    hourly_tokens: Annotated[int | None, Field(ge=1, description="Maximum per hour.")] = None
    hourly_cost: Annotated[float | None, Field(gt=0, description="Maximum per hour.")] = None

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        if not value:
            return _variable_address() or OPENAI
        return _address(value)

    @field_validator("model")
    @classmethod
    def _model_name(cls, value: str, info: ValidationInfo) -> str:
        address = info.data.get("base_url", OPENAI)
        if value or _takes_openai_key(address):
            return value or MODEL_OF_OPENAI
        raise ValueError(f"name a model that {address} has")

    @field_validator("api_key")
    @classmethod
    def _valid_key(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        """Strips a file's last newline. A key that is invalid in a header is rejected here, where
        no error text repeats it."""
        key, source = value.get_secret_value().strip() if value else "", ""
        address = info.data.get("base_url", "")
        if not key and _takes_openai_key(address):
            key, source = os.environ.get(KEY_VARIABLE, "").strip(), f"{KEY_VARIABLE}: "
        if not key.isascii() or not key.isprintable():
            raise ValueError(
                f"{source}it holds control or non-ASCII characters; give the key alone"
            )
        if not key and _is_openai(address):
            raise ValueError(
                f"there is no key: set {KEY_VARIABLE}, or {PREFIX}BASE_URL and {PREFIX}MODEL for "
                "another endpoint"
            )
        return SecretStr(key) if key else None

    @field_validator("prompt", mode="before")
    @classmethod
    def _read(cls, value: Any, info: ValidationInfo) -> str:
        """The file's text; later changes of the file have no effect."""
        file = Path(expand_home(str(value))) if value else None
        return template.read(file, bool(info.data.get("categories")))

    def redacted(self, text: str) -> str:
        """Replaces the key in a text, plain or as Python quotes it."""
        if self.api_key is None:
            return text
        key = self.api_key.get_secret_value()
        return text.replace(key, "***").replace(repr(key)[1:-1], "***")

    @model_validator(mode="after")
    def _fit_together(self) -> "LlmSettings":
        if (self.budget_cost or self.hourly_cost) and not (self.price_input or self.price_output):
            raise ValueError("a budget of cost needs price_input and price_output")
        if reserved := RESERVED & self.body.keys():
            raise ValueError(f"body: {min(reserved)} is set by Turnfold")
        if withheld := [name for name in self.sources if name.startswith("meta")]:
            raise ValueError(f"sources: {withheld[0]} is never what a user says")
        return self

    @property
    def extractor(self) -> str:
        """The plans' `extractor.name`."""
        return f"llm/{self.model}"

    @cached_property
    def extractor_version(self) -> str:
        """The plans' `extractor.version`: the prompt's version."""
        return template.version(self.prompt, self.all_categories)

    @cached_property
    def instructions(self) -> str:
        """The system message of a request."""
        return template.instructions(self.prompt, self.all_categories)

    @property
    def all_categories(self) -> dict[str, str]:
        """The categories of states with their descriptions."""
        return self.categories or template.CATEGORIES

    @property
    def idle(self) -> int:
        """`idle_seconds` in microseconds."""
        return int(self.idle_seconds * MILLION)

    def cost(self, sent: int, received: int) -> float:
        """The cost of a number of tokens, in the prices' currency."""
        return (sent * self.price_input + received * self.price_output) / MILLION


def _address(text: str) -> str:
    url = urlsplit(text)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError("expected http://HOST/v1 or https://HOST/v1")
    if url.username or url.password:
        raise ValueError(f"put the key into {PREFIX}API_KEY, not into the address")
    if url.query or url.fragment:  # a path is appended; and a key in it would be shown
        raise ValueError(f"leave out what follows ? or #; a key goes into {PREFIX}API_KEY")
    return text.rstrip("/").removesuffix("/chat/completions")


def _variable_address() -> str:
    """The address in ADDRESS_VARIABLE; empty without one."""
    text = os.environ.get(ADDRESS_VARIABLE, "").strip()
    try:
        return _address(text) if text else ""
    except ValueError as error:
        raise ValueError(f"{ADDRESS_VARIABLE}: {error}") from None


def _is_openai(address: str) -> bool:
    url = urlsplit(address)
    host = url.hostname or ""
    return url.scheme == "https" and f".{host}".endswith(f".{urlsplit(OPENAI).hostname}")


def _takes_openai_key(address: str) -> bool:
    """Whether KEY_VARIABLE is for this address: a key is sent to its service alone."""
    return _is_openai(address) or (bool(address) and address == _variable_address())
