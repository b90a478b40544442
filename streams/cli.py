"""The command line: `turnstone`, and where each of its commands is.

A command's module is loaded when it is run, and its heavy imports when it does its work: a
question to the history should cost little more than the answer.
"""

from importlib import import_module

import click

from streams.commands.options import SETTINGS

COMMANDS = {
    "run": "making:run",
    "import": "making:import_",
    "extract": "extract:extract",
    "demo": "making:demo",
    "sql": "asking:sql",
    "session": "asking:session",
    "task": "asking:task",
    "user": "asking:user",
    "state": "asking:state",
    "why": "asking:why",
    "timeline": "asking:timeline",
    "search": "search:search",
    "digest": "operating:digest",
    "catalog": "operating:catalog",
    "compact": "operating:compact",
    "forget": "operating:forget",
    "backfill": "generations:backfill",
    "diff": "generations:diff",
    "promote": "generations:promote",
    "rollback": "generations:rollback",
    "generations": "generations:generations",
    "topology": "describing:topology",
    "schema": "describing:schema",
    "dlq": "dead_letters:dlq",
    "broker": "broker:broker",
    "dev": "dev:dev",
    "worker": "worker:worker",
    "serve": "serve:serve",
    "sink": "kafka:sink",
    "produce": "kafka:produce",
    "lag": "kafka:lag",
    "keys": "keys:keys",
}
"""Name -> module in streams.commands : attribute."""


class Commands(click.Group):
    """A group that loads a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which one comes to need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, or None: click then says what it does not know."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(import_module(f"streams.commands.{module}"), attribute)
        return command


def _say_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"turnstone {version('turnstone')}")
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
def app() -> None:
    """Turns the events of a chat platform into memory, and tells what, why and as of when."""


def main() -> None:
    """The entry point of the `turnstone` script."""
    app(prog_name="turnstone")


if __name__ == "__main__":
    main()
