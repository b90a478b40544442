"""Calls of API endpoints by views: each query exists once."""

from collections.abc import Awaitable
from typing import Any

import msgspec
from starlette.responses import Response

from streams.serving.http.problems import Problem

Json = dict[str, Any]
AWAY = (501, 503)
"""Statuses of what cannot be looked up here or now, where the rest of a page can be shown."""


async def told(response: Awaitable[Response]) -> Json:
    """The document that an endpoint returns. Raises Problem."""
    answer: Json = msgspec.json.decode((await response).body)
    return answer


async def told_if_there(response: Awaitable[Response], missing: list[str]) -> Json | None:
    """The same, or None if it is unavailable, with the reason in `missing`."""
    return await if_there(told(response), missing)


async def if_there(answer: Awaitable[Json], missing: list[str]) -> Json | None:
    """The answer, or None if it is unavailable, with the reason in `missing`."""
    try:
        return await answer
    except Problem as problem:
        if problem.status not in AWAY:
            raise
        if problem.detail not in missing:
            missing.append(problem.detail)
        return None
