"""The commands `kafka sink`, `produce`, `lag`, `topics` and `reset`, and `admin dlq replay`."""

import asyncio
import signal
import time
from functools import partial
from pathlib import Path
from typing import Any

import click

from sinks.locations import Location
from streams import event_loop, output
from streams.commands import errors, options
from streams.observability import logs


@click.command()
@options.bootstrap
@options.located_history
@click.option(
    "--name", default="sink", help="Name that all sinks of a history share. Default: sink."
)
@click.option(
    "--instance",
    metavar="NAME",
    help="Name of this sink. Restarted under it, the sink gets its partitions back at once.",
)
@click.option(
    "--roll-mb", type=options.Amount(0.001, 10_000), default=64.0,
    help="Write after this many MB. Default: 64.",
)  # fmt: skip
@click.option(
    "--roll-seconds", type=options.Amount(0.01, 3_600), default=10.0,
    help="Write after this many seconds. Default: 10.",
)  # fmt: skip
@click.option(
    "--generation",
    metavar="NAME",
    help="Write the rows of this generation's workers into the history's generation NAME.",
)
@options.constants(
    "A constant that the workers were started with (`kafka worker --set`). Needed once, for a new "
    "history: its readers use it. Can be repeated."
)
@click.option("--once", is_flag=True, help="Read up to the current end of the topics, then end.")
@click.option("--strict", is_flag=True, help="Exit with 4 if a message was not a valid row.")
@options.form
@options.observed
@errors.reported
def sink(
    bootstrap: str | None,
    history: Location,
    name: str,
    instance: str | None,
    roll_mb: float,
    roll_seconds: float,
    generation: str | None,
    constants: dict[str, Any],
    once: bool,
    strict: bool,
    form: str | None,
    observing: options.Observing,
) -> None:
    """Write the workers' rows into a history, exactly once.

    Several sinks with one name share the work. A sink that was killed can be started again: no row
    is lost or written twice. A history that `turnfold run` writes is rejected. On Ctrl-C or SIGTERM
    the sink first writes its rows. After SIGTERM the partitions of a sink with --instance
    wait 30 s for its return.

    Example: turnfold kafka sink --bootstrap localhost:9092 --history memory
    """
    from sinks.generation import RESERVED, folder_of
    from sinks.history_root import open_root
    from sinks.locations import make_folder
    from streams.kafka.client import outage_log
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.sink.options import SinkOptions

    observing.begin("sink")
    outage_log.watch()
    settings = KafkaSettings.load(bootstrap=bootstrap)
    size = int(roll_mb * 1_000_000)
    options = SinkOptions(name, instance, size, roll_seconds, once, generation=generation)
    if generation is not None:
        if generation in RESERVED:
            raise click.UsageError(f"--generation {generation}: reserved; choose another name")
        history = folder_of(open_root(history), generation)
        make_folder(history.parent)
    began = time.monotonic()
    counts = event_loop.run(_sink(settings, history, options, constants, observing))
    output.say_counts({**counts, "seconds": round(time.monotonic() - began, 3)}, form)
    if counts["misfits"]:
        output.note(
            f"{counts['misfits']} messages were not valid rows: "
            "turnfold admin dlq list --reason bad_row"
        )
        if strict:
            raise click.exceptions.Exit(4)


async def _sink(
    settings: Any,
    history: Location,
    options: Any,
    constants: dict[str, Any],
    observing: options.Observing,
) -> dict[str, int]:
    from dataclasses import asdict

    from sinks.generation import ROOT
    from sinks.sink_history import SharedHistory
    from streams.apps.metric_samples import of_sink, sink_readiness
    from streams.files.manifest import note_constants
    from streams.folds.constants import Rules
    from streams.kafka.sink.options import owner
    from streams.kafka.sink.sink import Sink

    ownership = await owner(settings, options)
    with SharedHistory(history, ownership) as tables:
        if constants:
            is_new = not tables.tables()
            name = options.generation or ROOT
            note_constants(history, name, Rules.of(constants), is_new=is_new)
        running = Sink(settings, tables, options)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, running.stop, False)
        loop.add_signal_handler(signal.SIGINT, running.stop)
        async with observing.answering(partial(of_sink, running), partial(sink_readiness, running)):
            return asdict(await running.run())


