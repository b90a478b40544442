"""The command line: `turnfold`, its tree of commands, and where each of them is.

A command's module is loaded when it is run, and its heavy imports when it does its work: a
question to the history should cost little more than the answer.
"""

import os
import re
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

import click

from sinks import panics
from streams import configuration, gc_policy
from streams.commands import errors
from streams.commands.options import SETTINGS
from streams.configuration import keep_files_private
from streams.errors import ConfigurationError
from streams.output import fail, prepare, silence_notes


class Below(NamedTuple):
    """A group of commands: its help, and by name the place of each command or a group below."""

    about: str
    commands: "dict[str, str | Below]"


KAFKA = Below(
    "Run the pipeline over Kafka, and look after it.",
    {
        "worker": "worker:worker",
        "sink": "kafka:sink",
        "produce": "kafka:produce",
        "extract": "extract:over_kafka",
        "map": "mapping:map_",
        "topics": "kafka:topics",
        "lag": "kafka:lag",
        "acls": "kafka:acls",
        "repartition": "repartition:repartition",
        "reset": "kafka:reset",
        "topology": "topology_schema:topology",
        "broker": Below(
            "Run a real Apache Kafka on this machine, without Docker.\n\n"
            "Kafka's jars are downloaded once into the cache. Java is the machine's own (17 or "
            "newer) or the one that the extra `broker` installs. The broker listens on localhost "
            "only.",
            {"start": "broker:start", "stop": "broker:stop", "status": "broker:status"},
        ),
    },
)
GENERATION = Below(
    "Rebuild memory under other rules, compare and switch.",
    {
        "create": "generations:create",
        "list": "generations:list_",
        "diff": "generations:diff",
        "retract": "retract:retract",
        "promote": "generations:promote",
        "rollback": "generations:rollback",
        "drop": "generations:drop",
    },
)
SHOW = Below(
    "Show stored memory: a user, a session, a task, states, turns.",
    {
        "user": "query_commands:user",
        "session": "query_commands:session",
        "task": "query_commands:task",
        "state": "query_commands:state",
        "timeline": "query_commands:timeline",
    },
)
ADMIN = Below(
    "Check and maintain an installation.",
    {
        "doctor": "doctor:doctor",
        "config": "config:config",
        "keys": Below(
            "Manage API keys: tokens with a tenant and a role.\n\n"
            "A running server notices a change within a second.",
            {"add": "keys:add", "list": "keys:list_", "revoke": "keys:revoke"},
        ),
        "erasure-keys": Below(
            "Keys that encrypt records in Kafka until `forget` destroys them.",
            {"create": "erasure_keys:create", "rotate": "erasure_keys:rotate"},
        ),
        "dlq": Below(
            "Dead letters: list, show, replay and settle rejected records.",
            {
                "list": "dead_letters:list_",
                "show": "dead_letters:show",
                "replay": "kafka:replay",
                "settle": "dead_letters:settle",
            },
        ),
        "extract": "extract:extract",
        "compact": "history_commands:compact",
        "catalog": "history_commands:catalog",
        "digest": "history_commands:digest",
        "evaluate": "evaluate:evaluate",
        "size": "size:size",
        "schema": "topology_schema:schema",
    },
)
SECTIONS: dict[str, dict[str, str | Below]] = {
    "Start": {
        "demo": "run_import_demo:demo",
        "dev": "dev:dev",
    },
    "Build an agent": {
        "run": "run_import_demo:run",
        "import": "run_import_demo:import_",
        "serve": "serve:serve",
        "mcp": "mcp:mcp",
        "context": "context:context",
        "search": "search:search",
    },
    "Query and audit": {
        "show": SHOW,
        "why": "query_commands:why",
        "sql": "query_commands:sql",
    },
    "Personal data": {
        "export": "history_commands:export",
        "forget": "history_commands:forget",
    },
    "Operate": {
        "generation": GENERATION,
        "kafka": KAFKA,
        "admin": ADMIN,
    },
}
"""By heading, the names at the top; a place is MODULE:ATTRIBUTE in streams.commands."""
CHECKS_FILES_ITSELF = ("admin", "doctor")
"""It reports wrong permissions with everything else that it finds."""
WORDS = "turnfold.words"
"""In the context: the words of the command."""


