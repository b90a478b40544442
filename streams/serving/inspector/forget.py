"""Views: forget a user, and the receipt. The act calls `DELETE /v1/users/{user_id}`."""

from typing import Any

from starlette.requests import Request

from streams import history_lists
from streams.serving.http import routes_erasure, routes_lists
from streams.serving.http.route import UserInPath, ask_history, serving
from streams.serving.http.routes_erasure import ErasureInPath
from streams.serving.inspector.api_calls import Json, told, told_if_there
from streams.serving.inspector.links import part
from streams.serving.inspector.view import View


async def forget(request: Request, user_id: UserInPath) -> Json:
    """Counts of a user's data. Raises Problem for an unknown user, or if this server cannot
    erase."""
    missing: list[str] = []
    routes_erasure.erasures_of(serving(request))
    listing = routes_lists.users(request, prefix=user_id, order="id", limit=1)
    users: Json = await told_if_there(listing, missing) or {"users": []}
    entries: list[Any] = [entry for entry in users["users"] if entry["user_id"] == user_id]
    if not entries:  # the list may be on its way
        await ask_history(request, "user", [], history_lists.timeline, user_id, limit=1)
    return {
        "user_id": user_id,
        "held": entries[0] if entries else None,
        "will": {"forget": user_id},
        "typed": user_id,
        "missing": missing,
    }


async def act(request: Request, answer: Json) -> str:
    """Returns the receipt's page."""
    erasure = await told(routes_erasure.forget_user(request, answer["user_id"]))
    return f"/erasures/{part(erasure['id'])}"


async def receipt(request: Request, erasure_id: ErasureInPath) -> Json:
    """An erasure: its status, and the erased rows."""
    return {**await told(routes_erasure.erasure(request, erasure_id)), "missing": []}


VIEW = View(
    "/users/{user_id}/forget", forget, "forget.html", "forget.title", "forget.about",
    role="admin", act=act,
)  # fmt: skip
RECEIPT = View(
    "/erasures/{erasure_id}", receipt, "erasure.html", "erasure.title", "erasure.about",
    role="admin",
)  # fmt: skip
