"""The commands `kafka topology` and `admin schema`, which describe Turnfold itself."""

import click

from streams import output
from streams.commands import errors, options


@click.command()
@options.forms("mermaid", "json")
@errors.reported
def topology(form: str | None) -> None:
    """Print topics, agents and tables as a diagram."""
    from streams.topology_render import as_json as render_json
    from streams.topology_render import mermaid

    output.say_json(render_json()) if form else output.say(mermaid())


@click.command()
@options.argument(
    "document",
    type=click.Choice(["asyncapi", "jsonschema"]),
    default="asyncapi",
    help="asyncapi (the default): topics with their messages; jsonschema: each record, row and "
    "document.",
)
@errors.reported
def schema(document: str) -> None:
    """Print the AsyncAPI document or the JSON Schemas."""
    from schemas.export import json_schemas
    from streams.asyncapi import asyncapi

    output.say_json(asyncapi() if document == "asyncapi" else json_schemas())
