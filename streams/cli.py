"""The command line: `turnstone`. Each command is a few lines around the part that does the work.

Data goes to stdout, progress and warnings to stderr. Heavy imports are inside the commands, so
that `--help` and the reading commands start fast.
"""

import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

import typer

from sinks.root import HistoryError
from streams import output
from streams.errors import DataRefused, TurnstoneError

P = ParamSpec("P")
R = TypeVar("R")
SHOWN = 1000  # rows of a table for people

app = typer.Typer(
    name="turnstone",
    help="Turns the events of a chat platform into memory, and tells what, why and as of when.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
dlq = typer.Typer(
    help="Records that could not be applied, with their reasons.", no_args_is_help=True
)
app.add_typer(dlq, name="dlq")

History = Annotated[
    Path,
    typer.Option("--history", envvar="TURNSTONE_HISTORY", help="The history's folder."),
]
Tenant = Annotated[str, typer.Option(help="Whose rows.")]
AnyTenant = Annotated[str | None, typer.Option("--tenant", help="Whose rows; default all.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document for programs.")]
AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="What was true then; a bare date means its end."),
]
KnownAt = Annotated[
    str | None,
    typer.Option("--known-at", metavar="TIME", help="Only what had been learnt by then."),
]


def _command(function: Callable[P, R]) -> Callable[P, R]:
    """Turns the errors of design 03 into one line on stderr and their exit code."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (TurnstoneError, HistoryError) as error:
            output.note(f"turnstone: {error}")
            raise typer.Exit(error.exit_code) from None
        except BrokenPipeError:
            sys.stderr.close()  # the reader of our output has gone: nothing to say to it
            raise typer.Exit(0) from None
        except KeyboardInterrupt:
            output.note("turnstone: interrupted; what was committed stands, run again to go on")
            raise typer.Exit(130) from None

    return wrapped


def _now() -> int:
    return time.time_ns() // 1000


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        output.say(f"turnstone {version('turnstone')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_say_version, is_eager=True),
    ] = False,
) -> None:
    pass  # without a command there is nothing to do; typer then shows the help


# --- making memory ----------------------------------------------------------------------------


@app.command()
@_command
def run(
    files: Annotated[list[str], typer.Argument(help="NDJSON, .gz, .parquet, or - for stdin.")],
    history: History,
    extractor: Annotated[
        Literal["none"], typer.Option(help="How to find memory in turns; none: as the records say.")
    ] = "none",
    retention_days: Annotated[
        float | None, typer.Option(help="Drop sessions idle for longer; default: keep all.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Exit 4 if a record was refused.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fold files of input records into a history.

    A second run of the same file goes on where the first ended; killed at any moment, a run
    started again goes on exactly once.

    Example: turnstone run turns.ndjson.gz --history memory
    """
    from streams.progress import progress_bar
    from streams.runtime import local

    with progress_bar() as progress:
        try:
            counts = local.run(files, history, retention_days=retention_days, progress=progress)
        except local.Truncated as error:
            _say_counts(error.counts, as_json)
            raise
    _say_counts(counts, as_json)
    if counts["dead"]:
        output.note(
            f"{counts['dead']} records were refused: turnstone dlq list --history {history}"
        )
        if strict:
            raise typer.Exit(4)


