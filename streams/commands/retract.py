"""The command `generation retract`: memory rebuilt without records that were bad."""

from datetime import date
from pathlib import Path
from typing import Any, get_args

import click

from streams import output
from streams.commands import errors, options
from streams.commands.generations import DAY, check_period
from streams.errors import ConfigurationError, UsageError

SHOWN = 60  # characters of a value


@click.command()
@options.argument("name", help="Name of the new generation.")
@options.history
@click.option("--source", metavar="NAME", help="Turns with this `source`.")
@click.option("--client", metavar="ID", type=options.ID, help="Turns of this `client_id`.")
@click.option("--session", metavar="ID", type=options.ID, help="All records of this session.")
@click.option(
    "--extractor", metavar="NAME[@VERSION]", help="Write plans of this extractor, or of a version."
)
@click.option("--tool", metavar="NAME", help="Tasks that called this tool.")
@click.option("--from", "first", type=DAY, help="First day (UTC). Default: all.")
@click.option("--to", "last", type=DAY, help="Last day (UTC). Default: all, including future days.")
@options.any_tenant
@click.option(
    "--samples",
    default=3,
    type=options.Whole(0, 1000),
    help="Values of each kind that the report shows. Default: 3.",
)
@options.yes("Build the generation.")
@options.form
@errors.reported
def retract(
    name: str,
    history: Path,
    first: date | None,
    last: date | None,
    tenant: str | None,
    samples: int,
    yes: bool,
    form: str | None,
    **filters: str | None,
) -> None:
    """Rebuild memory without bad records, and report the values that rest on them.

    Shows the report; with --yes also builds the generation. The live memory stays unchanged until
    `generation promote`. Run the same command again to continue after an interruption.

    \b
    turnfold generation retract clean --tool web_search --history memory
    turnfold generation retract clean --tool web_search --history memory --yes
    """
    from sinks.generation import LIVE, find
    from sinks.history_root import find_root
    from streams.files.extractor_choice import choice_of
    from streams.files.retraction import By, Retraction
    from streams.generations.retraction_report import report

    choices = [(by, value) for by in get_args(By) if (value := filters[by])]
    if len(choices) != 1:
        raise UsageError("give one of " + ", ".join(f"--{by}" for by in get_args(By)))
    check_period(first, last)
    ((by, value),) = choices
    retraction = Retraction(by=by, value=value, tenant=tenant, first=first, last=last)
    live = find(find_root(history), LIVE)
    choice = choice_of(live)
    if by == "extractor" and last is None and choice and value == choice.name:
        raise ConfigurationError(
            f"{value} is the extractor of new turns: give --to or {value}@VERSION, or use "
            "`generation create --extractor none`"
        )
    findings = report(live, retraction, samples)
    if not form:
        _say_report(findings)
    if findings["records"]["turns"] == findings["turns_of_history"]:
        output.note("the filter matches every turn of the history")
    receipt = _built(history, name, retraction) if yes else None
    if form:
        output.say_as(form, findings | {"receipt": receipt}, findings["memory"])
    elif receipt:
        output.say(f"receipt  {output.json_text(receipt)}")
    if yes:
        output.note(f"turnfold generation diff live {name} --history {history} says what changes")
    else:
        output.note("dry run: --yes builds the generation")


def _built(history: Path, name: str, retraction: Any) -> Any:
    from streams.files.manifest import Settings
    from streams.generations.rebuild import backfill
    from streams.output import progress_bar

    with progress_bar() as progress:
        return backfill(history, name, Settings(retracted=(retraction,)), progress).receipt


def _say_report(findings: dict[str, Any]) -> None:
    from streams.cli_tables import short

    output.say(f"retracts {findings['filter']}")
    for kind, count in findings["records"].items():
        output.say_count(kind, count)
    output.table(findings["memory"], ["kind", "values", "in_force", "gone", "other_evidence"])
    for value in findings["samples"]:
        force = "in force" if value["in_force"] else "past"
        validity = f"true {value['valid_from']} to {value['valid_to'] or 'now'}, " * bool(
            value["valid_from"]
        )
        output.say(
            f"{value['premise']}  {value['kind']}  {value['owner_id']} / {value['id']}  {force}, "
            f"{validity}learned {value['learned_at']}: {short(value['text'] or '', SHOWN)}"
        )
