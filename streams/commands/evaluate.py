"""The command `evaluate`: how well memory is found and filled, on labelled data."""

from __future__ import annotations  # what evaluates is loaded when it is run

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sinks.scratch import scratch
from streams import output
from streams.commands import errors, options
from streams.commands.extract import ask as ask_model
from streams.commands.extract import load_settings
from streams.errors import ConfigurationError, DataRefused, Unreachable, UsageError
from streams.extractors.registry import MODEL, NONE

if TYPE_CHECKING:
    from streams.evaluation.labels import Labels
    from streams.evaluation.retrieval import Options
    from streams.search.query import By

BY = {"words": "words", "meaning": "meaning", "both": "words and meaning"}


@click.command()
@options.argument(
    "file", type=options.FOLDER, help="Labelled set (docs/evaluation.md), .ndjson or .gz."
)
@options.prompt
@options.meaning
@click.option(
    "--extractor",
    "extractors",
    multiple=True,
    type=options.Extractor(),
    help="How to find memory in the set's turns; repeat it to compare. Default: none.",
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
    "--hits", type=options.Whole(1, 100), default=10, help="Hits per question. Default: 10."
)
@click.option(
    "--neighbours",
    type=options.Whole(0, 5),
    default=1,
    help="Turns shown on each side of a hit. Default: 1.",
)
@click.option(
    "--budgets",
    default="400,800,1500",
    show_default=True,
    help="Token budgets of the context packs, comma-separated.",
)
@click.option(
    "--everybody", is_flag=True, help="Search all users of the tenant, not only the user who asks."
)
@click.option(
    "--details", type=options.FOLDER, help="File to write the result of each question and item to."
)
@options.form
@errors.reported
def evaluate(
    file: Path,
    extractors: tuple[str, ...],
    history: Path | None,
    generation: str | None,
    hits: int,
    neighbours: int,
    budgets: str,
    everybody: bool,
    details: Path | None,
    form: str | None,
) -> None:
    """Measure search, packs and extraction on a labelled set.

    Example: turnfold admin evaluate labelled.ndjson --extractor rules
    """
    from streams.evaluation import labels
    from streams.evaluation.retrieval import Options

    if history is None and generation is not None:
        raise UsageError("--generation: needs --history")
    if history is not None and extractors:
        raise UsageError("--extractor: a history has been made already; omit it, or --history")
    tokens = _budgets(budgets)
    with scratch() as folder:
        if history is None:
            records = folder / "records.ndjson"
            labelled = labels.read(file, records)
            runs = {name: folder / f"history-{name}" for name in extractors or (NONE,)}
            for name, root in runs.items():
                _fold(file, records, root, name)
        else:
            labelled = labels.read(file)
            runs = {generation or "history": _named(history, generation)}
        options = Options(hits, neighbours, everybody)
        ways = _ways()
        results = {
            name if len(ways) == 1 else f"{name}, {BY[by]}": _measured(
                root, file, labelled, options._replace(by=by), tokens
            )
            for name, root in runs.items()
            for by in ways
        }
    if details is not None:
        lines = [
            output.json_text({"run": name} | line, indent=0) + "\n"
            for name, result in results.items()
            for line in result.pop("details")
        ]
        details.write_text("".join(lines), encoding="utf-8")
    if form:
        whole = {
            name: {key: value for key, value in result.items() if key != "details"}
            for name, result in results.items()
        }
        rows = [{"run": name, **result} for name, result in whole.items()]
        output.say_as(form, whole if len(whole) > 1 else next(iter(whole.values())), rows)
        return
    _show(results, tokens)


def _budgets(text: str) -> list[int]:
    from streams.context.request import LEAST, MOST

    budgets = []
    for part in text.split(","):
        if not part.strip().isdecimal() or not LEAST <= int(part) <= MOST:
            raise UsageError(f"--budgets: {part.strip()!r} is not between {LEAST} and {MOST:,}")
        budgets.append(int(part))
    return sorted(set(budgets))


