"""Listen address of a process, from its settings."""

from typing import NamedTuple

from streams.errors import ConfigurationError

LOOPBACK = "127.0.0.1"


class Address(NamedTuple):
    """Host and port to listen on."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parses `[HOST:]PORT`; the default host is loopback. Port 0: any free port.

        Raises:
            ConfigurationError: another form.
        """
        host, _, port = text.rpartition(":")
        if not port.isdigit() or int(port) > 65535:
            raise ConfigurationError(f"metrics port: {text!r} is not [HOST:]PORT; try 9100")
        return cls(host.strip("[]") or LOOPBACK, int(port))
