"""The command line: `turnfold`, and where each of its commands is.

A command's module is loaded when it is run, and its heavy imports when it does its work: a
question to the history should cost little more than the answer.
"""

import os
import sys
from importlib import import_module
from typing import Any

import click

from sinks import panics
from streams import configuration, gc_policy
from streams.commands.options import SETTINGS, fails_in_a_line
from streams.errors import ConfigurationError
from streams.output import fail, prepare
from streams.private import keep_files_private

SECTIONS = {
    "Make memory": {
        "run": "making:run",
        "import": "making:import_",
        "map": "mapping:map_",
        "extract": "extract:extract",
        "demo": "making:demo",
    },
    "Query": {
        "sql": "query_commands:sql",
        "session": "query_commands:session",
        "task": "query_commands:task",
        "user": "query_commands:user",
        "state": "query_commands:state",
        "why": "query_commands:why",
        "timeline": "query_commands:timeline",
        "search": "search:search",
        "context": "context:context",
        "evaluate": "evaluate:evaluate",
    },
    "Maintain": {
        "digest": "operating:digest",
        "catalog": "operating:catalog",
        "compact": "operating:compact",
        "forget": "operating:forget",
        "export": "operating:export",
        "dlq": "dead_letters:dlq",
    },
    "Rebuild under other rules": {
        "backfill": "generations:backfill",
        "diff": "generations:diff",
        "promote": "generations:promote",
        "rollback": "generations:rollback",
        "generations": "generations:generations",
    },
    "Kafka": {
        "dev": "dev:dev",
        "broker": "broker:broker",
        "worker": "worker:worker",
        "sink": "kafka:sink",
        "produce": "kafka:produce",
        "lag": "kafka:lag",
        "topics": "kafka:topics",
        "reset": "kafka:reset",
        "repartition": "repartition:repartition",
    },
    "HTTP": {
        "serve": "serve:serve",
        "mcp": "mcp:mcp",
        "keys": "keys:keys",
    },
    "Inspect": {
        "doctor": "doctor:doctor",
        "config": "config:config",
        "admin": "admin:admin",
        "topology": "describing:topology",
        "schema": "describing:schema",
    },
}
"""Heading -> name -> module in streams.commands : attribute, in the order of their use."""
COMMANDS = {name: place for section in SECTIONS.values() for name, place in section.items()}


class Commands(click.Group):
    """A group that loads a command when it is asked for."""

    def invoke(self, ctx: click.Context) -> Any:
        """Ctrl-C while a command is loaded is exit 130 as well; click would say 1."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            fail("interrupted")
            ctx.exit(130)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Section by section."""
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each section with its heading, in columns that lie under each other."""
        room = max(map(len, COMMANDS))
        for heading, section in SECTIONS.items():
            rows = []
            for name in section:
                command = self.get_command(ctx, name)
                assert command is not None
                about = command.get_short_help_str(formatter.width - room - 6)
                rows.append((name.ljust(room), about))
            with formatter.section(heading):
                formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None: click then says what it does not know."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(f"streams.commands.{module}"), attribute)
        return command


def _say_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from streams import __version__

        click.echo(f"turnfold {__version__}")
        ctx.exit()


@click.command(cls=Commands, context_settings=SETTINGS, no_args_is_help=True)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_say_version,
    help="Print the version.",
)
@click.option(
    "--config",
    envvar=configuration.VARIABLE,
    metavar="FILE",
    help=f"File of settings. Default: {configuration.FILE}, if the current folder has one.",
)
@click.pass_context
def app(ctx: click.Context, config: str | None) -> None:
    """Turns the events of a chat platform into memory: what holds, why, and as of when."""
    _begin(config, ctx.invoked_subcommand)


@fails_in_a_line
def _begin(config: str | None, command: str | None) -> None:
    found = configuration.find(config)
    if found is not None:
        configuration.apply(found, explicit=config is not None)
    try:
        keep_files_private()
    except ConfigurationError:
        if command != "doctor":  # which says it beside all else that it finds
            raise


def main() -> None:
    """The entry point of the `turnfold` script."""
    # every Python that a command starts, by whatever way, inherits it: without it that would import
    # from the current folder, whose files may be called as a library is
    os.environ["PYTHONSAFEPATH"] = "1"
    gc_policy.set_for_start()
    prepare()
    panics.detach_stderr()
    try:
        fails_in_a_line(app)(prog_name="turnfold")  # what fails before a command is called
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)


if __name__ == "__main__":
    main()
