"""Recognizes encrypted values. Separate, since processes without keys lack the extra's packages."""

from streams.errors import ConfigurationError

MARK = b"\xc1\xfeT"
"""Start of encrypted values; neither UTF-8 nor MessagePack begins with its first byte."""
NEEDS_KEYS = "encrypted, and this process has no keys: set [erasure] (docs/erasure.md)"


def check_plain(value: bytes, place: str) -> None:
    """Raises ConfigurationError for an encrypted value that reached code without keys."""
    if value.startswith(MARK):
        raise ConfigurationError(f"{place}: {NEEDS_KEYS}")
