"""What an endpoint of the API answers, as a view shows it: there is one way to ask a question."""

from collections.abc import Awaitable
from typing import Any

import msgspec
from starlette.responses import Response

from streams.serving.http.problems import Problem

Json = dict[str, Any]
AWAY = (501, 503)
"""Statuses of what cannot be looked up here or now, where the rest of a page can be shown."""


async def told(asked: Awaitable[Response]) -> Json:
    """The document that an endpoint answers. Raises Problem."""
    answer: Json = msgspec.json.decode((await asked).body)
    return answer


async def told_if_there(asked: Awaitable[Response], missing: list[str]) -> Json | None:
    """The same; None where it cannot be looked up, which `missing` then says."""
    return await if_there(told(asked), missing)


async def if_there(asked: Awaitable[Json], missing: list[str]) -> Json | None:
    """What is asked; None where it cannot be looked up, which `missing` then says."""
    try:
        return await asked
    except Problem as problem:
        if problem.status not in AWAY:
            raise
        if problem.detail not in missing:
            missing.append(problem.detail)
        return None
