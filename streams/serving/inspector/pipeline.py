"""View: the pipeline. The topology with what flows through it, and the dead letters by reason."""

from collections.abc import AsyncIterator, Callable

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from streams import history_lists
from streams.serving.flow import graph
from streams.serving.http import routes_reading
from streams.serving.http.auth import Needs
from streams.serving.http.keys import Caller
from streams.serving.http.route import STREAM, AsOf, KnownAt, Route, ask_history, serving
from streams.serving.http.routes_reading import LetterCursor, ReasonInQuery
from streams.serving.inspector.api_calls import Json, if_there, told_if_there
from streams.serving.inspector.view import View, clocks

PATH = "/pipeline"
SHOWN = 20
"""Dead letters of a page."""


async def pipeline(
    request: Request,
    reason: ReasonInQuery = None,
    cursor: LetterCursor = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Json:
    """The current flow, independent of the clocks; a tenant's dead letters. `live` covers all
    tenants, and needs a key of all tenants."""
    server, missing = serving(request), list[str]()
    caller: Caller = request.scope["state"]["caller"]
    frame = await server.flow.frame() if caller.of_all else None
    tier = server.backend.observed().tier
    letters = routes_reading.dead_letters(request, reason, limit=SHOWN, cursor=cursor)
    return {
        **clocks(as_of, known_at),
        "reason": reason,
        "tier": tier,
        "topology": {"nodes": [node._asdict() for node in graph.graph(tier).nodes],
                     "arrows": graph.graph(tier).arrows},
        "live": frame,
        "letters": await told_if_there(letters, missing),
        "reasons": await if_there(_reasons(request), missing),
        "missing": missing,
    }  # fmt: skip


async def _reasons(request: Request) -> Json:
    return {"reasons": await ask_history(request, "dead letter", [], history_lists.reasons)}


async def events(request: Request) -> Response:
    """The same numbers as server-sent events, while they change."""
    if request.method == "HEAD":
        return Response(media_type=STREAM)
    stream: Callable[[], AsyncIterator[bytes]] = serving(request).flow.events
    return StreamingResponse(stream(), media_type=STREAM)


VIEW = View(
    PATH, pipeline, "pipeline.html", "pipeline.title", "pipeline.about", menu=True, role="admin"
)
EVENTS = Route(f"{PATH}/events", events, Needs("admin", of_all=True, is_stream=True), media=STREAM)
