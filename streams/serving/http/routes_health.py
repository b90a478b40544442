"""Liveness, readiness and metrics."""

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from schemas import http
from streams.apps.metrics_registry import CONTENT_TYPE, exposition
from streams.search.vector_search import embedder
from streams.serving.backends.backend import NotReady
from streams.serving.http.auth import OPEN, Needs
from streams.serving.http.route import Endpoints, Route, reply, serving

PLAIN = CONTENT_TYPE.partition(";")[0]


async def index(request: Request) -> Response:
    """The service's name and the paths to start from."""
    begin = {"service": "turnfold", "openapi": "/openapi.json", "ready": "/readyz"}
    return reply(begin, vary="Accept")


api = Endpoints()


@api.add("GET", "/healthz", "operations", http.Health, needs=OPEN)
async def healthz(request: Request) -> Response:
    """Liveness, and the generation that answers."""
    return reply({"status": "ok", "generation": _generation(request)})


@api.add("GET", "/readyz", "operations", {200: http.Ready, 503: http.Ready}, needs=OPEN)
async def readyz(request: Request) -> Response:
    """Current readiness; during a restore also its progress."""
    backend = serving(request).backend
    readiness = backend.readiness()
    if (embeds := embedder()) is not None and embeds.fault:
        about = f"{readiness.about}; search goes by words alone: {embeds.fault}"
        readiness = readiness._replace(about=about)
    status = HTTPStatus.OK if readiness.ready else HTTPStatus.SERVICE_UNAVAILABLE
    generations = {"generation": _generation(request), "promoted": backend.promoted}
    return reply(readiness.reply() | generations, status)


def _generation(request: Request) -> str | None:
    try:
        return serving(request).backend.live.name
    except NotReady:
        return None


async def metrics(request: Request) -> Response:
    """Metrics in Prometheus text format."""
    return Response(exposition(), media_type=CONTENT_TYPE)


ALL_TENANTS = Needs("admin", of_all=True, is_of_tenant=False)
INDEX = Route("/", index, OPEN)
METRICS = Route("/metrics", metrics, ALL_TENANTS, media=PLAIN)