@click.command()
@options.sources
@options.bootstrap
@click.option(
    "--compression", type=options.COMPRESSION, default="none",
    help="Compression of messages. Default: none.",
)  # fmt: skip
@click.option(
    "--strict", is_flag=True, help="Exit with 4 if a record was not sent or has no topic."
)
@options.form
@errors.reported
def produce(
    files: tuple[str, ...], bootstrap: str | None, compression: str, strict: bool, form: str | None
) -> None:
    """Send files of input records to their topics.

    Each record goes to the topic of its type, keyed so that the records of a session or user keep
    their order. An invalid line goes to `turns` and becomes a dead letter. A file can be sent
    twice: its records are then duplicates.

    Example: turnfold kafka produce turns.ndjson.gz --bootstrap localhost:9092
    """
    from streams.files.sources import Truncated
    from streams.kafka.client import outage_log
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.produce import produce as send
    from streams.output import progress_bar

    logs.log_to_stderr(libraries=False)
    outage_log.watch()
    settings = KafkaSettings.load(bootstrap=bootstrap)
    packed = None if compression == "none" else compression
    try:
        with progress_bar() as progress:
            counts = event_loop.run(
                send(files, settings, compression=packed, progress=progress, say=output.note)
            )
    except Truncated as error:
        output.say_counts(error.counts, form)
        raise
    output.say_counts(counts, form)
    if strict and (counts["too_large"] or counts["unreadable"]):
        raise click.exceptions.Exit(4)


@click.command()
@options.bootstrap
@click.option("--group", "groups", multiple=True, help="Only this group. Can be repeated.")
@options.form
@errors.reported
def lag(bootstrap: str | None, groups: tuple[str, ...], form: str | None) -> None:
    """Show how many records each group has not read yet.

    There is a line for each partition. `committed` is the next offset to read. A sink continues
    from the position stored in its tables, which can be further.
    """
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.lag import lag as of

    lags = event_loop.run(of(KafkaSettings.load(bootstrap=bootstrap), groups))
    rows = [group_lag._asdict() for group_lag in lags]
    if form:
        output.say_as(form, rows)
    elif rows:
        output.table(rows, list(rows[0]))
        output.say(f"{sum(group_lag.lag for group_lag in lags):,} behind in all")
    else:
        output.note("no group has committed an offset in the topics of the topology")


@click.command()
@options.bootstrap
@click.option("--app-id", help="App id of the workers. Default: turnfold.")
@click.option("--principal", help="Print the commands of kafka-acls.sh that grant it all.")
@options.argument(
    "processes", nargs=-1, metavar="[PROCESS]...",
    help="worker, sink, serve, extract, produce or another command. Default: all.",
)  # fmt: skip
@options.form
@errors.reported
def acls(
    bootstrap: str | None,
    app_id: str | None,
    principal: str | None,
    processes: tuple[str, ...],
    form: str | None,
) -> None:
    """Show the Kafka ACLs that each process needs.

    The names `sink` and GROUP are the sink's --name and the --group of `kafka extract`.

    \b
    turnfold kafka acls worker sink --topic-prefix acme.
    turnfold kafka acls worker --principal User:worker > for-the-administrator.sh
    """
    from streams.apps.worker_settings import WorkerSettings
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.acls import PROCESSES, grants

    if unknown := [process for process in processes if process not in PROCESSES]:
        raise click.BadParameter(
            f"no process {unknown[0]!r}; there are: {', '.join(PROCESSES)}", param_hint="PROCESS"
        )
    settings = KafkaSettings.load(bootstrap=bootstrap)
    worker = WorkerSettings.load(app_id=app_id)
    needed = [
        (process, grant)
        for process in processes or PROCESSES
        for grant in grants(PROCESSES[process](worker.app_id), settings.topic_prefix)
    ]
    if principal is not None:
        for line in dict.fromkeys(
            grant.command(settings.bootstrap, principal) for _, grant in needed
        ):
            output.say(line)
        return
    rows = [{"process": process, **grant._asdict()} for process, grant in needed]
    if form:
        output.say_as(form, rows)
    else:
        output.table(
            [row | {"operations": ", ".join(row["operations"])} for row in rows], list(rows[0])
        )


