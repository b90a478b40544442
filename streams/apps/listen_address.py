"""Where a process listens, as its settings say it."""

from typing import NamedTuple

from streams.errors import ConfigurationError

LOOPBACK = "127.0.0.1"


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """`[HOST:]PORT`; without a host only this machine is answered. 0: any port that is free.

        Raises:
            ConfigurationError: it is neither.
        """
        host, _, port = text.rpartition(":")
        if not port.isdigit() or int(port) > 65535:
            raise ConfigurationError(f"metrics port: {text!r} is not [HOST:]PORT; try 9100")
        return cls(host.strip("[]") or LOOPBACK, int(port))
