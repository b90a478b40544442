"""The command `repartition`."""

from typing import Any

import click

from streams import event_loop, output
from streams.commands import errors, options


@click.command()
@click.option(
    "--to",
    type=options.Whole(1, 10_000),
    required=True,
    metavar="N",
    help="Partitions of each topic.",
)
@options.bootstrap
@click.option("--app-id", metavar="NAME", help="App id of the workers. Default: turnfold.")
@click.option("--generation", metavar="NAME", help="Generation whose memory is changed.")
@click.option("--behind", is_flag=True, help="Proceed although a sink is behind.")
@options.yes("Change it.")
@options.form
@errors.reported
def repartition(
    to: int,
    bootstrap: str | None,
    app_id: str | None,
    generation: str | None,
    behind: bool,
    yes: bool,
    form: str | None,
) -> None:
    """Change the number of partitions.

    Prints the plan; with --yes changes all topics and the memory in them. First stop the workers
    and everything else that reads the input topics, and let the sinks catch up. If it was
    interrupted, run it again; until it has ended no worker, sink or server starts. Then set
    TURNFOLD_KAFKA_PARTITIONS to N and start them again. Producers can continue: each
    topic rejects them for some seconds.

    Example: turnfold kafka repartition --to 6 --bootstrap localhost:9092 --yes
    """
    from streams.apps.worker_settings import WorkerSettings
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.repartition import repartition as change

    settings = KafkaSettings.load(bootstrap=bootstrap)
    worker = WorkerSettings.load(app_id=app_id, generation=generation)
    report = event_loop.run(
        change(
            settings, worker.group, worker.generation, to, output.note,
            dry_run=not yes, behind=behind,
        )
    )  # fmt: skip
    output.say_as(form, report, indent=0) if form else _say(report)


def _say(report: dict[str, Any]) -> None:
    to, topics = report["to"], report["topics"]
    if not topics:
        output.say(f"the memory of {report['group']} and its topics have {to} partitions already")
        return
    if report["forgotten"]:
        output.note(
            f"these groups restart at the first record of the input topics: "
            f"{', '.join(report['forgotten'])}; `kafka extract` without --latest would send every "
            "turn to the model again"
        )
    output.table(topics, ["topic", "from", "to", "offsets"])
    if report["done"]:
        output.say(
            f"the memory of {report['group']} has {to} partitions now; {report['copied']:,} "
            f"records copied in {report['seconds']:.1f} s. "
            f"Set TURNFOLD_KAFKA_PARTITIONS={to} and start the workers"
        )
    else:
        output.say(
            "dry run: these topics would be copied twice, from "
            f"{report['from'] or 'no'} partitions of the memory to {to}"
        )
        refused = report["refused"]
        output.note(f"rejected now: {refused}" if refused else "--yes changes it")