@click.command()
@options.bootstrap
@click.option("--app-id", help="App id of the workers. Default: turnfold.")
@click.option("--generation", metavar="NAME", help="Also the topics of this generation.")
@click.option(
    "--partitions", type=options.Whole(1), help="Partitions that each topic must have. Default: 4."
)
@click.option(
    "--commands", is_flag=True,
    help="Print the commands of Kafka's tools that make missing topics and correct settings.",
)  # fmt: skip
@options.form
@errors.reported
def topics(
    bootstrap: str | None,
    app_id: str | None,
    generation: str | None,
    partitions: int | None,
    commands: bool,
    form: str | None,
) -> None:
    """Check the topics that this installation needs.

    Existing topics are used as they are if their settings allow it. For each unusable topic,
    the wrong setting is shown with its actual and its required value; the exit code is then 3. The
    first worker creates missing topics, if it may. This command is read-only.

    \b
    turnfold kafka topics --topic-prefix acme.
    turnfold kafka topics --topic-prefix acme. --commands > for-the-administrator.sh
    """
    from streams.apps.worker_settings import WorkerSettings
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.topics import topics as of

    settings = KafkaSettings.load(bootstrap=bootstrap, partitions=partitions)
    worker = WorkerSettings.load(app_id=app_id, generation=generation)
    checked = event_loop.run(of(settings, worker.app_id, worker.generation))
    wrong = [f"topic {topic.name}: {diff.setting} is {diff.found}, must be {diff.expected}"
             for topic in checked for diff in topic.wrong]  # fmt: skip
    if form:
        output.say_as(form, [
            {"topic": topic.spec.name, "name": topic.name, "state": topic.state,
             "partitions": topic.existing.partitions if topic.existing else None,
             "wrong": [diff._asdict() for diff in topic.wrong]}
            for topic in checked
        ])  # fmt: skip
    elif commands:
        for topic in checked:
            for line in topic.commands(settings.bootstrap):
                output.say(line)
    else:
        output.table(
            [
                {"topic": topic.name, "state": topic.state,
                 "partitions": topic.existing.partitions if topic.existing else None,
                 "cleanup.policy": topic.spec.exact["cleanup.policy"]}
                for topic in checked
            ],
            ["topic", "state", "partitions", "cleanup.policy"],
        )  # fmt: skip
    for line in [] if form else wrong:
        output.note(line)
    missing = sum(topic.existing is None for topic in checked)
    if missing and not (form or commands):
        output.note(
            f"{missing} topics are missing: the first worker creates them, if the broker lets it; "
            "--commands prints how an administrator does"
        )
    if wrong:
        raise click.exceptions.Exit(3)


@click.command()
@options.argument("app_id", help="App id of the workers: their consumer group.")
@options.bootstrap
@click.option("--generation", metavar="NAME", help="Remove only what belongs to this generation.")
@options.yes("Remove it.")
@options.form
@errors.reported
def reset(
    app_id: str, bootstrap: str | None, generation: str | None, yes: bool, form: str | None
) -> None:
    """Remove an app id's groups and topics from Kafka.

    Removes the consumer group with its offsets, the changelogs of its tables, and for a generation
    all topics that end in .NAME. Input and output topics stay: a worker that folds again writes its
    outputs again. Refused while a worker runs.

    \b
    turnfold kafka reset turnfold                     # shows what would go
    turnfold kafka reset turnfold --yes
    """
    from streams.apps.worker_settings import WorkerSettings
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.reset import (
        check_no_members,
        find,
        remove,
        topics_of,
        topics_of_mapping,
    )

    worker = WorkerSettings.load(app_id=app_id, generation=generation)
    settings = KafkaSettings.load(bootstrap=bootstrap)
    names = topics_of(worker.app_id, worker.generation) + topics_of_mapping(worker.generation)
    _, objects = event_loop.run(find(settings, [worker.group], names, generation=worker.generation))
    if yes:
        check_no_members(objects)
        if objects:
            event_loop.run(remove(settings, objects))
    if form:
        output.say_as(form, {"removed": yes, **objects.as_json()})
        return
    if not objects:
        output.say(f"{worker.group}: has nothing in Kafka")
        return
    for group in objects.groups:
        output.say(f"group {group.name}: {group.offsets} offsets, {group.members} members")
    for topic in objects.topics:
        output.say(f"topic {topic.name}: {topic.partitions} partitions, {topic.records:,} offsets")
    if yes:
        output.note("removed; workers that are started now fold the input topics anew")
    else:
        output.note("nothing is removed yet: --yes removes this for good")
    if generation is None:
        output.note(
            "what was written to other topics stays there, and is written once more: sinks that go "
            "on would write rows twice. To fold beside the live memory use a generation"
        )