class Commands(click.Group):
    """A group that loads a command when it is called."""

    def __init__(self, sections: dict[str, dict[str, str | Below]], **attrs: Any) -> None:
        super().__init__(**attrs)
        self._sections = sections
        self._places = {
            name: command for part in sections.values() for name, command in part.items()
        }

    def invoke(self, ctx: click.Context) -> Any:
        """Ctrl-C while a command is loaded is exit 130 as well; click's exit code would be 1."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            fail("interrupted")
            ctx.exit(130)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Section by section."""
        return list(self._places)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each section with its heading, in aligned columns."""
        width = max(map(len, self._places))
        for heading, section in self._sections.items():
            rows = []
            for name in section:
                command = self.get_command(ctx, name)
                assert command is not None
                about = command.get_short_help_str(formatter.width - width - 6)
                rows.append((name.ljust(width), about))
            with formatter.section(heading):
                formatter.write_dl(rows)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command or group, None for an unknown name."""
        place = self._places.get(cmd_name)
        if place is None:
            return None
        if isinstance(place, Below):
            return Commands(
                {"Commands": place.commands}, name=cmd_name, help=place.about, no_args_is_help=True
            )
        return _loaded(place)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; the error for an unknown name suggests commands from the whole tree."""
        ctx.meta.setdefault(WORDS, tuple(args))
        if args[0] not in self._places and not (args[0].startswith("-") or ctx.resilient_parsing):
            names = " or ".join(f"'turnfold {path}'" for path in suggested(args))
            hint = f" Did you mean {names}?" if names else ""
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


def paths() -> dict[str, str | Below]:
    """Every command and group of the tree by its words: `admin keys add`."""

    def walk(commands: dict[str, str | Below], above: str) -> Iterator[tuple[str, str | Below]]:
        for name, place in commands.items():
            yield f"{above}{name}", place
            if isinstance(place, Below):
                yield from walk(place.commands, f"{above}{name} ")

    return {path: place for part in SECTIONS.values() for path, place in walk(part, "")}


def suggested(words: Sequence[str]) -> list[str]:
    """Paths that a wrong command may have meant: commands that end in its words, otherwise with a
    similar name, otherwise with its first word in their help."""
    every = paths()
    for count in range(len(words), 0, -1):
        tail = list(words[:count])
        if same := [path for path in every if path.split()[-count:] == tail]:
            return same
    names = {path.rpartition(" ")[2] for path in every}
    if close := get_close_matches(words[0], names, n=2, cutoff=0.7):
        return [path for path in every if path.rpartition(" ")[2] in close]
    mention = re.compile(rf"\b{re.escape(words[0])}\b", re.IGNORECASE)
    return [path for path, place in every.items() if mention.search(_about(place))]


def _about(place: str | Below) -> str:
    return "" if isinstance(place, Below) else (_loaded(place).help or "").partition("\n\n")[0]


def _loaded(place: str) -> click.Command:
    module, attribute = place.split(":")
    command: click.Command = getattr(import_module(f"streams.commands.{module}"), attribute)
    return command


def _say_version(ctx: click.Context, _: click.Parameter, is_requested: bool) -> None:
    if is_requested and not ctx.resilient_parsing:
        from streams import __version__

        click.echo(f"turnfold {__version__}")
        ctx.exit()


@click.command(cls=Commands, sections=SECTIONS, context_settings=SETTINGS, no_args_is_help=True)
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
@click.option("-q", "--quiet", is_flag=True, help="Write results and errors only, no notes.")
@click.pass_context
def app(ctx: click.Context, config: str | None, quiet: bool) -> None:
    """Memory for chat agents, with an audit trail."""
    silence_notes(quiet)
    _begin(config, ctx.meta[WORDS])


@errors.reported
def _begin(config: str | None, words: tuple[str, ...]) -> None:
    file = configuration.find(config)
    if file is not None:
        configuration.apply(file, explicit=config is not None)
    try:
        keep_files_private()
    except ConfigurationError:
        if words[: len(CHECKS_FILES_ITSELF)] != CHECKS_FILES_ITSELF:
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
        errors.reported(app)(prog_name="turnfold")  # what fails before a command is called
    except click.exceptions.Exit as ended:
        sys.exit(ended.exit_code)


if __name__ == "__main__":
    main()
