"""Settings `[erasure]`: where the keys per user and session are."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from streams.settings import Settings

if TYPE_CHECKING:
    from streams.erasure_keys.key_store import KeyStore


class ErasureSettings(Settings):
    """Both or none are set."""

    model_config = SettingsConfigDict(env_prefix="TURNFOLD_ERASURE_", frozen=True, extra="forbid")
    about = "erasure settings"
    is_optional = True

    keys: Annotated[
        Path | None,
        Field(
            description="Folder of the keys that encrypt records in Kafka, one per session or "
            "user; shared by all processes. `forget` destroys keys. Default: records are plain."
        ),
    ] = None
    master_key: Annotated[
        Path | None,
        Field(description="File of the master key that wraps these keys. Needed with `keys`."),
    ] = None

    @model_validator(mode="after")
    def _are_complete(self) -> Self:
        if (self.keys is None) != (self.master_key is None):
            raise ValueError("keys and master_key are set together, or neither")
        return self

    def open(self) -> "KeyStore | None":
        """The key store, or None without one. Raises ConfigurationError."""
        if self.keys is None or self.master_key is None:
            return None
        from streams.erasure_keys.key_store import KeyStore
        from streams.erasure_keys.master_key import MasterKeyFile

        return KeyStore(self.keys, MasterKeyFile(self.master_key))
