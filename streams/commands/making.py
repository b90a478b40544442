"""Commands that make memory: `run`, `import`, `demo`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any

import click

from streams import output
from streams.commands import options
from streams.commands.extract import ask, load_settings
from streams.errors import ConfigurationError, DataRefused
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
    "--retention-days",
    type=float,
    help="A session's rows go so long after its latest turn. Default 0: never.",
)
@click.option(
    "--strict", is_flag=True, help="Exit 4 if a record was refused, or a last line breaks off."
)
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
            _say_refused(error.counts, history)
            raise
    try:
        counts |= {"model": ask(history, model)} if model else {}
    finally:
        _say_counts(counts, as_json)
    unfinished = counts.get("unfinished", {})
    if not counts["read"] and not unfinished:
        _say_nothing_new(files, history)
    for file, size in unfinished.items():
        output.note(
            f"{file}: its last line, {size} bytes so far, is no whole record yet; the next run "
            "reads it"
        )
    _say_refused(counts, history)
    if strict and (counts["dead"] or unfinished):
        raise click.exceptions.Exit(4)


def _say_nothing_new(files: tuple[str, ...], history: Path) -> None:
    if any(Path(file).is_file() and Path(file).stat().st_size for file in files):
        output.note(
            "nothing new: a file is read on from where it was read to; to fold the same again, "
            f"otherwise: turnstone backfill --history {quote(str(history))} --generation NAME"
        )
    else:
        output.note("the input holds no record")


def _say_refused(counts: dict[str, Any], history: Path) -> None:
    if dead := counts["dead"]:
        said = "1 record was" if dead == 1 else f"{dead} records were"
        output.note(f"{said} refused: turnstone dlq list --history {quote(str(history))}")


def _say_counts(counts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        output.say_json(counts, indent=0)
        return
    warnings = counts["warnings"]
    for name, value in counts.items():
        if name not in ("warnings", "model", "unfinished") and (value or name != "after_retention"):
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

    A conversation that cannot be imported is left out and named on stderr; the exit code is 4 then.

    Example: turnstone import openai-chat chats.jsonl | turnstone run - --history memory
    """
    import msgspec

    from streams.importers import ImportFault, Skipped, convert
    from streams.runtime.sources import check

    refused = 0

    class Telling(Skipped):
        def refuse(self, fault: ImportFault) -> None:
            nonlocal refused
            refused += 1
            output.note(f"left out: {fault}")

    check([str(file)])
    skipped = Telling()
    encode = msgspec.json.Encoder().encode
    try:
        for record in _read(convert(format, file, skipped), file):
            sys.stdout.buffer.write(encode(record) + b"\n")
        sys.stdout.buffer.flush()
    except ImportFault as error:
        raise DataRefused(str(error)) from None
    finally:
        for reason, count in skipped.items():
            output.note(f"left out: {reason}: {count}")
    if refused:
        what = "1 conversation" if refused == 1 else f"{refused} conversations"
        raise DataRefused(f"{what} could not be imported; the rest was")


def _read(records: Iterator[Any], file: Path) -> Iterator[Any]:
    """Records as they are read; what fails in reading is told from what fails in writing."""
    while True:
        try:
            record = next(records)
        except StopIteration:
            return
        except OSError as error:
            raise ConfigurationError(f"{file}: {error.strerror or error}") from None
        yield record


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
