"""Views: the generations of a history; differences from the live one; promotion.

They use the functions of the commands `generation list`, `diff`, `promote` and `rollback`. A
generation contains all tenants' memory, so these views need a key of all tenants; differences are
shown for one tenant.
"""

import asyncio
from typing import Annotated, Any

from fastapi import Path as InPath
from fastapi import Query
from starlette.requests import Request

from schemas.time import format_time
from sinks import diff as comparing
from sinks.generation import LIVE, find, resolve
from sinks.history_root import HistoryError, find_root, is_marked
from sinks.locations import Location
from streams.errors import TurnfoldError
from streams.generations import promotion
from streams.point_in_time import text_of
from streams.serving.http.problems import Problem, no_history, not_found
from streams.serving.http.route import serving, tenant_of
from streams.serving.inspector.api_calls import Json
from streams.serving.inspector.text_diff import diff
from streams.serving.inspector.view import View

SAMPLES, OF_ONE_KIND = 2, 50
"""How many are shown of each kind and change, and of the kind that was chosen."""
SECONDS = 60.0
"""How long two generations may take to be compared."""
HELD = ("state", "preference", "session_memory", "mood", "affect")
CHANGES = ("added", "gone", "changed")
ENTITIES = ("state_id", "preference_id", "item_id")
"""Fields of a key that name an independent entity."""
OWNERS = ("owner_id", "user_id")
TEXTS = ("body_text", "decision", "content", "subject", "text")
"""Fields that describe a document; the first present one counts."""
BONDS = ("link", "thread")
"""Kinds described by their key alone: which turns belong together."""

Generation = Annotated[str, InPath(max_length=64, description="Name of the generation.")]
Against = Annotated[str, Query(max_length=64, description="The generation it is compared with.")]
Kind = Annotated[str | None, Query(max_length=200, description="Only this kind of memory.")]


async def generations(request: Request) -> Json:
    """All generations: origin, size, which one is live."""
    root = _root(request)
    listed = await asyncio.to_thread(promotion.list_generations, root) if is_marked(root) else []
    return {"generations": [_timed(generation) for generation in listed], "missing": []}


async def difference(
    request: Request, generation: Generation, against: Against = LIVE, kind: Kind = None
) -> Json:
    """Differences by kind, with samples."""
    tenant, (root, name) = tenant_of(request), _named(request, generation)
    _, other_name = _named(request, against)

    def compared(_: Location) -> Json:
        most = SAMPLES if kind is None else OF_ONE_KIND
        return comparing.diff(
            find(root, other_name), find(root, name), samples=most, tenant=tenant, kind=kind
        )

    server = serving(request)
    report = await server.past.ask("generation", tenant, compared, seconds=SECONDS)
    roles = {
        listed["name"]: listed["role"]
        for listed in await asyncio.to_thread(promotion.list_generations, root)
    }
    return {
        "generation": name,
        "role": roles.get(name, ""),
        "against": other_name,
        "against_role": roles.get(other_name, ""),
        "kind": kind,
        "kinds": [
            {**counts, "changes": sum(counts[by] for by in CHANGES)}
            for counts in sorted(report["kinds"], key=_first_what_is_held)
        ],
        "samples": [
            sampled(sample) for sample in sorted(report["samples"], key=_first_what_is_held)
        ],
        "missing": [],
    }


async def promote(request: Request, generation: Generation) -> Json:
    """The effect of a promotion; none for the live generation."""
    root, name = _named(request, generation)
    listed = await asyncio.to_thread(promotion.list_generations, root)
    by_name = {row["name"]: row for row in listed}
    live = next(row for row in listed if row["role"] == "live")
    chosen = by_name[name]
    will = None
    if chosen is not live:
        will = {"live": name, "before": live["name"], "extractor": chosen["extractor"]}
    return {
        "generation": _timed(chosen),
        "live": _timed(live),
        "is_rollback": chosen["role"] == "previous",
        "will": will,
        "missing": [],
    }


async def act(request: Request, answer: Json) -> str:
    """Returns the list, where it is live."""
    try:
        name = answer["will"]["live"]
        await asyncio.to_thread(promotion.promote, _root(request), name)
    except (HistoryError, TurnfoldError) as error:
        raise Problem(409, "Not promoted", str(error)) from None
    return "/generations"


def _first_what_is_held(row: Json) -> tuple[bool, int]:
    """Sorts memory before links and threads; otherwise the order is unchanged."""
    family = row["kind"].partition("/")[0]
    return family not in HELD, HELD.index(family) if family in HELD else 0


def _root(request: Request) -> Location:
    """The history's root. Raises Problem without one."""
    root = serving(request).backend.history
    if root is None:
        raise no_history("generations")
    return root


def _named(request: Request, name: str) -> tuple[Location, str]:
    """The history's root, and a generation's name. Raises Problem if it is unknown."""
    try:
        root = find_root(_root(request))
        own_name = resolve(root, name)
        find(root, own_name)
    except HistoryError:
        raise not_found("generation") from None
    return root, own_name


def _timed(generation: Json) -> Json:
    times: dict[str, Any] = {
        name: None if generation[name] is None else format_time(generation[name])
        for name in ("started_at", "ended_at")
    }
    return {**generation, **times}


# --- samples of differences (`sinks.diff`) ----------------------------------------------------


def sampled(sample: Json) -> Json:
    """Adds `diff` (of the texts), `fields` (other differences) and the owner."""
    key, before, after = sample["key"], sample["before"], sample["after"]
    text_field = next((name for name in TEXTS if (before or after).get(name)), None)
    texts = [str((side or {}).get(text_field) or "") for side in (before, after)]
    family = sample["kind"].partition("/")[0]
    if family in BONDS:
        texts = [text_of(family, side and key) or "" for side in (before, after)]
    return {
        **sample,
        "entity_id": next((key[name] for name in ENTITIES if key.get(name)), None),
        "user_id": next((key[name] for name in OWNERS if key.get(name)), None),
        "session_id": key.get("session_id") or None,
        "diff": diff(*texts),
        "fields": _fields(before or {}, after or {}, text_field),
    }


def _fields(before: Json, after: Json, text_field: str | None) -> list[Json]:
    """Differences besides the text and the evidence, which is quoted; without empty values."""
    names = (name for name in {**before, **after} if name not in (text_field, "evidence_event_ids"))
    return [
        {"name": name, "before": before.get(name), "after": after.get(name)}
        for name in names
        if before.get(name) != after.get(name)
        and any(side.get(name) not in (None, "", [], {}) for side in (before, after))
    ]


VIEW = View(
    "/generations", generations, "generations.html", "generations.title", "generations.about",
    menu=True, role="admin", of_all=True,
)  # fmt: skip
DIFFERENCE = View(
    "/generations/{generation}", difference, "difference.html", "difference.title",
    "difference.about", role="admin", of_all=True,
)  # fmt: skip
PROMOTE = View(
    "/generations/{generation}/promote", promote, "promote.html", "promote.title",
    "promote.about", role="admin", of_all=True, act=act,
)  # fmt: skip
