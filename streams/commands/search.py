"""The command `search`: full-text and vector search in the history."""

from __future__ import annotations  # the search itself is loaded when it is run

import time
from typing import TYPE_CHECKING

import click
import msgspec

from schemas.memory_kinds import SEARCHED
from sinks.locations import Location
from streams import output
from streams.commands import errors, options
from streams.errors import UsageError

if TYPE_CHECKING:
    from streams.search import Hit, Neighbour, Page


@click.command()
@options.argument("text", required=False, help="Words to search for, in any language.")
@options.asked_history
@options.search_folder
@options.meaning
@options.tenant
@click.option("-u", "--user", type=options.ID, help="Only this user's events and states.")
@click.option("--session", type=options.ID, help="Only this session.")
@click.option(
    "--kind",
    "kinds",
    metavar="KINDS",
    help=f"Comma-separated: {', '.join(SEARCHED)}. Default: all.",
)
@click.option(
    "--from",
    "since",
    metavar="TIME",
    help="Only hits from this time on. A date means its beginning (UTC).",
)
@click.option(
    "--to", "until", metavar="TIME", help="Only hits up to this time. A date means its end (UTC)."
)
@click.option(
    "--about",
    metavar="PERIOD",
    help="Only hits that name a date in this year, month or day, or between two: 2023-05, "
    "2023-05-01..2023-05-14. Works without TEXT.",
)
@options.as_of
@click.option("--limit", type=int, default=10, show_default=True, help="Hits per page: 1 to 100.")
@click.option("--cursor", help="Cursor of the last page.")
@click.option(
    "--neighbours", type=int, default=0, help="Turns shown on each side of an event: 0 to 5."
)
@click.option("--rebuild", is_flag=True, help="Rebuild the index first. Works without TEXT.")
@options.form
@errors.reported
def search(
    text: str | None,
    history: Location,
    tenant: str,
    user: str | None,
    session: str | None,
    kinds: str | None,
    since: str | None,
    until: str | None,
    about: str | None,
    as_of: str | None,
    limit: int,
    cursor: str | None,
    neighbours: int,
    rebuild: bool,
    form: str | None,
) -> None:
    """Search events, states, preferences and session memory.

    Example: turnfold search "Where does Emma live?" --history turnfold-demo --user emma
    """
    from streams.history_documents import parse_moment
    from streams.search import Query, period, update
    from streams.search import search as find

    named = period(about)
    if text is None and not rebuild and named is None:
        raise click.UsageError("Missing argument 'TEXT'.")
    if rebuild:
        update(history, tenant, rebuild=True)
    if text is None and named is None:
        return
    if not text and named is None:
        raise UsageError("text: is empty; give words to search for")
    query = Query(
        text=text or "",
        now=time.time_ns() // 1000,
        user_id=user,
        session_id=session,
        kinds=SEARCHED if kinds is None else tuple(kinds.split(",")),
        since=parse_moment(f"{since}T00:00:00Z" if since and len(since) == 10 else since),
        until=parse_moment(until),
        as_of=parse_moment(as_of),
        limit=limit,
        cursor=cursor,
        neighbours=neighbours,
        about=named,
    )
    page = find(history, tenant, query)
    if _is_embedded(history, tenant):  # this question's index may have been built just now
        page = find(history, tenant, query)
    if form:
        output.say_as(form, page, msgspec.to_builtins(page.hits))
    else:
        _show(page)


def _is_embedded(history: Location, tenant: str) -> bool:
    """Whether new texts in the index have vectors."""
    from streams.errors import Unreachable
    from streams.search import embed

    try:
        return embed(history, tenant) > 0
    except Unreachable as error:
        from streams.search.embedding import log_fault

        log_fault(str(error))
        return False


def _show(page: Page) -> None:
    from streams.cli_tables import about_of

    for hit in page.hits:
        of = " ".join(owner_id for owner_id in (hit.session_id, hit.user_id) if owner_id)
        until = f" until {hit.valid_to[:10]}" if hit.valid_to else ""
        dated = f"{hit.at[:16]}{until}{about_of(hit.about_start, hit.about_end)}"
        output.say(f"{hit.score:.2f}  {dated}  {hit.kind}  {of}  [{hit.id}]")
        lines = {0: f"    {_marked(hit)}"} | {turn.place: _line(turn) for turn in hit.neighbours}
        for place in sorted(lines):
            click.echo(lines[place])
    if not page.hits:
        output.note("nothing in this history is about that")
    if page.cursor:
        output.note(f"more: --cursor {page.cursor}")


def _line(turn: Neighbour) -> str:
    """A neighbouring turn in one line."""
    return f"    {turn.place:+} {' '.join(output.escape_controls(turn.text).split())}"


def _marked(hit: Hit) -> str:
    """A hit's text in one line; what matched is bold in a terminal."""
    parts, last = [], 0
    for start, end in hit.matches:
        before, match = map(output.escape_controls, (hit.text[last:start], hit.text[start:end]))
        parts += [before, click.style(match, bold=True)]
        last = end
    return " ".join("".join([*parts, output.escape_controls(hit.text[last:])]).split())
