"""Commands that make memory: `run`, `import`, `demo`."""

import sys
from pathlib import Path
from typing import Any

import click

from streams import output
from streams.commands import options
from streams.commands.extract import ask, load_settings
from streams.errors import DataRefused
from streams.extractors.naming import NAMES, named

MODEL = "llm"


@click.command()
@options.argument("files", nargs=-1, required=True, help="NDJSON, .gz, .parquet, or - for stdin.")
@options.history
@click.option(
    "--extractor",
    type=click.Choice([*NAMES, MODEL]),
    help="How to find memory in turns; none: as the records say; llm: by a model, asked when all "
    "is folded (as `extract` does). Default: as the live generation was made, none for the first.",
)
@click.option(
    "--retention-days", type=float, help="Drop sessions idle for longer; default: keep all."
)
@click.option("--strict", is_flag=True, help="Exit 4 if a record was refused.")
@options.as_json
@options.fails_in_a_line
def run(
    files: tuple[str, ...],
    history: Path,
    extractor: str | None,
    retention_days: float | None,
    strict: bool,
    as_json: bool,
) -> None:
    """Fold files of input records into a history.

    A second run of the same file goes on where the first ended; killed at any moment, a run
    started again goes on exactly once.

    Example: turnstone run turns.ndjson.gz --history memory
    """
    from streams.generations.generation import extractor_of
    from streams.progress import progress_bar
    from streams.runtime import local

    model = load_settings() if extractor == MODEL else None  # before anything is folded
    rule = "none" if model else extractor
    with progress_bar() as progress:
        try:
            counts = local.run(
                list(files),
                history,
                choose=lambda: named(rule or extractor_of(history)),
                retention_days=retention_days,
                progress=progress,
            )
        except local.Truncated as error:
            _say_counts(error.counts, as_json)
            raise
    try:
        counts |= {"model": ask(history, model)} if model else {}
    finally:
        _say_counts(counts, as_json)
    if not counts["read"]:
        output.note(
            "nothing new: a file is read on from where it was read to; "
            f"to fold the same again, otherwise: turnstone backfill --history {history}"
        )
    if dead := counts["dead"]:
        said = "1 record was" if dead == 1 else f"{dead} records were"
        output.note(f"{said} refused: turnstone dlq list --history {history}")
        if strict:
            raise click.exceptions.Exit(4)


def _say_counts(counts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        output.say_json(counts, indent=0)
        return
    warnings = counts["warnings"]
    for name, value in counts.items():
        if name not in ("warnings", "model") and (value or name != "after_retention"):
            output.say_count(name.replace("_", " "), value)
    model = counts.get("model", {})
    for name, value in model.items():
        if value and name != "stopped":
            output.say_count(name.replace("_", " "), value)
    if model.get("stopped"):
        output.note(f"stopped: {model['stopped']}; `turnstone extract` goes on")
    for name, value in warnings.items():
        output.note(f"warning: {name.replace('_', ' ')}: {value}")


@click.command("import")
@options.argument("format", help="openai-chat, chatgpt-export or langgraph.")
@options.argument("file", type=options.FOLDER, help="The file to read.")
@options.fails_in_a_line
def import_(format: str, file: Path) -> None:
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


@click.command()
@click.option(
    "--history",
    type=options.FOLDER,
    default="turnstone-demo",
    help="Where the demo's history goes.",
)
@options.fails_in_a_line
def demo(history: Path) -> None:
    """Fold sample conversations, and show what they left behind."""
    from streams.demo import show

    show(history)