def _ways() -> tuple[By, ...]:
    """How each history is searched, to compare."""
    from streams.search.vector_search import embedder

    if (embeds := embedder()) is None:
        return ("words",)
    try:
        _ = embeds.key  # loads the model
    except Unreachable as error:
        output.note(f"words alone count: {error}")
        return ("words",)
    return ("words", "meaning", "both")


def _measured(
    root: Path, file: Path, labelled: Labels, options: Options, budgets: list[int]
) -> dict[str, Any]:
    """The figures of one history, as JSON."""
    from streams.evaluation import extraction, packs, retrieval

    events = retrieval.events_of(root, file, labelled.questions, options.by)
    answers = retrieval.ask(root, labelled.questions, events, options)
    packed = packs.pack(root, labelled.questions, events, budgets, options.by)
    facts = extraction.facts(root, labelled)
    items = extraction.match(root, labelled.observations) if labelled.observations else []
    figures = extraction.figures(labelled.observations, items) if labelled.observations else None
    return {
        "search": _plain(retrieval.figures(answers) if answers else []),
        "packs": _plain(packs.figures(packed) if packed else []),
        "extraction": _plain(figures),
        "facts": _plain(facts),
        "details": [_plain(item) for item in (*answers, *packed, *items)],
    }


def _named(history: Path, generation: str | None) -> Path:
    from sinks.generation import generation_path

    evaluated = generation_path(history, generation)
    options.rules_of(evaluated)
    return evaluated


def _fold(file: Path, records: Path, history: Path, extractor: str) -> None:
    """Folds the records into a separate history. Raises DataRefused for a rejected record."""
    from streams.extractors.registry import named
    from streams.files import file_runner
    from streams.files.extractor_choice import Choice

    settings = load_settings() if extractor == MODEL else None
    in_process = Choice(extractor).in_process
    counts = file_runner.run([str(records)], history, choose=lambda: named(in_process))
    if counts["dead"]:
        raise DataRefused(f"{file}: {_first_refused(history)}")
    if counts.get("unfinished"):
        raise DataRefused(f"{file}: its last record is incomplete")
    if settings is None:
        return
    summary = ask_model(history, settings)
    if summary["failed"]:
        raise ConfigurationError(
            f"the model failed in {summary['failed']} of {summary['groups']} requests "
            f"({summary['why_failed']}): nothing is measured"
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


def _show(results: dict[str, dict[str, Any]], budgets: list[int]) -> None:
    """Tables: a row for each run and category."""
    rows = [
        {"run": name} | _row(figures, result["packs"], budgets)
        for name, result in results.items()
        for figures in result["search"]
    ]
    if rows:
        output.table(rows, list(rows[0]))
    by_run = {name.partition(",")[0]: result for name, result in results.items()}
    for name, result in by_run.items():  # it is the same however it is searched
        if (figures := result["extraction"]) is not None:
            output.say()
            output.say(
                f"{name}: precision {_percent(figures['precision'])} "
                f"({figures['items_matching']} of {figures['items']} items), "
                f"recall {_percent(figures['recall'])} "
                f"({figures['observations_found']} of {figures['observations']} observations)"
            )
        if (facts := result["facts"]) is not None:
            output.say(
                f"{name}: useful {_percent(facts['useful'])}, with arguable "
                f"{_percent(facts['useful_or_arguable'])} of {facts['judged']} judged items "
                f"({facts['not_judged']} not judged); current facts: {facts['wrong']} wrong, "
                f"{facts['missing']} missing, {facts['users_wrong']} of {facts['users']} users "
                "with a wrong one"
            )


def _row(figures: dict[str, Any], packs: list[dict[str, Any]], budgets: list[int]) -> Any:
    row = {
        "category": figures["category"],
        "questions": figures["questions"],
        "turn": _percent(figures["turn"]),
        "session": _percent(figures["session"]),
        "answer": _percent(figures["answer"]),
        "with neighbours": _percent(figures["answer_with_neighbours"]),
    }
    by_budget = {
        pack["max_tokens"]: pack for pack in packs if pack["category"] == figures["category"]
    }
    for budget in budgets:
        pack = by_budget.get(budget)
        row[f"pack {budget}"] = f"{pack['any']:.1%} / {pack['all']:.1%}" if pack else "-"
    return row


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
