"""The command `mcp`."""

import click
from click.core import ParameterSource

from sinks.locations import Location
from streams.commands import errors, options
from streams.errors import UsageError

KEY = "TURNFOLD_KEY"


@click.command()
@click.option(
    "--history",
    envvar="TURNFOLD_HISTORY",
    type=options.LOCATION,
    help="Folder of the history, created if it does not exist, or its URL, where tools can only "
    "read. Starts a server over it, which other programs of this account share.",
)
@click.option(
    "--url", metavar="URL", help="Use this server instead, such as http://localhost:8400."
)
@click.option("-u", "--user", metavar="ID", type=options.ID, help="User of calls that name none.")
@options.prompt
@options.extractor(
    "How the server of --history finds memory in turns. llm: rules at once, then a model; "
    "OPENAI_API_KEY is enough."
)
@click.option(
    "--allow-forget",
    is_flag=True,
    help="Offer the tool `forget`, which erases a user for good. With --url it needs an admin's "
    "key.",
)
@errors.reported
def mcp(
    history: Location | None,
    url: str | None,
    user: str | None,
    extractor: str | None,
    allow_forget: bool,
) -> None:
    """Give an agent memory as tools (MCP) over stdin and stdout. Runs until stdin ends.

    If the server of --url has keys, set the environment variable TURNFOLD_KEY to one. docs/mcp.md
    has the lines to paste into a desktop client's settings.

    \b
    turnfold mcp --history ~/memory --user maya
    TURNFOLD_KEY=ts_... turnfold mcp --url https://memory.example.org
    """
    import os

    from streams.serving.mcp import over_stdio
    from streams.serving.mcp.shared import ServerAddress, SharedServer

    typed = click.get_current_context().get_parameter_source("history")
    if url is not None and typed is not ParameterSource.COMMANDLINE:
        history = None  # the file's, or a variable's, is meant for where none is named
    if (history is None) == (url is None):
        raise UsageError("give --history DIR or --url URL, one of them")
    if url is not None:
        address = ServerAddress(url.rstrip("/"), os.environ.get(KEY))
        over_stdio.run(lambda: address, user, allow_forget)
        return
    assert history is not None
    shared = SharedServer(history, extractor)
    with shared.held():
        shared.address()
        over_stdio.run(shared.address, user, allow_forget)
