"""Health check of a container, by its process's metrics port:

    python -m streams.apps.container_check

Exit code 0: ready, 1: not ready or no reply, 3: no metrics port is set (TURNFOLD_METRICS_PORT).
"""

import os
import sys
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

ANSWER_WITHIN = 10.0
"""Seconds."""
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "[::]": "[::1]", "": "127.0.0.1"}
"""Listen address -> address to connect to."""


def check(place: str) -> tuple[int, str]:
    """Exit code and reply of `[HOST:]PORT`."""
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
    """Checks readiness; writes one line to stdout and returns the exit code."""
    place = os.environ.get("TURNFOLD_METRICS_PORT")
    if not place:
        sys.stdout.write("TURNFOLD_METRICS_PORT is not set\n")
        return 3
    code, text = check(place)
    sys.stdout.write(text.strip() + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
