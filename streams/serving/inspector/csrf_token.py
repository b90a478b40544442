"""Consent to one act: a token that the page which says what will happen gives, and that the act
asks for.

It is made of what was said, of who was told, and of a secret of this process. So another site
cannot guess it, and it is good for nothing else: not for another person or state, nor for the same
one after it has changed.
"""

import hmac
import secrets
from hashlib import sha256
from typing import Any

import msgspec
from starlette.requests import Request

from streams.serving.http.keys import Caller

FIELD = "consent"
"""The form's field."""
_SECRET = secrets.token_bytes(32)


def token(request: Request, will: Any) -> str:
    """To what a page at this address says will happen. `will` is JSON-ready."""
    caller: Caller = request.scope["state"]["caller"]
    said = msgspec.json.encode([request.url.path, caller, will], order="sorted")
    return hmac.new(_SECRET, said, sha256).hexdigest()


def is_given(request: Request, will: Any, given: str) -> bool:
    """Whether a form's token is the one for just this; never where nothing would happen."""
    expected = token(request, will).encode()
    return will is not None and hmac.compare_digest(expected, given.encode("utf-8", "replace"))
