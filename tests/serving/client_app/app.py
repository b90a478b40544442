"""An app with a package `schemas` of its own, which uses the installed client.

Prints what it found as JSON.
"""

import asyncio
import json
import sys
from importlib.metadata import distributions
from importlib.util import find_spec

import schemas.http
from schemas.events import Turn
from turnfold_client import (
    AsyncTurnfold,
    NotFoundError,
    SessionUpdate,
    Turnfold,
    __version__,
    models,
)

url = sys.argv[1]
session_id, user_id = "app-session", "app-user"
turn = models.Turn.model_validate(
    {
        "event_id": "app-1",
        "session_id": session_id,
        "user_id": user_id,
        "occurred_at": "2026-03-01T09:30:00Z",
        "user_input": Turn("tea?").text,
    }
)


async def read() -> list[str]:
    async with AsyncTurnfold(url) as turnfold:
        document = await turnfold.session(session_id)
        return [conversation.user_input for conversation in document.conversations]


def missing(turnfold: Turnfold) -> int:
    try:
        turnfold.session("nowhere")
    except NotFoundError as error:
        return error.problem.status
    return 200


with Turnfold(url) as turnfold:
    counts = turnfold.post_records([turn]).counts
    context = turnfold.update_session(SessionUpdate(session_id=session_id, topic="limits"))
    event = next(turnfold.events(session_id))
    assert isinstance(context, models.SessionContext)
    found = {
        "counts": counts, "topic": context.current_topic, "followed": event.session.session_id,
        "known": turnfold.memory_summary(user_id=user_id).known, "missing": missing(turnfold),
        "conversations": asyncio.run(read()), "version": __version__,
        "ours": schemas.http.SessionUpdate.__doc__,
        "server": [name for name in ("streams", "sinks") if find_spec(name)],
        "distributions": sorted(each.metadata["Name"] for each in distributions()),
    }  # fmt: skip
print(json.dumps(found))
