"""Request headers: waiting time, language, idempotency key."""

import re
from typing import NamedTuple

from starlette.requests import Request

from streams.folds.summary import LANGUAGES, Language
from streams.serving.http.problems import Fault, invalid

KEY = r'^("[ !#-~]{1,256}"|[!#-~]([ !#-~]{0,254}[!#-~])?)$'
"""An `Idempotency-Key`: 1 to 256 characters of ASCII, in quotes or not."""
WAIT_MOST = 30.0
"""Maximum seconds that a client may request to wait."""


class PreferHeader(NamedTuple):
    """`Prefer` (RFC 7240): seconds to wait until memory changes, and whether to shorten the
    reply."""

    wait: float
    minimal: bool


def preference(request: Request, wait: float) -> PreferHeader:
    """`wait=SECONDS` (default `wait`), `respond-async` (0 s), `return=minimal`."""
    minimal = False
    if "prefer" not in request.headers:
        return PreferHeader(wait, minimal)
    for part in ",".join(request.headers.getlist("prefer")).lower().split(","):
        name, _, value = (text.strip() for text in part.partition("="))
        if name == "respond-async":
            wait = 0.0
        elif name == "wait" and value.isdecimal():
            wait = min(float(value), WAIT_MOST)
        minimal = minimal or (name, value) == ("return", "minimal")
    return PreferHeader(wait, minimal)


def idempotency_key(request: Request) -> str | None:
    """The header's value, quoted or not. Raises Problem."""
    key = request.headers.get("idempotency-key")
    if key is None:
        return None
    if len(request.headers.getlist("idempotency-key")) > 1:
        raise invalid([Fault("Idempotency-Key", "is given twice")])
    if not re.fullmatch(KEY, key.strip()):
        raise invalid([Fault("Idempotency-Key", "1 to 256 characters of ASCII, without quotes")])
    return key.strip().strip('"')


def language(request: Request) -> Language | None:
    """The best supported language of Accept-Language, for summaries, or None."""
    best: tuple[float, int, Language] | None = None
    accepted = request.headers.get("accept-language", "")
    for place, part in enumerate(accepted.split(",")):
        tag, _, quality = part.partition(";")
        supported = next(
            (language for language in LANGUAGES if _speaks(tag.strip().lower(), language)), None
        )
        weight = _weight(quality)
        if supported and weight > 0 and (best is None or (weight, -place) > best[:2]):
            best = (weight, -place, supported)
    return best[2] if best else None


def _speaks(tag: str, language: Language) -> bool:
    return tag == language or tag.startswith(f"{language}-")


def _weight(quality: str) -> float:
    name, _, value = quality.strip().partition("=")
    if name.strip().lower() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
