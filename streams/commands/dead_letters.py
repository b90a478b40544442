"""The commands `dlq list`, `dlq show` and `dlq replay`."""

from pathlib import Path

import click

from streams import output
from streams.commands import options
from streams.commands.kafka import replay


@click.group(no_args_is_help=True)
def dlq() -> None:
    """Records that could not be applied, with their reasons."""


@dlq.command("list")
@options.asked_history
@click.option("--reason", help="Only this reason.")
@options.any_tenant
@options.as_json
@options.fails_in_a_line
def dlq_list(history: Path, reason: str | None, tenant: str | None, as_json: bool) -> None:
    """The dead letters: where they stood and what was wrong."""
    from streams import reading

    found = reading.dead_letters(history, tenant, reason)
    if as_json:
        output.say_json(found)
    elif found:
        output.table(found, ["id", "reason", "detail", "bytes"])
    else:
        output.note("no dead letters")


@dlq.command("show")
@options.argument("letter", help="The id that `dlq list` shows.")
@options.asked_history
@options.any_tenant
@options.as_json
@options.fails_in_a_line
def dlq_show(letter: str, history: Path, tenant: str | None, as_json: bool) -> None:
    """One dead letter with its original bytes."""
    from streams import reading

    found = reading.dead_letter(history, tenant, letter)
    found["payload"] = found["payload"].decode("utf-8", "backslashreplace")
    if as_json:
        output.say_json(found)
        return
    for name in ("src_topic", "src_partition", "src_offset", "reason", "detail", "key"):
        output.say(f"{name:>13}  {found[name]}")
    output.say(found["payload"])


dlq.add_command(replay)
