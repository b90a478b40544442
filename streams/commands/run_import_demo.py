"""Commands that make memory: `run`, `import`, `demo`."""

import logging
import socket
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import click

from streams import output
from streams.commands import errors, options
from streams.commands.extract import ask, load_settings, said_of_failures
from streams.errors import ConfigurationError, DataRefused, UsageError
from streams.extractors.registry import DEFAULT, MODEL, in_process
from streams.importers import FORMATS

DEMO_PORT = 8400


@click.command()
@options.sources
@options.history
@options.extractor(
    "How to find memory in turns. none: use only what records state; rules: by rules; llm: by "
    "rules, and by a model after all records are folded."
)
@options.prompt
@options.retention
@options.mapping
@click.option(
    "--strict",
    is_flag=True,
    help="Exit with 4 if there are dead letters or the last line is incomplete.",
)
@options.form
@errors.reported
def run(
    files: tuple[str, ...],
    history: Path,
    extractor: str | None,
    retention_days: float | None,
    mapping: Path | None,
    strict: bool,
    form: str | None,
) -> None:
    """Fold files of input records into a history.

    A second run of the same file continues where the first one ended. A run that was killed can
    be started again: no record is lost or counted twice.

    \b
    turnfold run turns.ndjson.gz --history memory
    turnfold run events.ndjson --mapping chat.yaml --history memory
    """
    from sinks.generation import find_tables
    from streams.extractors.registry import named
    from streams.files import file_runner
    from streams.files.extractor_choice import Choice, update_choice
    from streams.files.manifest import rules_of
    from streams.files.sources import Truncated
    from streams.folds.constants import Rules
    from streams.output import progress_bar

    mapped: dict[str, Any] = {}
    first: list[str] = []
    if mapping is not None:
        from streams.mapping.mapper import Mapper

        mapper = Mapper(mapping)
        mapped["decoder"] = lambda file: _noting(mapper.for_file(file).decode, first)
    if extractor == MODEL:
        load_settings()  # before anything is made
    chosen: Choice | None = None
    model: Any = None
    rules = Rules()

    def choose() -> Any:
        """Runs under the history's lock, so the live generation does not change."""
        nonlocal chosen, model, rules
        rules = rules_of(find_tables(history))
        chosen = update_choice(history, extractor, output.note)
        if chosen.name == MODEL:
            model = load_settings()
        return named(chosen.in_process)

    with progress_bar() as progress:
        try:
            counts = file_runner.run(
                list(files),
                history,
                choose=choose,
                retention_days=retention_days,
                progress=progress,
                **mapped,
            )
        except Truncated as error:
            _say_counts(_with_skipped(error.counts, mapping) | _told(chosen, rules), form)
            _say_dead_letters(error.counts, history)
            raise
    counts = _with_skipped(counts, mapping)
    try:
        counts |= {"model": ask(history, model)} if model else {}
    finally:
        _say_counts(counts | _told(chosen, rules), form)
    unfinished = counts.get("unfinished", {})
    if not counts["read"] and not unfinished:
        _say_nothing_new(counts, history, mapping)
    if mapping is not None and counts["read"] and counts["read"] == counts["skipped"]:
        output.note(
            f"warning: no rule of {mapping} takes any event; the first is {first[0]}. A text in "
            "`when` has single quotes: kind == 'message'. To try rules out: "
            f"turnfold kafka map {quote(str(mapping))} --sample FILE"
        )
    for file, size in unfinished.items():
        output.note(
            f"{file}: its last line, {size} bytes so far, is not a whole record yet; the next run "
            "reads it"
        )
    _say_dead_letters(counts, history)
    model_counts = counts.get("model", {})
    if model_counts.get("failed") and model_counts["failed"] == model_counts["groups"]:
        output.note(said_of_failures(model_counts))
        raise click.exceptions.Exit(4 if strict else 1)
    if strict and (counts["dead"] or counts.get("late") or unfinished):
        raise click.exceptions.Exit(4)


FOUND = ("found", "plans")
TOLD = ("extractor", "extractor_version", "constants")


def _told(chosen: Any, rules: Any) -> dict[str, Any]:
    """How memory was made: by what, and under which constants, where they are not the default."""
    changed = rules.changed()
    made_by = {"extractor": chosen.name, "extractor_version": chosen.version} if chosen else {}
    return {**made_by, **({"constants": changed} if changed else {})}


def _noting(decode: Any, first: list[str]) -> Any:
    """The same decoder, which notes the place of the first event that was skipped."""

    def noting(line: bytes, place: tuple[str, int, int]) -> Any:
        decoded = decode(line, place)
        if not first and decoded == "skipped":
            first.append(":".join(map(str, place)))
        return decoded

    return noting


def _with_skipped(counts: dict[str, Any], mapping: Path | None) -> dict[str, Any]:
    """The counts of a run; with a mapping also how many were skipped, if it is none."""
    if mapping is None:
        return counts
    from streams.files.file_runner import OUTCOMES

    ended = {name: counts[name] for name in ("read", *OUTCOMES)}
    return {**ended, "skipped": 0, **counts}


def _say_nothing_new(counts: dict[str, Any], history: Path, mapping: Path | None) -> None:
    if counts.get("read_before") and mapping is not None:
        output.note(
            "nothing new: a file is read from where the last run ended, also with another mapping. "
            "To map it anew, fold it into a new history: turnfold run FILES --mapping "
            f"{quote(str(mapping))} --history NEW"
        )
    elif counts.get("read_before"):
        output.note(
            "nothing new: a file is read from where the last run ended; to fold it anew, with "
            f"other rules: turnfold generation create NAME --history {quote(str(history))}"
        )
    else:
        output.note("the input holds no record")


