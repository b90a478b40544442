"""The command `context`: a user's memory as text for an agent's prompt."""

import click

from sinks.locations import Location
from streams import output
from streams.commands import errors, options
from streams.commands.query_commands import asked_at


@click.command()
@options.argument("user_id", type=options.ID, help="Id of the user.")
@options.asked_history
@options.search_folder
@options.meaning
@click.option("--query", help="The user's question; facts and turns about it are recalled.")
@click.option(
    "--session", type=options.ID, help="Current session: what was decided in it is shown."
)
@click.option("--max-tokens", type=int, default=1500, show_default=True, help="Token budget.")
@click.option("--sections", help="Comma-separated sections. Default: all.")
@options.as_of
@options.known_at
@options.tenant
@options.forms("markdown", "text", "json")
@errors.reported
def context(
    user_id: str,
    history: Location,
    query: str | None,
    session: str | None,
    max_tokens: int,
    sections: str | None,
    as_of: str | None,
    known_at: str | None,
    tenant: str,
    form: str | None,
) -> None:
    """Print a user's memory as text for an agent's prompt.

    Example: turnfold context emma --history turnfold-demo --query "When is Nora's birthday?"
    """
    from streams import history_documents
    from streams.context import SECTIONS, PackRequest
    from streams.context.load import context as gather
    from streams.context.tokenizer import tokenizer

    question = PackRequest(
        user_id=user_id,
        at=asked_at(as_of),
        text=query,
        session_id=session,
        max_tokens=max_tokens,
        known_at=history_documents.parse_moment(known_at),
        sections=tuple(sections.split(",")) if sections else SECTIONS,
        format="text" if form == "text" else "markdown",
        count=tokenizer(),
    )
    pack = gather(history, tenant, question)
    if form == "json":
        output.say_json(pack.document(question))
        return
    output.write(pack.pack.text)
    if not pack.known:
        output.note(f"nothing is known of user {user_id!r} in this history")
    elif pack.pack.left_out:
        named = ", ".join(f"{count} {name}" for name, count in pack.pack.left_out.items())
        total = sum(pack.pack.left_out.values())
        output.note(f"{total} left out (token budget): {named}; raise --max-tokens")
