"""TLS context of all Kafka clients of a process. It follows its files: new connections use a
renewed certificate, open ones keep theirs."""

import logging
import ssl
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from streams import configuration
from streams.errors import ConfigurationError

log = logging.getLogger(__name__)


class TlsFiles(NamedTuple):
    """PEM files: trusted authorities (None: the system's), the client's chain and its key.
    `password` decrypts the key."""

    authorities: Path | None
    certificate: Path | None
    key: Path | None
    password: str

    def signature(self) -> tuple[Any, ...]:
        """Changes when a file is replaced, rewritten or removed, or its link changes."""
        return tuple(_signature(file) for file in self[:3] if file)

    def load(self) -> ssl.SSLContext:
        """Raises ConfigurationError with the setting and the unusable file."""
        try:
            context = ssl.create_default_context(cafile=self.authorities)
        except OSError as error:
            raise _unusable("TLS_CA", self.authorities, error) from None
        if self.certificate:
            try:
                # without a password here OpenSSL would prompt for one on the terminal
                context.load_cert_chain(self.certificate, self.key, self.password)
            except OSError as error:
                raise _unusable("TLS_CERTIFICATE", self.key or self.certificate, error) from None
        return context


class RenewedContext(ssl.SSLContext):
    """SSL context that reloads changed files for each connection. While they are unusable, the last
    usable ones stay in use."""

    def __new__(cls, files: TlsFiles) -> "RenewedContext":
        return super().__new__(cls, ssl.PROTOCOL_TLS_CLIENT)

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._signature = files.signature()
        self._loaded = files.load()

    def wrap_bio(self, *args: Any, **options: Any) -> ssl.SSLObject:
        """Called for each connection, by asyncio and uvloop."""
        self._renew()
        return self._loaded.wrap_bio(*args, **options)

    def _renew(self) -> None:
        signature = self._files.signature()
        if signature == self._signature:
            return
        self._signature = signature
        try:
            self._loaded = self._files.load()
        except ConfigurationError as error:
            log.warning("%s; new connections use the previous files", error)
        else:
            log.info("the TLS files have changed: new connections use them")


renewed_context = cache(RenewedContext)
"""One context per set of files in a process: a client created while a renewed file is broken uses
the last usable one as well, and only one client reports it."""


def _signature(file: Path) -> tuple[int, int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _unusable(setting: str, path: Path | None, error: OSError) -> ConfigurationError:
    path_text = configuration.masked("", str(path))  # may contain a pasted key
    variable = configuration.variable("kafka", setting)
    return ConfigurationError(
        f"{variable}: {path_text} cannot be used: {error.strerror or error}; give a readable PEM "
        "file"
    )
