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
from streams.serving.http.problems import Problem, no_history, not_found
from streams.serving.http.route import serving, tenant_of
from streams.serving.inspector.api_calls import Json
from streams.serving.inspector.diff_sample import sampled
from streams.serving.inspector.view import View

SAMPLES, OF_ONE_KIND = 2, 50
"""How many are shown of each kind and change, and of the kind that was chosen."""
SECONDS = 60.0
"""How long two generations may take to be compared."""
HELD = ("state", "preference", "session_memory", "mood", "affect")
CHANGES = ("added", "gone", "changed")

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
