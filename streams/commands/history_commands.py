"""Commands that look after a history: `digest`, `catalog`, `compact`, `forget`, `export`."""

import sys
from pathlib import Path

import click

from sinks.locations import Location
from streams import output
from streams.commands import errors, options
from streams.errors import DataRefused, UsageError


@click.command()
@options.asked_history
@options.any_tenant
@options.form
@errors.reported
def digest(history: Location, tenant: str | None, form: str | None) -> None:
    """Print a hash of the memory and one of the log.

    To compare histories: equal memory has equal hashes, whichever way it was made.
    """
    from sinks.digest import digest as of

    digests = of(history, tenant, options.rules_of(history).max_iteration)
    if form:
        output.say_as(form, digests)
    else:
        output.say(f"memory  {digests['memory']}")
        output.say(f"log     {digests['log']}")


@click.command()
@options.argument("file", type=options.FOLDER, help="DuckDB file to write.")
@options.asked_history
@options.any_tenant
@options.form
@errors.reported
def catalog(file: Path, history: Location, tenant: str | None, form: str | None) -> None:
    """Write the views into a DuckDB file, for other DuckDB clients."""
    from sinks.history import catalog as write

    write(history, file, tenant, options.rules_of(history).max_iteration)
    if form:
        output.say_as(form, {"file": str(file.absolute())})
    else:
        output.say(f"{file}: written; run this again when the history has grown")


@click.command()
@options.located_history
@options.form
@errors.reported
def compact(history: Location, form: str | None) -> None:
    """Merge small files into larger ones.

    Keeps only the newest session, task and profile document per key and day. Run it daily for
    histories with many writes.
    """
    from streams.apps.compact_and_forget import compact as merge

    report = merge(history)
    rows = [{"table": name, **row} for name, row in report.items()]
    if form:
        output.say_as(form, report, rows)
    else:
        output.table(rows, ["table", *next(iter(report.values()), {})])


@click.command()
@options.argument("user_id", type=options.ID, required=False, help="Id of the user to erase.")
@click.option(
    "--session", metavar="ID", type=options.ID, help="Instead of a user: a session to erase."
)
@click.option(
    "--turn", metavar="ID", type=options.ID, help="Of --session only this turn: its event id."
)
@options.located_history
@options.tenant
@options.yes("Erase.")
@options.form
@errors.reported
def forget(
    user_id: str | None,
    session: str | None,
    turn: str | None,
    history: Location,
    tenant: str,
    yes: bool,
    form: str | None,
) -> None:
    """Erase a user, a session or a turn from all of a history.

    Shows what would be erased; with --yes erases it and prints a receipt: the number of rows erased
    from each table. A server of this history may be running. To keep a copy of a user, call
    `turnfold export` before.
    Memory of the other turns and users is rebuilt as if the session or turn had never been.

    \b
    turnfold forget emma --history memory                  # shows what would be erased
    turnfold forget emma --history memory --yes
    turnfold forget --session emma-move --turn emma-move-3 --history memory --yes
    """
    from streams.apps.compact_and_forget import forget as erase
    from streams.apps.forget_session import forget_session

    if (user_id is None) == (session is None):
        raise UsageError("give the id of a user, or --session ID, one of them")
    if turn is not None and session is None:
        raise UsageError("--turn needs --session ID: turns have ids that are unique in a session")
    if session is None:
        subject = f"user {user_id}"
    else:
        subject = f"session {session}" if turn is None else f"turn {turn} of session {session}"
    if not isinstance(history, Path) and session is not None:
        raise UsageError(f"{history}: in an object store only a user can be erased")
    if not yes:
        turns = _turns(history, tenant, user_id, session, turn)
        if form:
            output.say_as(
                form, {"erased": False, "what": subject, "tenant": tenant, "turns": turns}
            )
        else:
            output.say(
                f"{subject} of tenant {tenant}: {output.counted(turns, 'turn')}, and all memory "
                "made of them"
            )
            output.note("nothing is erased yet: --yes erases this permanently")
        return
    if session is not None and isinstance(history, Path):
        receipt = forget_session(history, tenant, session, turn)
    else:
        receipt = erase(history, tenant, user_id or "")
    if not any(table["erased"] for table in receipt["tables"].values()):
        output.note(f"nothing of {subject} (tenant {tenant}) was found: nothing was erased")
    output.say_as(form, receipt) if form else output.say(output.json_text(receipt))


@click.command()
@options.argument("user_id", type=options.ID, required=False, help="Id of the user.")
@click.option(
    "--records",
    is_flag=True,
    help="Instead of a user: every input record, as `run` and `produce` read them.",
)
@options.asked_history
@click.option("--tenant", type=options.TENANT, help="Tenant. Default: default; with --records all.")
@errors.reported
def export(user_id: str | None, records: bool, history: Location, tenant: str | None) -> None:
    """Export all data of a user (JSON Lines).

    A session with other users contributes only this user's turns and their answers.
    docs/erasure.md describes each line. `turnfold import turnfold FILE` converts the archive into
    input records for another history. Exit code 4 for an unknown user.

    \b
    turnfold export emma --history turnfold-demo > emma.jsonl
    turnfold export --records --history memory | turnfold kafka produce - --bootstrap new:9092
    """
    from streams.apps import export_person
    from streams.pipeline.fast_decode import TENANT

    if (user_id is None) != records:
        raise UsageError("give the id of a user, or --records for every record of the history")
    if user_id is None:
        lines = export_person.records(history, tenant)
    else:
        lines = export_person.export(history, tenant or TENANT, user_id)
    count = 0
    for line in lines:
        sys.stdout.buffer.write(line)
        count += 1
    sys.stdout.buffer.flush()
    if not count and user_id is not None:
        raise DataRefused(f"nothing of {user_id!r} (tenant {tenant or TENANT}) is in this history")


def _turns(
    history: Location, tenant: str, user_id: str | None, session: str | None, turn: str | None
) -> int:
    """How many turns of the tenant an erasure concerns."""
    from sinks.history import connect

    ids = {"user_id": user_id, "session_id": session, "event_id": turn}
    named = {column: value for column, value in ids.items() if value is not None}
    where = " AND ".join(f"{column} = ?" for column in named)
    with connect(history, tenant=tenant, views=["events"]) as db:
        turns = db.execute(f"SELECT count(*) FROM events WHERE {where}", [*named.values()])
        ((count,),) = turns.fetchall()
    return int(count)