@click.command()
@options.argument("letters", nargs=-1, help="Ids as `admin dlq list` shows them. Default: all.")
@options.bootstrap
@click.option(
    "--history",
    envvar="TURNFOLD_HISTORY",
    type=options.LOCATION,
    help="Folder of the history, or its URL.",
)
@click.option("--from-topic", is_flag=True, help="Read the letters from the topic dead-letters.")
@options.reasons("Only")
@options.any_tenant
@options.mapping
@click.option(
    "--again", is_flag=True, help="Also letters that were replayed and became dead letters again, "
    "and with ID… those that are settled.",
)  # fmt: skip
@click.option(
    "--elsewhere", is_flag=True, help="Also to another cluster or prefix than the history's."
)
@click.option("--dry-run", is_flag=True, help="Count the letters; send nothing.")
@options.form
@errors.reported
def replay(
    letters: tuple[str, ...],
    bootstrap: str | None,
    history: Location | None,
    from_topic: bool,
    reasons: tuple[str, ...],
    tenant: str | None,
    mapping: Path | None,
    again: bool,
    elsewhere: bool,
    dry_run: bool,
    form: str | None,
) -> None:
    """Send dead letters to their input topics again, marked by a header.

    A letter that is applied now has the effect of the original record. A letter that was sent is
    settled, and no later replay sends it. If a worker rejects it again, that is a new letter; only
    --again sends either of them once more. Letters without their bytes (images, withheld text) are
    sent only if --reason names their reason.

    With --mapping the letters of a platform's own topics and files are mapped again, and the
    resulting records are sent to the input topics.

    \b
    turnfold admin dlq replay --history memory --reason invalid
    turnfold admin dlq replay --history memory --mapping chat.yaml
    """
    from sinks.history_root import is_shared
    from streams.kafka.client import outage_log
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.dead_letters import Letter, of_history, of_topic
    from streams.kafka.tools.replay import check_owner, select
    from streams.kafka.tools.replay import replay as send
    from streams.kafka.tools.settling import settle, unsettled

    logs.log_to_stderr(libraries=False)
    outage_log.watch()
    settings = KafkaSettings.load(bootstrap=bootstrap)
    mapper = None
    if mapping is not None:
        from streams.mapping.mapper import Mapper

        mapper = Mapper(mapping)
    if from_topic:
        every = event_loop.run(of_topic(settings, tenant))
    else:
        history = options.default_history() if history is None else history
        every = of_history(history, tenant)
        if not (dry_run or elsewhere) and is_shared(history):
            event_loop.run(check_owner(history, settings))
    topic: list[Letter] = []
    if not (from_topic or dry_run):  # the history has them some seconds later
        topic = event_loop.run(of_topic(settings, tenant))
    chosen, passed = select(every, reasons, again, letters, topic, mapper)
    counts = {"sent": 0, "too_large": 0, "withheld": 0}
    if chosen and not dry_run:
        counts, sent = event_loop.run(send(chosen, settings, mapper, output.note))
        if not elsewhere:
            unsettled_letters = unsettled(sent, [*every, *topic])
            event_loop.run(settle(unsettled_letters, None if from_topic else history, settings))
    output.say_counts({"chosen": len(chosen), **counts, **dict(sorted(passed.items()))}, form)
