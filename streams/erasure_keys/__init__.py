"""Keys per user and session: a destroyed key makes records unreadable that cannot be rewritten
(docs/erasure.md, "Keys for Kafka")."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streams.erasure_keys.key_store import KeyStore

PREFIX = "TURNFOLD_ERASURE_"


def open_store() -> "KeyStore | None":
    """The key store of the settings, or None if there are none: then the extra is not needed.
    Raises ConfigurationError."""
    if not any(name.upper().startswith(PREFIX) for name in os.environ):
        return None
    from streams.erasure_keys.settings import ErasureSettings

    return ErasureSettings.load().open()
