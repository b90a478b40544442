"""An authorization server of OAuth 2.0: it signs tokens (RS256), and hands them out over HTTP."""

import json
import subprocess
import threading
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from streams.broker import Tokens

AUDIENCE, NAME = "kafka", "https://issuer.test"
CLIENT, SECRET = "turnfold-client", "of nobody else: %/+"
KEY_ID = "first"
EXPONENT = (65537).to_bytes(3, "big")
"""That of the keys which openssl makes."""


def _packed(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def _openssl(*args: str, given: bytes = b"") -> bytes:
    return subprocess.run(
        ["openssl", *args], check=True, capture_output=True, input=given
    ).stdout  # fmt: skip


class Issuer:
    """`accepted`: what a broker is told, so that it takes the tokens."""

    def __init__(self, folder: Path) -> None:
        self._key = str(folder / "issuer.key")
        _openssl("genrsa", "-out", self._key, "2048")
        said = _openssl("rsa", "-in", self._key, "-noout", "-modulus").decode().strip()
        modulus = bytes.fromhex(said.removeprefix("Modulus="))
        key = {"kty": "RSA", "kid": KEY_ID, "alg": "RS256", "use": "sig",
               "n": _packed(modulus), "e": _packed(EXPONENT)}  # fmt: skip
        keys = folder / "keys.json"
        keys.write_text(json.dumps({"keys": [key]}))
        self.accepted = Tokens(keys, NAME, AUDIENCE)

    def token(self, user: str, seconds: int = 3600, audience: str = AUDIENCE) -> str:
        """One that says who it is, for so long."""
        now = int(time.time())
        head = {"alg": "RS256", "typ": "JWT", "kid": KEY_ID}
        body = {"iss": NAME, "aud": audience, "sub": user, "iat": now, "exp": now + seconds}
        text = ".".join(_packed(json.dumps(part).encode()) for part in (head, body))
        signature = _openssl("dgst", "-sha256", "-sign", self._key, given=text.encode())
        return f"{text}.{_packed(signature)}"

    @contextmanager
    def serving(self, user: str) -> Iterator[str]:
        """The URL where `CLIENT` gets tokens of that user, as long as this lasts."""
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                known = self.headers.get("Authorization", "") == _login()
                if not known or form.get("grant_type") != ["client_credentials"]:
                    self._say(401, {"error": "invalid_client"})
                else:
                    token = issuer.token(user)
                    self._say(200, {"access_token": token, "expires_in": 3600})

            def _say(self, status: int, said: dict[str, Any]) -> None:
                body = json.dumps(said).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/token"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _login() -> str:
    """As RFC 6749 has it: both parts encoded like a form, then as Basic."""
    return "Basic " + b64encode(f"{CLIENT}:{quote(SECRET, safe='')}".encode()).decode()
