"""The command `evaluate`: how well memory is found and filled, on labelled data."""

from __future__ import annotations  # what evaluates is loaded when it is run

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sinks.scratch import scratch
from streams import output
from streams.commands import options
from streams.commands.extract import ask as ask_model
from streams.commands.extract import load_settings
from streams.errors import ConfigurationError, DataRefused, UsageError
from streams.extractors.naming import MODEL, NAMES

if TYPE_CHECKING:
    from streams.evaluation.extraction import Extracted
    from streams.evaluation.retrieval import Figures


@click.command()
@options.argument(
    "file", type=options.FOLDER, help="Labelled set (docs/evaluation.md), .ndjson or .gz."
)
@options.prompt
@click.option(
    "--extractor",
    type=click.Choice([*NAMES, MODEL]),
    help="How to find memory in the set's turns. Default: none.",
)
@click.option(
    "--history",
    type=options.FOLDER,
    help="Evaluate this history; the set's records are not folded.",
)
@click.option(
    "--generation",
    metavar="NAME",
    help="Generation of --history to evaluate. Default: the live one.",
)
@click.option(
    "--hits", type=click.IntRange(1, 100), default=10, help="Hits per question. Default: 10."
)
@click.option(
    "--neighbours",
    type=click.IntRange(0, 5),
    default=1,
    help="Turns shown on each side of a hit. Default: 1.",
)
@click.option(
    "--everybody", is_flag=True, help="Search all users of the tenant, not only the user who asks."
)
@click.option(
    "--details", type=options.FOLDER, help="File to write the result of each question and item to."
)
@options.as_json
@options.fails_in_a_line
def evaluate(
    file: Path,
    extractor: str | None,
    history: Path | None,
    generation: str | None,
    hits: int,
    neighbours: int,
    everybody: bool,
    details: Path | None,
    as_json: bool,
) -> None:
    """Measure search and extraction on a labelled set.

    Example: turnfold evaluate labelled.ndjson --extractor rules
    """
    from streams.evaluation import extraction, labels, retrieval

    if history is None and generation is not None:
        raise UsageError("--generation: needs --history")
    if history is not None and extractor is not None:
        raise UsageError("--extractor: a history has been made already; omit it, or --history")
    with scratch() as folder:
        if history is None:
            records = folder / "records.ndjson"
            found = labels.read(file, records)
            evaluated = folder / "history"
            _fold(file, records, evaluated, extractor or NAMES[0])
        else:
            found = labels.read(file)
            evaluated = _named(history, generation)
        asked = retrieval.ask(
            evaluated, file, found.questions, retrieval.Options(hits, neighbours, everybody)
        )
        items = extraction.match(evaluated, found.observations) if found.observations else []
    figures = retrieval.figures(asked)
    extracted = extraction.extracted(found.observations, items) if found.observations else None
    if details is not None:
        lines = [output.json_text(_plain(one), indent=0) + "\n" for one in (*asked, *items)]
        details.write_text("".join(lines), encoding="utf-8")
    if as_json:
        output.say_json({"search": _plain(figures), "extraction": _plain(extracted)})
        return
    if figures:
        shown = [_shown(one) for one in figures]
        output.table(shown, list(shown[0]))
    if extracted is not None:
        _show(extracted)


def _named(history: Path, generation: str | None) -> Path:
    from sinks.generation import named

    evaluated = named(history, generation)
    options.rules_of(evaluated)
    return evaluated


def _fold(file: Path, records: Path, history: Path, extractor: str) -> None:
    """Folds the records into a history of their own. Raises DataRefused where one is refused."""
    from streams.extractors.naming import named
    from streams.files import local
    from streams.files.extractor_choice import Choice

    settings = load_settings() if extractor == MODEL else None
    in_process = Choice(extractor).in_process
    counts = local.run([str(records)], history, choose=lambda: named(in_process))
    if counts["dead"]:
        raise DataRefused(f"{file}: {_first_refused(history)}")
    if counts.get("unfinished"):
        raise DataRefused(f"{file}: its last record is incomplete")
    if settings is None:
        return
    said = ask_model(history, settings)
    if said["failed"]:
        raise ConfigurationError(
            f"the model failed in {said['failed']} of {said['groups']} requests "
            f"({said['why_failed']}): nothing is measured"
        )


def _first_refused(history: Path) -> str:
    from sinks.history import connect

    sql = "SELECT src_offset, reason, detail FROM dead_letters ORDER BY src_offset LIMIT 1"
    with connect(history, views=["dead_letters"]) as db:
        line, reason, detail = db.execute(sql).fetchall()[0]
    return f"line {line}: {reason}: {detail}"


def _plain(value: Any) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


def _shown(one: Figures) -> dict[str, Any]:
    return {
        "category": one.category,
        "questions": one.questions,
        "turn": _percent(one.turn),
        "session": _percent(one.session),
        "answer": _percent(one.answer),
        "with neighbours": _percent(one.answer_with_neighbours),
    }


def _show(one: Extracted) -> None:
    output.say()
    output.say(
        f"precision {_percent(one.precision)} ({one.items_matching} of {one.items} items), "
        f"recall {_percent(one.recall)} ({one.observations_found} of {one.observations} "
        "observations)"
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
