"""The commands `generation …`: memory rebuilt under other rules."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import click

from sinks.locations import Location, is_url, location_of
from streams import event_loop, output
from streams.commands import errors, options
from streams.errors import UsageError
from streams.extractors.registry import version_of

SHOWN = 100  # characters of a value in a sample
COUNTED = ("read", "applied", "duplicate", "dead", "left_out")
MOST_PARTS = 10_000


class _Day(click.ParamType):
    name = "date"

    def convert(self, value: Any, param: Any, ctx: Any) -> date:
        """YYYY-MM-DD."""
        try:
            return date.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} is not a date such as 2026-01-31", param, ctx)


DAY = _Day()


def check_period(first: date | None, last: date | None) -> None:
    """Raises UsageError if the first day is after the last."""
    if first and last and first > last:
        raise UsageError(f"--from {first} is after --to {last}")


class _PartType(click.ParamType):
    name = "i/N"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """0/4 to 3/4."""
        from streams.generations.in_parts import Part

        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", value)
        if match is None:
            self.fail(f"{value!r} is not a part such as 0/4", param, ctx)
        part = Part(*map(int, match.groups()))
        if not 1 <= part.of <= MOST_PARTS:
            self.fail(f"{value!r}: N must be 1 to {MOST_PARTS}", param, ctx)
        if part.number >= part.of:
            self.fail(
                f"{value!r} is out of range: the first part is 0/{part.of}, the last "
                f"{part.of - 1}/{part.of}", param, ctx
            )  # fmt: skip
        return part


@click.command()
@options.argument("name", help="Name of the new generation.")
@options.history
@click.option(
    "--part",
    type=_PartType(),
    help="Fold one of N parts, 0/N to N-1/N, each by a command of its own (docs/backfill.md).",
)
@click.option(
    "--extractor",
    type=options.Extractor(model=False),
    help="none: skip the plans that rules made; rules: make them again. Default: replay all plans.",
)
@click.option("--from", "first", type=DAY, help="First day (UTC). Default: all.")
@click.option("--to", "last", type=DAY, help="Last day (UTC). Default: all.")
@options.constants("Change a constant of docs/constants.md. Can be repeated.")
@options.form
@errors.reported
def create(
    name: str,
    history: Path,
    part: Any,
    extractor: str | None,
    first: date | None,
    last: date | None,
    constants: dict[str, Any],
    form: str | None,
) -> None:
    """Backfill: fold the history again into a new generation.

    Run the same command again to continue after an interruption, or to read new records. The live
    memory stays unchanged and writable during the backfill.

    Example: turnfold generation create new --history memory --extractor none
    """
    from streams.files.manifest import Settings
    from streams.files.manifest import as_json as said
    from streams.generations.rebuild import backfill as rebuild
    from streams.output import progress_bar

    check_period(first, last)
    settings = Settings(
        extractor=extractor,
        extractor_version=extractor and version_of(extractor),
        first=first,
        last=last,
        constants=constants,
    )
    if part is not None:
        _backfill_part(history, name, settings, part, form)
        return
    with progress_bar() as progress:
        report = rebuild(history, name, settings, progress)
    if form:
        output.say_as(form, said(report))
        return
    for count_name in COUNTED:
        output.say_count(count_name, report.counts.get(count_name, 0))
    output.say_count("seconds", report.seconds)
    output.note(f"turnfold generation diff live {name} --history {history} says what would change")


def _backfill_part(history: Path, name: str, settings: Any, part: Any, form: str | None) -> None:
    from streams.files.manifest import as_json as said
    from streams.generations.in_parts import backfill_part
    from streams.generations.manifest_checks import still_missing
    from streams.output import progress_bar

    def waits() -> None:
        output.note("waiting for another part, which prepares or completes the generation")

    with progress_bar() as progress:
        report, counts = backfill_part(history, name, settings, part, progress, waits)
    if form:
        output.say_as(form, said(report) | {"part": str(part), "part_counts": counts})
        return
    if counts is None:
        output.note(f"part {part} had been folded before: nothing was done")
    else:
        for count_name in COUNTED[:-1]:
            output.say_count(count_name, counts.get(count_name, 0))
    if report.ended_at is None:
        output.note(f"part {part} is folded; {still_missing(report)}")
    else:
        output.note(
            f"generation {name} is complete; turnfold generation diff live {name} --history "
            f"{history} says what would change"
        )


@click.command()
@options.argument(
    "a", help="A generation of --history (live: the current one), or a folder or URL."
)
@options.argument("b", help="The generation, folder or URL to compare with A.")
@options.located_history
@click.option(
    "--samples",
    default=3,
    type=options.Whole(0, 1000),
    help="Samples of each kind and change. Default: 3.",
)
@click.option("--fail-on-change", is_flag=True, help="Exit with 4 if anything differs.")
@options.any_tenant
@options.form
@errors.reported
def diff(
    a: str,
    b: str,
    history: Location,
    samples: int,
    fail_on_change: bool,
    tenant: str | None,
    form: str | None,
) -> None:
    """Compare two generations: differences by kind, with evidence.

    Example: turnfold generation diff live new --history memory
    """
    from sinks.diff import diff as compare

    report = compare(_side(a, history), _side(b, history), samples=samples, tenant=tenant)
    if form:
        output.say_as(form, {"a": a, "b": b, **report}, report["kinds"])
    else:
        _say_diff(report)
    if fail_on_change and any(row[change] for row in report["kinds"] for change in CHANGES):
        raise click.exceptions.Exit(4)


CHANGES = ("added", "gone", "changed")


def _side(name: str, history: Location) -> Location:
    """The place that a name, a path or a URL means."""
    from sinks.generation import find, find_tables
    from sinks.history_root import HistoryError, find_root

    if is_url(name):
        return find_tables(location_of(name))
    try:
        return find(find_root(history), name)
    except HistoryError:
        if not Path(name).is_dir():
            raise
    return find_tables(Path(name))


def _say_diff(report: dict[str, Any]) -> None:
    output.table(report["kinds"], ["kind", *CHANGES, "same"])
    for sample in report["samples"]:
        key = " / ".join(map(str, sample["key"].values()))
        output.say(f"\n{sample['change']}  {sample['kind']}  {key}")
        if fallen := sample["fallen_evidence"]:
            output.say(f"    remains on other evidence; fallen: {', '.join(fallen)}")
        for line in _differences(sample["before"], sample["after"]):
            output.say(f"    {line}")
        for source in sample["evidence"]:
            output.say(f"    {source['event_id']}: {_short(source['text'])}")


def _differences(before: Any, after: Any) -> list[str]:
    """The differing fields; of an added or removed document those with a value."""
    if before is None or after is None:
        whole = before or after
        return [f"{name}: {_short(value)}" for name, value in whole.items()
                if value not in (None, [], {}, "")]  # fmt: skip
    return [
        f"{name}: {_short(before.get(name))} → {_short(after.get(name))}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]


def _short(value: Any) -> str:
    from streams.cli_tables import short

    if value is None:
        return "none"
    return short(value if isinstance(value, str) else output.json_text(value, indent=0), SHOWN)


_behind = click.option(
    "--behind",
    is_flag=True,
    help="Switch although the generation is more than a minute behind the live one (Kafka).",
)


@click.command()
@options.argument("name", help="The generation to make live.")
@options.located_history
@_behind
@options.form
@errors.reported
def promote(name: str, history: Location, behind: bool, form: str | None) -> None:
    """Make a generation live. All commands and servers then read it.

    The generation first reads the records added since its backfill. Rejected while `run` is
    writing.
    """
    from streams.generations.promotion import promote as switch

    _say_switched(switch(history, name, behind=behind), form)


@click.command()
@options.located_history
@_behind
@options.form
@errors.reported
def rollback(history: Location, behind: bool, form: str | None) -> None:
    """Make the previous generation live again. It first reads the records added since."""
    from streams.generations.promotion import rollback as switch

    _say_switched(switch(history, behind=behind), form)


def _say_switched(switch: Any, form: str | None) -> None:
    if form:
        output.say_as(form, switch._asdict())
    else:
        output.say(
            f"live: {switch.current}, before: {switch.previous or 'none'} "
            f"({output.counted(switch.caught_up, 'record')} folded that were added "
            f"since, {switch.seconds} s)"
        )
        if switch.extractor not in (None, "none"):
            output.note(f"memory is made by {switch.extractor} from now on")


@click.command("list")
@options.located_history
@options.form
@errors.reported
def list_(history: Location, form: str | None) -> None:
    """List generations: how each was made and its size on disk.

    Own bytes are freed when the generation is dropped; shared bytes belong to several generations.
    """
    from streams.generations.manifest_checks import missing_message
    from streams.generations.promotion import list_generations

    generations = list_generations(history)
    if form:
        output.say_as(form, generations)
        return
    output.table(generations, ["name", "role", "stage", "extractor", "own_bytes", "shared_bytes"])
    for generation in generations:
        if generation["missing_parts"]:
            output.say(
                f"{generation['name']}: parts {missing_message(generation['missing_parts'])}"
            )


@click.command("drop")
@options.argument("name", help="A generation that is not live.")
@options.located_history
@options.bootstrap
@click.option(
    "--app-id",
    metavar="NAME",
    default="turnfold",
    envvar="TURNFOLD_WORKER_APP_ID",
    help="App id of its workers. Default: turnfold.",
)
@click.option("--keep-topics", is_flag=True, help="Keep its consumer groups and topics in Kafka.")
@options.yes("Remove it.")
@options.form
@errors.reported
def drop(
    name: str,
    history: Location,
    bootstrap: str | None,
    app_id: str,
    keep_topics: bool,
    yes: bool,
    form: str | None,
) -> None:
    """Remove a generation: its tables, consumer groups and topics.

    Shows what would be removed; with --yes removes it permanently. Refused while its workers or
    sinks run. If it was interrupted, run it again. Kafka is contacted only if sinks write the
    history.

    Example: turnfold generation drop new --history memory --bootstrap localhost:9092 --yes
    """
    from sinks.history_root import find_root, is_shared
    from streams.generations.promotion import dropping, mark_dropped

    removed: dict[str, list[str]] = {"groups": [], "topics": []}
    with dropping(history, name) as folder:
        of_kafka = is_shared(find_root(history) if folder is None else folder)
        if of_kafka and not keep_topics:
            from streams.kafka.tools.reset import remove

            settings, objects = _in_kafka(name, folder or find_root(history), bootstrap, app_id)
            removed = {
                key: [item.name for item in items] for key, items in objects._asdict().items()
            }
            if yes:
                if folder is not None:
                    mark_dropped(folder)
                if objects:
                    event_loop.run(remove(settings, objects))
        if not yes:
            _say_dropped(name, folder is not None, removed, form, yes=False)
            raise click.exceptions.Exit(0)  # so that the generation stays
    _say_dropped(name, folder is not None, removed, form, yes=True)
    if of_kafka and keep_topics:
        output.note(
            f"what it has in Kafka stays: turnfold kafka reset {app_id} --generation {name}"
        )


def _say_dropped(
    name: str, is_there: bool, removed: dict[str, list[str]], form: str | None, *, yes: bool
) -> None:
    if form:
        was_there = {} if is_there else {"was_there": False}
        of_kafka = {key: names for key, names in removed.items() if names}
        output.say_as(form, {"dropped" if yes else "would_drop": name} | was_there | of_kafka)
        return
    if not is_there and not any(removed.values()):
        output.say(f"{name}: no data exists")
        return
    output.say(f"{'dropped' if yes else 'would drop'}: {name}")
    for key, names in removed.items():
        output.say(f"  {key}: {', '.join(names) or 'none'}")
    if not yes:
        output.note("dry run: --yes removes this permanently")


def _in_kafka(name: str, folder: Location, bootstrap: str | None, app_id: str) -> Any:
    """Kafka's settings, and a generation's groups and topics there: of its workers and sinks."""
    from sinks.sink_history import check_cluster, owner_of
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.reset import check_no_members, find, topics_of, topics_of_mapping

    settings = KafkaSettings.load(bootstrap=bootstrap)
    owner = owner_of(folder)
    groups = [f"{app_id}.{name}", f"{owner['sink']}.{name}"]
    topics = topics_of(app_id, name) + topics_of_mapping(name)
    cluster, objects = event_loop.run(find(settings, groups, topics, generation=name))
    check_cluster(folder, owner, cluster, "Name the right one with --bootstrap, or --keep-topics")
    check_no_members(objects)
    return settings, objects
