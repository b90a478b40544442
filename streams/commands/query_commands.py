"""Commands that ask a history: `sql`, `session`, `task`, `user`, `state`, `why`, `timeline`."""

import sys
import time

import click

from sinks.locations import Location
from streams import output
from streams.commands import options

SHOWN = 1000  # rows of a table for people


def asked_at(as_of: str | None) -> int:
    """The time asked about, in microseconds; without one, now."""
    from streams import reading

    moment = reading.parse_moment(as_of)
    return _now() if moment is None else moment


def _now() -> int:
    return time.time_ns() // 1000


@click.command()
@options.argument("query", help="A SELECT over the tables and views.")
@options.asked_history
@click.option(
    "--format",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    help="Form of the result. Default: table.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Run the query and print what it has read, instead of its result.",
)
@options.any_tenant
@options.as_json
@options.fails_in_a_line
def sql(
    query: str, history: Location, format: str, explain: bool, tenant: str | None, as_json: bool
) -> None:
    """Query the history in SQL (DuckDB), read-only.

    Example: turnfold sql --history memory "SELECT intent, count(*) FROM events GROUP BY ALL"
    """
    from sinks.history import query as ask

    rules = options.rules_of(history)
    found = ask(history, query, tenant, rules.max_iteration, profiled=explain)
    if found.reading is not None:
        _say_read(found.reading._asdict() | {"rows": len(found.rows)}, as_json or format == "json")
    elif as_json or format == "json":
        output.say_json(found.objects())
    elif format == "csv":
        import csv

        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(found.names)
        writer.writerows(found.rows)
    else:
        output.table(found.objects()[:SHOWN], found.names)
        if len(found.rows) > SHOWN:
            output.note(f"the first {SHOWN:,} of {len(found.rows):,} rows; --format csv gives all")


def _say_read(read: dict[str, int], as_json: bool) -> None:
    if as_json:
        output.say_json(read)
        return
    output.say(f"files        {read['files']:,} of {read['of']:,}")
    output.say(f"bytes read   {read['bytes']:,}")
    if read["requests"]:
        output.say(f"requests     {read['requests']:,}")
    output.say(f"rows found   {read['rows']:,}")


@click.command()
@options.argument("session_id", help="Id of the session.")
@options.asked_history
@options.as_of
@options.tenant
@options.as_json
@options.fails_in_a_line
def session(
    session_id: str, history: Location, as_of: str | None, tenant: str, as_json: bool
) -> None:
    """Show a session: document and context, now or as of a time.

    Example: turnfold session emma-move --history turnfold-demo --as-of 2026-03-05
    """
    from streams import reading, text_output

    moment = reading.parse_moment(as_of)
    document = reading.session(history, tenant, session_id, moment, _now())
    output.say_json(document) if as_json else text_output.session(document)


@click.command()
@options.argument("task_id", help="Id of the task.")
@options.asked_history
@click.option(
    "--session", help="Session of the task; needed if several sessions have a task of this id."
)
@options.tenant
@options.as_json
@options.fails_in_a_line
def task(task_id: str, history: Location, session: str | None, tenant: str, as_json: bool) -> None:
    """Show a task: plan, recursions, tool results and status."""
    from streams import reading, text_output

    document = reading.task(history, tenant, task_id, session)
    output.say_json(document) if as_json else text_output.task(document)


@click.command()
@options.argument("user_id", help="Id of the user.")
@options.asked_history
@options.as_of
@options.tenant
@options.as_json
@options.fails_in_a_line
def user(user_id: str, history: Location, as_of: str | None, tenant: str, as_json: bool) -> None:
    """Show a user: profile, states, preferences and mood."""
    from streams import reading, text_output

    found = reading.user(history, tenant, user_id, reading.parse_moment(as_of))
    output.say_json(found) if as_json else text_output.user(found)


@click.command()
@options.asked_history
@click.option("--user", help="Only this user. Default: all.")
@options.as_of
@options.known_at
@options.tenant
@options.as_json
@options.fails_in_a_line
def state(
    history: Location,
    user: str | None,
    as_of: str | None,
    known_at: str | None,
    tenant: str,
    as_json: bool,
) -> None:
    """Show states as of a time, as known at another time.

    Example: turnfold state --history turnfold-demo --user emma --as-of 2026-03-05
    """
    from streams import reading, text_output

    moment = asked_at(as_of)
    found = reading.states(history, tenant, user, moment, reading.parse_moment(known_at))
    output.say_json(found) if as_json else text_output.states(found)
    if not found and not as_json:
        output.note(f"nothing was held true of {user or 'anybody'} then")


@click.command()
@options.argument(
    "entity_id",
    help="Id of a state, preference, session, session memory item, link or thread.",
)
@options.asked_history
@options.tenant
@options.as_json
@options.fails_in_a_line
def why(entity_id: str, history: Location, tenant: str, as_json: bool) -> None:
    """Show how an entity changed, why, and by what evidence.

    Example: turnfold why s:4f41c0c6d6 --history turnfold-demo
    """
    from streams import listing, text_output

    found = listing.why(history, tenant, entity_id)
    output.say_json(found) if as_json else text_output.why(found)


@click.command()
@options.argument("key", help="Id of a session or user.")
@options.asked_history
@options.tenant
@options.as_json
@options.fails_in_a_line
def timeline(key: str, history: Location, tenant: str, as_json: bool) -> None:
    """List the turns of a session or user in order."""
    from streams import listing, text_output

    found = listing.timeline(history, tenant, key)
    output.say_json(found) if as_json else text_output.timeline(found)
