"""Token sources of SASL OAUTHBEARER: a file that another process refreshes, or an authorization
server (OAuth 2.0, client credentials: RFC 6749, section 4.4)."""

import asyncio
import json
from base64 import b64encode
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import AuthenticationFailedError, KafkaConnectionError

WITHIN = 10.0
"""Seconds for the authorization server to answer."""
FRESH = 0.8
"""Fraction of a token's lifetime in which new connections use it."""
MOST_BYTES = 64 * 1024
WRONG = range(400, 500)
"""Status codes of invalid requests."""


class TokenFile(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no types
    """Reads the token from a file for each connection."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def token(self) -> str:
        """Raises AuthenticationFailedError."""
        return await asyncio.to_thread(self._read)

    def _read(self) -> str:
        try:
            text = self._path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "is not a token"
            raise AuthenticationFailedError(f"oauth_token_file: {self._path}: {why}") from None
        if not text:
            raise AuthenticationFailedError(f"oauth_token_file: {self._path}: is empty")
        return text


class ClientCredentials(AbstractTokenProvider):  # type: ignore[misc]
    """Requests tokens from an authorization server, and refreshes them before they expire."""

    def __init__(self, url: str, client_id: str, secret: str, scope: str | None) -> None:
        self._url = url
        form = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
        self._form = urlencode(form).encode()
        login = f"{quote(client_id, safe='')}:{quote(secret, safe='')}".encode()
        self._login = f"Basic {b64encode(login).decode()}"
        self._token = ""
        self._fresh_until = 0.0
        self._token_lock = asyncio.Lock()

    async def token(self) -> str:
        """Raises AuthenticationFailedError if the server rejects the request, KafkaConnectionError
        if it does not respond; the latter is retried."""
        async with self._token_lock:
            if monotonic() >= self._fresh_until:
                reply = await asyncio.to_thread(self._request_token)
                self._token = reply["access_token"]
                life = reply.get("expires_in", 0)
                self._fresh_until = monotonic() + FRESH * float(life)
            return self._token

    def _request_token(self) -> dict[str, Any]:
        headers = {"Authorization": self._login, "Accept": "application/json"}
        request = Request(self._url, self._form, headers)
        try:
            with urlopen(request, timeout=WITHIN) as response:
                reply: dict[str, Any] = json.loads(response.read(MOST_BYTES))
        except HTTPError as error:
            kind = AuthenticationFailedError if error.code in WRONG else KafkaConnectionError
            raise kind(
                f"oauth_token_url: {self._url} answers {error.code} {error.reason}"
            ) from None
        except (URLError, OSError) as error:
            why = getattr(error, "reason", None) or error
            raise KafkaConnectionError(f"oauth_token_url: {self._url}: {why}") from None
        except ValueError:
            reply = {}
        if not isinstance(reply, dict) or not isinstance(reply.get("access_token"), str):
            raise AuthenticationFailedError(f"oauth_token_url: {self._url} answers without a token")
        return reply
