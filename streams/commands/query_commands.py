"""Commands that query a history: `sql`, `session`, `task`, `user`, `state`, `why`, `timeline`."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from sinks.locations import Location
from streams import output
from streams.commands import errors, options

if TYPE_CHECKING:
    from sinks.history import Result

SHOWN = 1000  # rows of a table for people


def asked_at(as_of: str | None) -> int:
    """The requested time in microseconds; default: now."""
    from streams import history_documents

    moment = history_documents.parse_moment(as_of)
    return _now() if moment is None else moment


def _now() -> int:
    return time.time_ns() // 1000


@click.command()
@options.argument(
    "query",
    required=False,
    help="A SELECT over the tables and views. Without it queries are read from stdin: a shell.",
)
@options.asked_history
@click.option(
    "--explain",
    is_flag=True,
    help="Run the query and print what it has read, instead of its result.",
)
@options.any_tenant
@options.form
@errors.reported
def sql(query: str, history: Location, explain: bool, tenant: str | None, form: str | None) -> None:
    """Query the history in SQL (DuckDB), read-only.

    A missing QUERY opens a shell: a query ends with `;`, Ctrl-D ends the shell, and a pipe may give
    several queries. `SHOW TABLES;` lists the tables and views.

    \b
    turnfold sql --history memory "SELECT intent, count(*) FROM events GROUP BY ALL"
    turnfold sql --history memory < queries.sql
    """
    from sinks.history import query as ask

    rules = options.rules_of(history)

    def answer(text: str) -> None:
        _show_rows(ask(history, text, tenant, rules.max_iteration, profiled=explain), form)

    answer(query) if query is not None else _shell(answer)


def _show_rows(result: "Result", form: str | None) -> None:
    if result.reading is not None:
        _say_read(result.reading._asdict() | {"rows": len(result.rows)}, form)
    elif form == "csv":
        output.say_csv(result.names, result.rows)
    elif form:
        output.say_as(form, result.objects())
    else:
        output.table(result.objects()[:SHOWN], result.names)
        if len(result.rows) > SHOWN:
            output.note(f"the first {SHOWN:,} of {len(result.rows):,} rows; -o csv gives all")


def _shell(answer: Callable[[str], None]) -> None:
    """Answers the queries on stdin. At a terminal an error ends only its query."""
    from sinks.history_root import HistoryError

    is_terminal = sys.stdin.isatty()
    if is_terminal:
        with suppress(ImportError):  # for input(): it edits lines and keeps them
            import readline  # noqa: F401
        output.note("read-only; a query ends with ; SHOW TABLES; lists the views; Ctrl-D ends")
    lines: list[str] = []
    while (line := _line(lines, is_terminal)) is not None:
        lines.append(line)
        if not line.rstrip().endswith(";"):
            continue
        try:
            answer("\n".join(lines))
        except HistoryError as error:
            if not is_terminal:
                raise
            output.fail(str(error))
        lines.clear()
    if "".join(lines).strip():
        answer("\n".join(lines))


def _line(before: list[str], is_terminal: bool) -> str | None:
    """The next line of a query, or None at the end. Ctrl-C at a terminal drops the lines before."""
    while True:
        prompt = ("    ...> " if before else "turnfold> ") if is_terminal else ""
        try:
            return input(prompt)
        except EOFError:
            return None
        except KeyboardInterrupt:
            if not is_terminal:
                raise
            before.clear()
            output.note("")


def _say_read(counts: dict[str, int], form: str | None) -> None:
    if form:
        output.say_as(form, counts)
        return
    output.say(f"files        {counts['files']:,} of {counts['of']:,}")
    output.say(f"bytes read   {counts['bytes']:,}")
    if counts["requests"]:
        output.say(f"requests     {counts['requests']:,}")
    output.say(f"rows found   {counts['rows']:,}")


@click.command()
@options.argument("session_id", type=options.ID, help="Id of the session.")
@options.asked_history
@options.as_of
@options.tenant
@options.form
@errors.reported
def session(
    session_id: str, history: Location, as_of: str | None, tenant: str, form: str | None
) -> None:
    """Show a session: document and context, now or as of a time.

    Example: turnfold show session emma-move --history turnfold-demo --as-of 2026-03-05
    """
    from streams import cli_tables, history_documents

    moment = history_documents.parse_moment(as_of)
    document = history_documents.session(history, tenant, session_id, moment, _now())
    output.say_as(form, document) if form else cli_tables.session(document)


@click.command()
@options.argument("task_id", type=options.ID, help="Id of the task.")
@options.asked_history
@click.option(
    "--session",
    type=options.ID,
    help="Session of the task; needed if several sessions have a task of this id.",
)
@options.tenant
@options.form
@errors.reported
def task(
    task_id: str, history: Location, session: str | None, tenant: str, form: str | None
) -> None:
    """Show a task: plan, recursions, tool results and status."""
    from streams import cli_tables, history_documents

    document = history_documents.task(history, tenant, task_id, session)
    output.say_as(form, document) if form else cli_tables.task(document)


@click.command()
@options.argument("user_id", type=options.ID, help="Id of the user.")
@options.asked_history
@options.as_of
@options.tenant
@options.form
@errors.reported
def user(user_id: str, history: Location, as_of: str | None, tenant: str, form: str | None) -> None:
    """Show a user: profile, states, preferences and mood."""
    from streams import cli_tables, history_documents

    document = history_documents.user(
        history, tenant, user_id, history_documents.parse_moment(as_of)
    )
    output.say_as(form, document) if form else cli_tables.user(document)


@click.command()
@options.asked_history
@click.option("-u", "--user", type=options.ID, help="Only this user. Default: all.")
@options.as_of
@options.known_at
@options.tenant
@options.form
@errors.reported
def state(
    history: Location,
    user: str | None,
    as_of: str | None,
    known_at: str | None,
    tenant: str,
    form: str | None,
) -> None:
    """Show states as of a time, as known at another time.

    Example: turnfold show state --history turnfold-demo --user emma --as-of 2026-03-05
    """
    from streams import cli_tables, history_documents

    moment = asked_at(as_of)
    states = history_documents.states(
        history, tenant, user, moment, history_documents.parse_moment(known_at)
    )
    output.say_as(form, states) if form else cli_tables.states(states)
    if not states and not form:
        output.note(f"nothing was held true of {user or 'anybody'} then")


@click.command()
@options.argument(
    "entity_id",
    type=options.ENTITY_ID,
    help="Id of a state, preference, session, session memory item, link or thread.",
)
@options.asked_history
@options.tenant
@options.form
@errors.reported
def why(entity_id: str, history: Location, tenant: str, form: str | None) -> None:
    """Show how an entity changed, why, and by what evidence.

    Example: turnfold why s:4f41c0c6d6 --history turnfold-demo
    """
    from streams import cli_tables, history_lists

    revisions = history_lists.why(history, tenant, entity_id)
    output.say_as(form, revisions) if form else cli_tables.why(revisions)


@click.command()
@options.argument("key", type=options.ID, help="Id of a session or user.")
@options.asked_history
@options.tenant
@options.form
@errors.reported
def timeline(key: str, history: Location, tenant: str, form: str | None) -> None:
    """List the turns of a session or user in order."""
    from streams import cli_tables, history_lists

    turns = history_lists.timeline(history, tenant, key)
    output.say_as(form, turns) if form else cli_tables.timeline(turns)
