"""Settings of the embedding endpoint (TURNFOLD_EMBED_…)."""

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import SettingsConfigDict

from streams.settings import Settings

PREFIX = "TURNFOLD_EMBED_"


class EmbedSettings(Settings):
    """The settings. The key is a SecretStr: no representation contains it."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    about = "embedding settings"
    base_url: Annotated[str, Field(description="Address of the API, without /embeddings: …/v1.")]
    model: Annotated[str, Field(min_length=1, max_length=200, description="Name of the model.")]
    api_key: Annotated[SecretStr | None, Field(description="Sent as a bearer token.")] = None
    dimensions: Annotated[
        int | None,
        Field(ge=2, le=16_384, description="Dimensions to ask for. Default: the model's own."),
    ] = None
    batch: Annotated[int, Field(ge=1, le=2048, description="Texts per request.")] = 64
    max_text: Annotated[int, Field(ge=100, description="Maximum characters per text.")] = 2000
    seconds: Annotated[
        float, Field(gt=0, le=600, description="Timeout of a request that makes vectors.")
    ] = 30.0
    question_seconds: Annotated[
        float,
        Field(gt=0, le=60, description="Timeout for a question; then words alone count."),
    ] = 2.0
    hourly_tokens: Annotated[
        int | None, Field(ge=1, description="Maximum tokens per hour and process, for vectors.")
    ] = None

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        url = urlsplit(value)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError("expected http://HOST/v1 or https://HOST/v1")
        if url.username or url.query or url.fragment:
            raise ValueError("leave out a login and what follows ? or #; a key goes into api_key")
        return value.rstrip("/").removesuffix("/embeddings")
