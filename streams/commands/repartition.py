"""The command `repartition`."""

from typing import Any

import click

from streams import event_loop, output
from streams.commands import options


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
@options.fails_in_a_line
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
    TURNFOLD_KAFKA_PARTITIONS to N and start them again. Producers can continue: they are refused
    for some seconds, topic by topic.

    Example: turnfold kafka repartition --to 6 --bootstrap localhost:9092 --yes
    """
    from streams.apps.worker_settings import WorkerSettings
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.repartition import repartition as change

    settings = KafkaSettings.load(bootstrap=bootstrap)
    worker = WorkerSettings.load(app_id=app_id, generation=generation)
    done = event_loop.run(
        change(
            settings, worker.group, worker.generation, to, output.note,
            dry_run=not yes, behind=behind,
        )
    )  # fmt: skip
    output.say_as(form, done, indent=0) if form else _say(done)


def _say(done: dict[str, Any]) -> None:
    to, topics = done["to"], done["topics"]
    if not topics:
        output.say(f"the memory of {done['group']} and its topics have {to} partitions already")
        return
    if done["forgotten"]:
        output.note(
            f"these groups begin anew in the input topics: {', '.join(done['forgotten'])}; "
            "`extract` would ask about every turn once more without --latest"
        )
    output.table(topics, ["topic", "from", "to", "offsets"])
    if done["done"]:
        output.say(
            f"the memory of {done['group']} has {to} partitions now; {done['copied']:,} records "
            f"copied in {done['seconds']:.1f} s. Set TURNFOLD_KAFKA_PARTITIONS={to} and start "
            "the workers"
        )
    else:
        output.say(
            f"would be copied twice; from {done['from'] or 'no'} partitions of the memory to {to}"
        )
        refused = done["refused"]
        output.note(f"but it is refused now: {refused}" if refused else "--yes changes it")
