"""Is this container's process ready? It asks the metrics port, as a container's health check:

    python -m streams.apps.healthy

Exit code 0 yes, 1 no or no answer, 3 no metrics port is set (TURNFOLD_METRICS_PORT).
"""

import os
import sys
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

ANSWER_WITHIN = 10.0
"""Seconds."""
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "[::]": "[::1]", "": "127.0.0.1"}
"""Where to ask a port that listens at every address, or at the default one."""


def ask(place: str) -> tuple[int, str]:
    """Exit code, and what was said, of `[HOST:]PORT`."""
    host, _, port = place.rpartition(":")
    url = f"http://{EVERYWHERE.get(host, host)}:{port}/readyz"
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=ANSWER_WITHIN) as reply:
            return 0, reply.read().decode()
    except HTTPError as error:
        return 1, error.read().decode(errors="replace")
    except (OSError, HTTPException, ValueError) as error:
        return 1, f"{url}: {error}"


def main() -> int:
    """The exit code; one line to stdout."""
    place = os.environ.get("TURNFOLD_METRICS_PORT")
    if not place:
        sys.stdout.write("TURNFOLD_METRICS_PORT is not set: nothing to ask\n")
        return 3
    code, said = ask(place)
    sys.stdout.write(said.strip() + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
