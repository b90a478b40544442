"""View: a dead letter with its bytes and reason, and, over Kafka, its replay."""

from base64 import b64decode
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import Query
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from schemas.validation_text import one_of
from streams.serving.flow.replaying import ENDINGS
from streams.serving.http import routes_reading
from streams.serving.http.auth import Needs
from streams.serving.http.problems import Fault, Problem, invalid
from streams.serving.http.route import AsOf, KnownAt, Route, serving, tenant_of
from streams.serving.http.routes_reading import LetterInPath
from streams.serving.inspector.api_calls import Json, told
from streams.serving.inspector.links import Links, part
from streams.serving.inspector.view import View, clocks

MOST_TEXT, MOST_BYTES = 20_000, 2_048
"""Maximum characters of a text, or bytes of other content, that a page shows; the JSON twin has
all."""
Asked = Annotated[
    str | None, Query(alias="replay", pattern="^ask$", description="`ask`: what a replay does.")
]
Ended = Annotated[str | None, Query(pattern=one_of(ENDINGS), description="How a replay has ended.")]


async def letter(
    request: Request,
    letter_id: LetterInPath,
    confirm: Asked = None,
    ended: Ended = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Json:
    """The letter as in the API, and its bytes as a page shows them."""
    server = serving(request)
    document = await told(routes_reading.dead_letter(request, letter_id))
    return {
        **clocks(as_of, known_at),
        "letter": document,
        "shown": _shown(document),
        "tier": server.backend.observed().tier,
        "replay": {"possible": server.replays is not None, "asked": confirm is not None,
                   "ended": ended},
        "missing": [],
    }  # fmt: skip


def _shown(document: Json) -> Json:
    """`text`, or rows of `dump`; `size` in bytes; `cut`: whether the text is truncated."""
    text = document.get("text")
    if text is not None:
        size = len(text.encode())
        return {"text": text[:MOST_TEXT], "dump": [], "size": size, "cut": len(text) > MOST_TEXT}
    raw = b64decode(document["base64"])
    return {
        "text": None, "dump": dump(raw[:MOST_BYTES]), "size": len(raw),
        "cut": len(raw) > MOST_BYTES,
    }  # fmt: skip


def dump(raw: bytes) -> list[dict[str, Any]]:
    """Binary data, sixteen bytes per row: offset, hex, and ASCII characters."""
    return [
        {
            "at": f"{at:06x}",
            "hex": raw[at : at + 16].hex(" "),
            "ascii": "".join(chr(byte) if 32 <= byte < 127 else "." for byte in raw[at : at + 16]),
        }
        for at in range(0, len(raw), 16)
    ]


async def replay(request: Request, letter_id: LetterInPath) -> Response:
    """Replays a letter after a confirmation. Raises Problem."""
    server, tenant = serving(request), tenant_of(request)
    if server.replays is None or server.backend.history is None:
        raise Problem(501, "No topics", "letters are replayed over Kafka, beside a history")
    form = parse_qs((await request.body()).decode("utf-8", "replace"))
    if form.get("sure") != ["yes"]:
        raise invalid([Fault("sure", "has to be `yes`: the page asks for it")])
    ended = await server.replays.replay(
        server.past, tenant, letter_id, again=form.get("again") == ["yes"]
    )
    there = Links().to(f"/letters/{part(letter_id)}", ended=ended)
    return RedirectResponse(there, 303)


VIEW = View(
    "/letters/{letter_id}", letter, "letter.html", "letter.title", "letter.about", role="admin"
)
REPLAY = Route("/letters/{letter_id}/replay", replay, Needs("admin"), "POST")
