"""The files that pages load: scripts, styles, the mark. All are part of the package: other servers
are not contacted."""

import gzip
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from streams.serving.http.problems import not_found

PATH = "/static/"
TYPES = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "LICENSE": "text/plain; charset=utf-8",
}
FOR_EVER = "public, max-age=31536000, immutable"
"""Cache-Control of a file with its content's hash in its address."""
ASKED_EACH_TIME = "no-cache"
_FOLDER = files(__package__) / "static"


class Asset(NamedTuple):
    """`digest`: the first characters of the content's SHA-256, which its address names."""

    body: bytes
    packed: bytes
    digest: str
    media_type: str


@cache
def assets() -> dict[str, Asset]:
    return {
        file.name: _asset(file.name, file.read_bytes())
        for file in _FOLDER.iterdir()
        if file.name.rpartition(".")[2] in TYPES
    }


def _asset(name: str, body: bytes) -> Asset:
    digest = sha256(body).hexdigest()[:12]
    return Asset(body, gzip.compress(body, mtime=0), digest, TYPES[name.rpartition(".")[2]])


def address(name: str) -> str:
    """Where a page finds a file. Raises KeyError where there is none of that name."""
    return f"{PATH}{name}?v={assets()[name].digest}"


async def asset(request: Request) -> Response:
    """One file; with `v`, the digest in its address, browsers keep it permanently."""
    stored = assets().get(request.path_params["name"])
    if stored is None:
        raise not_found("file")
    tag = f'"{stored.digest}"'
    current = request.query_params.get("v") == stored.digest
    headers = {
        "etag": tag,
        "cache-control": FOR_EVER if current else ASKED_EACH_TIME,
        "vary": "Accept-Encoding",
    }
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    packs = "gzip" in request.headers.get("accept-encoding", "")
    if packs:
        headers["content-encoding"] = "gzip"
    return Response(
        stored.packed if packs else stored.body, headers=headers, media_type=stored.media_type
    )
