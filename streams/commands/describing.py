"""Commands that describe Turnfold itself: `topology`, `schema`."""

import click

from streams import output
from streams.commands import options


@click.command()
@click.option(
    "--format",
    type=click.Choice(["mermaid", "json"]),
    default="mermaid",
    help="Form of the diagram. Default: mermaid.",
)
@options.as_json
@options.fails_in_a_line
def topology(format: str, as_json: bool) -> None:
    """Print topics, agents and tables as a diagram."""
    from streams.topology_render import as_json as render_json
    from streams.topology_render import mermaid

    output.say_json(render_json()) if as_json or format == "json" else output.say(mermaid())


@click.command()
@click.option(
    "--format",
    type=click.Choice(["asyncapi", "jsonschema"]),
    default="asyncapi",
    help="asyncapi: topics with their messages; jsonschema: each record, row and document.",
)
@options.as_json
@options.fails_in_a_line
def schema(format: str, as_json: bool) -> None:
    """Print the AsyncAPI document or the JSON Schemas."""
    from schemas.export import json_schemas
    from streams.asyncapi import asyncapi

    output.say_json(asyncapi() if format == "asyncapi" else json_schemas())