def _say_dead_letters(counts: dict[str, Any], history: Path) -> None:
    if dead := counts["dead"] + counts.get("late", 0):
        text = output.counted(dead, "dead letter")
        output.note(f"{text}: turnfold admin dlq list --history {quote(str(history))}")


def _say_counts(counts: dict[str, Any], form: str | None) -> None:
    if form:
        output.say_as(form, counts, indent=0)
        return
    warnings = counts["warnings"]
    for name, value in counts.items():
        if name not in ("warnings", "model", "read_before", "unfinished", *FOUND, *TOLD):
            output.say_count(name.replace("_", " "), value)
    model = counts.get("model", {})
    for name, value in model.items():
        if value and name not in ("stopped", "why_failed"):
            output.say_count(name.replace("_", " "), value)
    if line := _line_of_found(counts):
        output.say(line)
    if model.get("stopped"):
        output.note(f"stopped: {model['stopped']}; `turnfold admin extract` continues")
    if constants := counts.get("constants"):
        text = ", ".join(f"{name}={value}" for name, value in constants.items())
        output.note(f"folded under the history's own constants: {text}")
    for name, value in warnings.items():
        output.note(f"warning: {name.replace('_', ' ')}: {value}")


def _line_of_found(counts: dict[str, Any]) -> str | None:
    """The extractor's result, or None if the input contained plans."""
    if not counts["read"]:
        return None
    if (number := counts.get("found")) is not None:
        noun = "fact or preference" if number == 1 else "facts and preferences"
        return f"{number} {noun} found by {in_process(counts['extractor'])}"
    return None if counts["plans"] else f"0 facts: no extractor (--extractor {DEFAULT} finds them)"


class _Moment(click.ParamType):
    name = "time"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Converts RFC 3339 with an offset, or a date (its start, UTC), to microseconds."""
        from schemas.base import parse_time

        try:
            return parse_time(f"{value}T00:00:00Z" if len(value) == len("2026-01-31") else value)
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


@click.command("import")
@options.argument("format", help=f"One of {', '.join(FORMATS)}.")
@options.argument("file", type=options.FOLDER, help="The file to read; - for stdin.")
@click.option(
    "-u", "--user", metavar="NAME", type=options.ID, help="User of conversations that name none."
)
@click.option(
    "--created",
    type=_Moment(),
    metavar="TIME",
    help="Start time of conversations without times. Default: the file's modification time; for "
    "stdin the current time.",
)
@errors.reported
def import_(format: str, file: Path, user: str | None, created: int | None) -> None:
    """Convert conversations and memories into input records.

    Prints one JSON object per line. The format turnfold reads what `turnfold export` writes.

    A conversation that cannot be imported, or that has no user, is skipped and named on stderr;
    the exit code is then 4. A file without conversations also ends with 4.

    Importing the same file again produces duplicates, which have no effect. If the file has no
    times, pass --created: a copy with another modification time is otherwise new data.

    Example: turnfold import openai-chat chats.jsonl --user ann | turnfold run - --history memory
    """
    import msgspec

    from streams.files.sources import check
    from streams.importers.base import ImportDefaults, ImportFault
    from streams.importers.convert import convert
    from streams.importers.report import Telling

    check([str(file)], of_records=False)
    notes = Telling(output.note)
    encode = msgspec.json.Encoder().encode
    records = 0
    try:
        for record in _read(convert(format, file, notes, ImportDefaults(user, created)), file):
            sys.stdout.buffer.write(encode(record) + b"\n")
            records += 1
        sys.stdout.buffer.flush()
    except ImportFault as error:
        raise DataRefused(f"{_name(file)}: {error}") from None
    finally:
        notes.sum_up()
    notes.say_times()
    if refusal := notes.refusal(records):
        raise DataRefused(f"{_name(file)}: {refusal}")


def _name(file: Path) -> str:
    return "stdin" if str(file) == "-" else str(file)


def _read(records: Iterator[Any], file: Path) -> Iterator[Any]:
    """The records; read errors are reported separately from write errors."""
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
    default="turnfold-demo",
    help="Folder of the demo's history.",
)
@click.option(
    "--open",
    "opens",
    is_flag=True,
    help="Then serve it, and open the inspector in a browser if there is one. Ctrl-C ends it.",
)
@click.option(
    "--port",
    type=options.Whole(0, 65_535),
    help="Port of the server, with --open. 0: any free port. Default: 8400, or any if taken.",
)
@errors.reported
def demo(history: Path, opens: bool, port: int | None) -> None:
    """Fold sample conversations and show the resulting memory.

    Example: turnfold demo --open
    """
    from streams.apps import demo as sample

    root = click.get_current_context().find_root().command
    if not opens:
        if port is not None:
            raise UsageError("--port goes with --open")
        sample.show(history, partial(root.main, standalone_mode=False))
        return
    from streams.apps.demo import open_page
    from streams.serving.http import serve as process
    from streams.serving.http.settings import ServeSettings
    from streams.serving.inspector.tour import FIRST

    sample.show(history, partial(root.main, standalone_mode=False))
    logging.getLogger("streams").setLevel(logging.ERROR)
    settings = ServeSettings.load(
        host="127.0.0.1", port=_demo_port() if port is None else port, inspector=True
    )

    def say(url: str, _: str | None) -> None:
        page = url + FIRST
        opened = open_page(page)
        output.say(f"\n{'opened' if opened else 'open'} {page}\nCtrl-C ends it")
        sys.stdout.flush()

    process.serve(settings, history, None, lambda _: nullcontext(), say)


def _demo_port() -> int:
    """The usual one, which a browser that has ended the tour remembers; 0 where it is taken."""
    try:
        with socket.create_server(("127.0.0.1", DEMO_PORT)):
            return DEMO_PORT
    except OSError:
        return 0
