"""`POST /v1/extract`: waits until the model has read all stored turns."""

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from schemas import http
from streams.serving.http import request_headers
from streams.serving.http.problems import Problem
from streams.serving.http.route import LIST_ERRORS, Endpoints, reply, serving

WITHIN = 30.0
"""Seconds that a request waits by default: a model takes longer than a fold."""


api = Endpoints()


@api.add(
    "POST", "/v1/extract", "records", {200: http.Extracted, 202: http.Extracted},
    errors=LIST_ERRORS,
)  # fmt: skip
async def extract(request: Request) -> Response:
    """Waits until the model has read all turns that are stored now. 202: some turns are unread,
    `about` gives the reason; the server continues. 501: this server has no model."""
    backend = serving(request).backend
    within = request_headers.preference(request, WITHIN).wait
    progress = await backend.extract(within)
    if progress is None:
        mode = (
            "workers find memory here"
            if backend.extractor is None
            else f"this server runs with extractor {backend.extractor!r}"
        )
        detail = f"{mode}, and asks no model; start it with --extractor llm"
        raise Problem(501, "No model", detail)
    is_done, about = progress
    status = HTTPStatus.OK if is_done else HTTPStatus.ACCEPTED
    return reply({"status": "done" if is_done else "waiting", "about": about}, status)