def _say_counts(counts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        output.say(output.json_text(counts, indent=0))
        return
    warnings = counts["warnings"]
    for name, value in counts.items():
        if name != "warnings" and (value or name != "after_retention"):
            output.say(f"{name:>15}  {value:,}" if name != "seconds" else f"{name:>15}  {value}")
    for name, value in warnings.items():
        output.note(f"warning: {name.replace('_', ' ')}: {value}")


@app.command("import")
@_command
def import_(
    format: Annotated[str, typer.Argument(help="openai-chat, chatgpt-export or langgraph.")],
    file: Annotated[Path, typer.Argument(help="The file to read.")],
) -> None:
    """Turn foreign data into input records, one JSON object a line.

    Example: turnstone import openai-chat chats.jsonl | turnstone run - --history memory
    """
    import msgspec

    from streams.importers import ImportFault, Skipped, convert

    skipped = Skipped()
    encode = msgspec.json.Encoder().encode
    try:
        for record in convert(format, file, skipped):
            sys.stdout.buffer.write(encode(record) + b"\n")
        sys.stdout.buffer.flush()
    except ImportFault as error:
        raise DataRefused(str(error)) from None
    for reason, count in skipped.items():
        output.note(f"left out: {reason}: {count}")


@app.command()
@_command
def demo(
    history: Annotated[Path, typer.Option(help="Where the demo's history goes.")] = Path(
        "turnstone-demo"
    ),
) -> None:
    """Fold the sample conversations that ship with Turnstone, and show what they left behind."""
    from streams.demo import show

    show(history)


# --- asking -----------------------------------------------------------------------------------


@app.command()
@_command
def sql(
    query: Annotated[str, typer.Argument(help="A SELECT over the tables and views.")],
    history: History,
    format: Annotated[Literal["table", "json", "csv"], typer.Option()] = "table",
    tenant: AnyTenant = None,
    as_json: AsJson = False,
) -> None:
    """Ask the history in SQL (DuckDB), read-only.

    Example: turnstone sql --history memory "SELECT intent, count(*) FROM events GROUP BY ALL"
    """
    from sinks.history import query as ask

    found = ask(history, query, tenant)
    if as_json or format == "json":
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


@app.command()
@_command
def session(
    session_id: str, history: History, as_of: AsOf = None, tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """A session: its document and context, now or as of a time.

    Example: turnstone session emma-1 --history turnstone-demo --as-of 2026-03-05
    """
    from streams import people, reading

    moment = reading.parse_moment(as_of)
    document = reading.session(history, tenant, session_id, moment, _now())
    output.say_json(document) if as_json else people.session(document)


@app.command()
@_command
def task(
    task_id: str, history: History,
    session: Annotated[str | None, typer.Option(help="Which session's.")] = None,
    tenant: Tenant = "default", as_json: AsJson = False,
) -> None:  # fmt: skip
    """A task: plan, recursions, tool results and where it stands."""
    from streams import people, reading

    document = reading.task(history, tenant, task_id, session)
    output.say_json(document) if as_json else people.task(document)


@app.command()
@_command
def user(
    user_id: str, history: History, as_of: AsOf = None, tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """A user: profile, what is held true, preferences and mood."""
    from streams import people, reading

    moment = reading.parse_moment(as_of) or _now()
    found = reading.user(history, tenant, user_id, moment)
    output.say_json(found) if as_json else people.user(found)


@app.command()
@_command
def state(
    history: History,
    user: Annotated[str | None, typer.Option("--user", help="Whose; default everybody's.")] = None,
    as_of: AsOf = None, known_at: KnownAt = None, tenant: Tenant = "default",
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """What is held true, as of a time and as known at another.

    Example: turnstone state --history turnstone-demo --user emma --as-of 2026-03-05
    """
    from streams import people, reading

    moment = reading.parse_moment(as_of) or _now()
    found = reading.states(history, tenant, user, moment, reading.parse_moment(known_at))
    if as_json:
        output.say_json(found)
    else:
        people.states(found)


@app.command()
@_command
def why(
    entity_id: str, history: History, tenant: Tenant = "default", as_json: AsJson = False
) -> None:
    """Why something is as it is: its revisions, before and after, with their evidence."""
    from streams import people, reading

    found = reading.why(history, tenant, entity_id)
    output.say_json(found) if as_json else people.why(found)


@app.command()
@_command
def timeline(
    key: Annotated[str, typer.Argument(help="A session's or a user's id.")],
    history: History, tenant: Tenant = "default", as_json: AsJson = False,
) -> None:  # fmt: skip
    """The turns of a session or user in order."""
    from streams import people, reading

    found = reading.timeline(history, tenant, key)
    output.say_json(found) if as_json else people.timeline(found)


# --- operating --------------------------------------------------------------------------------


@app.command()
@_command
def digest(history: History, tenant: AnyTenant = None, as_json: AsJson = False) -> None:
    """Hashes of what is remembered and of what was logged: equal memory, equal hash."""
    from sinks.digest import digest as of

    found = of(history, tenant)
    if as_json:
        output.say_json(found)
    else:
        output.say(f"memory  {found['memory']}")
        output.say(f"log     {found['log']}")


@app.command()
@_command
def catalog(
    file: Path, history: History, tenant: AnyTenant = None, as_json: AsJson = False
) -> None:
    """Write the views into a DuckDB database, for any DuckDB client."""
    from sinks.history import catalog as write

    write(history, file, tenant)
    if as_json:
        output.say_json({"file": str(file.absolute())})
    else:
        output.say(f"{file}: run this again when the history has grown")


@app.command()
@_command
def compact(history: History, as_json: AsJson = False) -> None:
    """Merge small files, and keep of the documents the newest a key and day."""
    from streams.runtime.operate import compact as merge

    done = merge(history)
    output.say_json(done) if as_json else output.table(
        [{"table": name, **row} for name, row in done.items()],
        ["table", *next(iter(done.values()), {})],
    )


@app.command()
@_command
def forget(
    user_id: str, history: History, tenant: Tenant = "default",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Erase a person from the history and from the fold's tables. Prints a receipt."""
    from streams.runtime.operate import forget as erase

    if not yes:
        typer.confirm(f"Erase {user_id} of tenant {tenant} for good?", abort=True, err=True)
    receipt = erase(history, tenant, user_id)
    output.say_json(receipt) if as_json else output.say(output.json_text(receipt))


@app.command()
@_command
def topology(
    format: Annotated[Literal["mermaid", "json"], typer.Option()] = "mermaid",
    as_json: AsJson = False,
) -> None:
    """What flows where: topics, agents, tables."""
    from streams.topology_render import as_json as render_json
    from streams.topology_render import mermaid

    output.say_json(render_json()) if as_json or format == "json" else output.say(mermaid())


@app.command()
@_command
def schema(
    format: Annotated[Literal["asyncapi", "jsonschema"], typer.Option()] = "asyncapi",
    as_json: AsJson = False,
) -> None:
    """The AsyncAPI document, or the JSON Schema of every record, row and reply."""
    from schemas.export import json_schemas
    from streams.asyncapi import asyncapi

    output.say_json(asyncapi() if format == "asyncapi" else json_schemas())


@dlq.command("list")
@_command
def dlq_list(
    history: History,
    reason: Annotated[str | None, typer.Option(help="Only this reason.")] = None,
    tenant: AnyTenant = None,
    as_json: AsJson = False,
) -> None:
    """The dead letters: where they stood and what was wrong."""
    from streams import reading

    found = reading.dead_letters(history, tenant, reason)
    if as_json:
        output.say_json(found)
    else:
        output.table(found, ["id", "reason", "detail", "bytes"])


@dlq.command("show")
@_command
def dlq_show(
    letter: Annotated[str, typer.Argument(help="The id that `dlq list` shows.")],
    history: History,
    tenant: AnyTenant = None,
    as_json: AsJson = False,
) -> None:
    """One dead letter with its original bytes."""
    from streams import reading

    found = reading.dead_letter(history, tenant, letter)
    if as_json:
        output.say_json(found)
        return
    for name in ("src_topic", "src_offset", "reason", "detail", "key"):
        output.say(f"{name:>12}  {found[name]}")
    output.say(str(found["payload"]))


def main() -> None:
    """The entry point of the `turnstone` script."""
    app()


if __name__ == "__main__":
    main()
