"""Translates errors of object stores.

The text of stores and libraries contains the access key, the signed request and the address: only
the store's code (`SlowDown`) and the HTTP status are taken from it.
"""

import re
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from sinks.errors import HistoryWriteError, StoreError

T = TypeVar("T")
PATIENCE = 10.0
"""Seconds in which transient errors are retried."""
PAUSE = 0.2
DELETED = "this file of the history was deleted while it was read"
"""By a concurrent `compact` or `forget`."""

CODE = re.compile(r"<Code>([A-Za-z0-9]{1,60})</Code>")
STATUS = re.compile(r"status code[^0-9]{0,40}([1-5][0-9]{2})\b")
COLOURS = re.compile("\x1b\\[[0-9;]*m")
UNREACHABLE = re.compile(
    "error sending request|connection (refused|reset|closed)|timed? ?out|dns error|broken pipe|"
    "unexpected eof|end of file|error reading a body|error decoding response body|os error|"
    "request error|http error|got invalid .{0,40}response|range request",
    re.IGNORECASE,
)
METADATA = re.compile(
    "169\\.254\\.169\\.254|metadata (endpoint|token)|/latest/api/token", re.IGNORECASE
)
CREDENTIALS = re.compile("credential", re.IGNORECASE)


class Words(NamedTuple):
    """Names of a store's variables for key, address and token, and the rights that a key needs."""

    keys: str
    address: str = ""
    token: str = ""
    rights: str = ""


WORDS = {
    "s3": Words(
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        " (AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL)",
        " (and AWS_SESSION_TOKEN)",
        ": to read a history s3:GetObject and s3:ListBucket, to write it s3:PutObject and "
        "s3:DeleteObject, too",
    ),
    "az": Words(
        "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY", " (AZURE_STORAGE_ENDPOINT)"
    ),
    "gs": Words("GOOGLE_APPLICATION_CREDENTIALS"),
}
"""By the scheme of an address."""


class Fault(NamedTuple):
    """Text of an error, a template for `Words`. `passes`: a retry may succeed."""

    text: str
    passes: bool = False


_KEY = Fault("the store does not know this key; check {keys}{token}")
_DENIED = Fault("the key may not do this; give it the permissions of docs/object-stores.md{rights}")
_BUSY = Fault("the store is overloaded or has a fault; try again later", passes=True)
_REGION = Fault("the bucket is in another region; set AWS_REGION to the bucket's")
_TOKEN = Fault("the session token has expired; get new keys and set AWS_SESSION_TOKEN")
_CLOCK = Fault("this machine's clock is wrong by minutes; set it")
_UNABLE = Fault(
    "the store does not support conditional writes (`If-None-Match: *`), which a history needs; "
    "use a store that does"
)
BUCKET = Fault("no such bucket; create it, or correct --history")
NO_KEY = Fault("no key found; set {keys}, or give this machine a role")
UNREACHED = "the store cannot be reached"
NO_ANSWER = Fault(f"{UNREACHED}; check the network and the address{{address}}", passes=True)
REFUSED = Fault("the store rejects this request")
OVERTAKEN = frozenset({"PreconditionFailed", "ConditionalRequestConflict", "409", "412"})
"""Another writer has created the object."""
FAULTS = {
    "NoSuchBucket": BUCKET,
    "InvalidBucketName": BUCKET,
    "ContainerNotFound": BUCKET,
    "AuthenticationFailed": _KEY,
    "InvalidAccessKeyId": _KEY,
    "SignatureDoesNotMatch": _KEY,
    "InvalidToken": _TOKEN,
    "ExpiredToken": _TOKEN,
    "AccessDenied": _DENIED,
    "AuthorizationHeaderMalformed": _REGION,
    "PermanentRedirect": _REGION,
    "RequestTimeTooSkewed": _CLOCK,
    "NotImplemented": _UNABLE,
    "SlowDown": _BUSY,
    "InternalError": _BUSY,
    "ServiceUnavailable": _BUSY,
    "RequestTimeout": _BUSY,
    "401": _KEY,
    "403": _DENIED,
    "301": _REGION,
    "501": _UNABLE,
    "429": _BUSY,
    "500": _BUSY,
    "502": _BUSY,
    "503": _BUSY,
    "504": _BUSY,
}
"""Faults by the store's code, otherwise by HTTP status."""


def patiently(request: Callable[[], T]) -> T:
    """Retries transient errors of a store: the libraries retry rejected requests, but not requests
    with an incomplete reply."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return request()
        except (StoreError, HistoryWriteError) as error:
            if not error.may_pass or time.monotonic() > deadline:
                raise
            time.sleep(PAUSE)


def write_error(error: BaseException, address: str) -> HistoryWriteError | None:
    """Translates an error of reading or writing a table, or returns None if the store is not its
    cause, as in a conflict with another writer."""
    fault, names = _fault(error)
    if fault is None:
        return None
    message = _message(fault, names, address)
    return HistoryWriteError(message, passes=fault.passes, unreachable=fault is NO_ANSWER)


def store_error(error: BaseException, address: str) -> StoreError | FileNotFoundError:
    """Translates an error of `obstore` or `deltalake`."""
    fault, names = _fault(error)
    if isinstance(error, FileNotFoundError) and fault in (None, REFUSED):
        return FileNotFoundError(f"{address}: no such object")
    fault = fault or REFUSED
    return StoreError(
        _message(fault, names, address), passes=fault.passes, unreachable=fault is NO_ANSWER
    )


OF_DUCKDB = re.compile(r"^(?:sinks\.errors\.)?StoreError: (.+)$", re.MULTILINE)


def of_duckdb(error: BaseException) -> StoreError | None:
    """Store error in a DuckDB error, which contains it as a Python traceback, or None for
    others."""
    match = OF_DUCKDB.search(str(error))
    if match is None:
        return None
    unreachable = UNREACHED in match[1]
    return StoreError(match[1], passes=unreachable, unreachable=unreachable)


def _fault(error: BaseException) -> tuple[Fault | None, list[str]]:
    """Classifies an error; returns also the store's code, then the HTTP status."""
    text = COLOURS.sub("", str(error))
    if METADATA.search(text):  # its reply is not the store's
        return NO_KEY, []
    names = [match[1] for match in (CODE.search(text), STATUS.search(text)) if match is not None]
    if not OVERTAKEN.isdisjoint(names):
        return None, names
    for name in names:
        if name in FAULTS:
            return FAULTS[name], names
    if names:
        return REFUSED, names
    if CREDENTIALS.search(text):
        return NO_KEY, names
    return (NO_ANSWER if UNREACHABLE.search(text) else None), names


def _message(fault: Fault, names: list[str], address: str) -> str:
    words = WORDS.get(address.partition("://")[0], WORDS["s3"])
    return f"{address}: {fault.text.format(**words._asdict())}{_codes(names)}"


def _codes(names: list[str]) -> str:
    labels = [f"HTTP {name}" if name.isdecimal() else name for name in names]
    return f" ({', '.join(labels)})" if labels else ""
