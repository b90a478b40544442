"""Consent to one act: a token from the page that shows the effect, required by the act.

It is derived from the effect, the caller, and a secret of this process. Another site cannot guess
it, and it is invalid for another person or state, and after a change.
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
    """The token for an effect on the page at this address. `will` is JSON-ready."""
    caller: Caller = request.scope["state"]["caller"]
    message = msgspec.json.encode([request.url.path, caller, will], order="sorted")
    return hmac.new(_SECRET, message, sha256).hexdigest()


def is_given(request: Request, will: Any, form_token: str) -> bool:
    """Whether a form's token matches this effect; False without an effect."""
    expected = token(request, will).encode()
    return will is not None and hmac.compare_digest(expected, form_token.encode("utf-8", "replace"))
