"""The application: the endpoints, and the layers around all of them.

The same over files and over Kafka: `backend` is the tier (`streams.serving.backends.backend`).
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from weakref import WeakValueDictionary

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from streams.apps.request_metrics import Requests
from streams.observability import traces
from streams.serving.backends.backend import Backend
from streams.serving.flow.replaying import Replays
from streams.serving.flow.sampler import Sampler, addresses
from streams.serving.history.history_queries import HistoryQueries
from streams.serving.http.auth import LOCAL, OPEN, Access, Needs, Pages
from streams.serving.http.body_readers import BodyReaders
from streams.serving.http.endpoints import ENDPOINTS
from streams.serving.http.event_stream import SessionEventStreams
from streams.serving.http.keys import Keys
from streams.serving.http.rate_limits import Limits, RequestLimits, Strangers
from streams.serving.http.request_bodies import Bodies
from streams.serving.http.route import PlainRoute, Route, Router, Serving, encode
from streams.serving.http.routes_health import INDEX, METRICS
from streams.serving.http.settings import ServeSettings
from streams.serving.http.write_records import IdempotencyCache as Sent
from streams.serving.inspector.inspector import Inspector
from streams.serving.mcp.over_http import McpEndpoint
from streams.serving.mcp.over_http import is_installed as mcp_is_installed


def create_app(
    backend: Backend, keys: Keys | None = None, settings: ServeSettings | None = None
) -> FastAPI:
    """Creates the API over an entered backend. Every local client has full access if `keys` is
    None. `settings`: besides address, keys and backend; default: of the environment. Call
    `app.state.serving.close_streams()` before the server waits for its connections to end."""
    settings = settings or ServeSettings()
    past, streams = HistoryQueries(backend, settings.query_seconds), SessionEventStreams()
    readers = BodyReaders()
    flow = Sampler(backend, addresses(settings.metrics_from))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        past.begin([LOCAL.tenant] if keys is None else keys.tenants)
        yield
        if tools is not None:
            await tools.close()
        streams.close()
        flow.close()
        past.close()
        readers.close()

    quotas = settings.all_quotas
    backend.worked.append(quotas.charge_work)
    pages = Inspector(keys) if settings.inspector else None
    app = FastAPI(  # routes, lifespan and spans; the layers around each request are our own
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,  # it redirects to whatever host the request names
        telemetry={"tracing": traces.are_sent(), "metrics": False, "logs": False},
        lifespan=lifespan,
    )
    app.state.serving = Serving(
        backend, past, streams, Sent(), quotas, WeakValueDictionary(), readers, settings.within,
        settings.page, settings.records, flow,
        None if backend.kafka is None else Replays(backend.kafka),
    )  # fmt: skip
    app.router.routes += [*ENDPOINTS, METRICS, Route("/openapi.json", _openapi_json, OPEN)]
    app.router.routes += pages.routes() if pages else [INDEX]
    tools = None
    if mcp_is_installed():
        tools = McpEndpoint(Router(app.router), forget=settings.mcp_forget)
        # any key may call tools; a tool's request needs its own role
        app.router.routes.append(PlainRoute("/mcp", tools, Needs("read"), "POST"))
    whole = guarded(Router(app.router), keys, settings.bounds, pages, quotas.charge)
    app.middleware_stack = Requests(whole)
    return app


def guarded(
    app: Router,
    keys: Keys | None,
    bounds: RequestLimits | None = None,
    pages: Pages | None = None,
    charge: Callable[[str, int], None] | None = None,
) -> ASGIApp:
    """The application inside all protective layers. `charge`: as in `Bodies`."""
    held_to = bounds or RequestLimits()
    whole = Bodies(app, held_to.body_bytes, held_to.body_seconds, held_to.held_bytes, charge)
    return Access(Limits(whole, held_to), app.find, keys, pages, Strangers(held_to.open_rate).check)


async def _openapi_json(request: Request) -> Response:
    """The OpenAPI document."""
    document = await asyncio.to_thread(_document)  # at first it takes 0.3 s
    return Response(document, media_type="application/json")


@cache
def _document() -> bytes:
    from streams.serving.http.openapi import document  # rarely requested, and slow to load

    return encode(document())
