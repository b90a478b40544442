"""Whether the server is alive and answers; what it can be asked."""

from functools import cache
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from streams.observing.metrics import CONTENT_TYPE, exposition
from streams.serving.route import encode, reply, serving


async def index(request: Request) -> Response:
    """Where to begin, for who opens the URL that the server prints."""
    return reply({"service": "turnstone", "openapi": "/openapi.json", "ready": "/readyz"})


async def healthz(request: Request) -> Response:
    """The process is alive."""
    return reply({"status": "ok"})


async def readyz(request: Request) -> Response:
    """Whether questions are answered; during a restore how far it is."""
    readiness = serving(request).memory.readiness()
    status = HTTPStatus.OK if readiness.ready else HTTPStatus.SERVICE_UNAVAILABLE
    return reply(readiness._asdict(), status)


async def openapi_json(request: Request) -> Response:
    """This document."""
    return Response(_document(), media_type="application/json")


async def metrics(request: Request) -> Response:
    """For Prometheus."""
    return Response(exposition(), media_type=CONTENT_TYPE)


@cache
def _document() -> bytes:
    from streams.serving.openapi import document  # seldom asked for, and slow to load

    return encode(document())
