"""The command `map`."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from streams import output
from streams.commands import errors, options
from streams.errors import ConfigurationError


@click.command("map")
@options.argument("file", type=options.FOLDER, help="The mapping, a YAML file.")
@click.option(
    "--sample", metavar="TOPIC|FILE", help="Try the mapping on events of this topic or file."
)
@click.option(
    "--limit",
    type=options.Whole(1, 10_000),
    default=10,
    help="Results to show, and dead letters and skipped events. Default: 10.",
)
@click.option(
    "--read",
    "most",
    type=options.Whole(1, 1_000_000),
    default=1_000,
    help="Events to read, from the beginning. Default: 1000.",
)
@options.bootstrap
@options.form
@errors.reported
def map_(
    file: Path, sample: str | None, limit: int, most: int, bootstrap: str | None, form: str | None
) -> None:
    """Check a mapping, and preview the records of real events.

    Read-only; commits no offset. Only the file is checked if --sample is omitted.

    \b
    turnfold kafka map chat.yaml
    turnfold kafka map chat.yaml --sample export.ndjson
    turnfold kafka map chat.yaml --sample chat.messages --bootstrap localhost:9092
    """
    from streams.files.sources import Truncated
    from streams.mapping.mapper import Mapper
    from streams.mapping.sampling import sample as try_out

    mapper = Mapper(file)
    damage: list[str] = []
    if sample is None:
        _say_checked(mapper, form)
        return
    if Path(sample).exists() or sample == "-":
        source = mapper.for_file(sample)
        results = try_out(source, _of_file(sample, source.topic, most, damage), limit)
    elif sample in mapper.sources:
        source = mapper.sources[sample]
        results = try_out(source, _of_topic(sample, bootstrap, most), limit)
    else:
        names = ", ".join(mapper.sources)
        raise ConfigurationError(
            f"{sample}: no such file; correct the path, or name a source of {file}: {names}"
        )
    _say_found(results, form)
    if damage:
        raise Truncated("shown", damage)


def _say_found(results: Any, form: str | None) -> None:
    if form:
        output.say_as(form, results._asdict())
        return
    for result in results.results:
        output.say(f"{result['place']}\n  {output.json_text(result['record'], indent=0)}")
    for letter in results.dead:
        output.say(f"{letter['place']}  would be a dead letter ({letter['reason']})")
        output.say(f"  {letter['detail']}")
    for place in results.skipped:
        output.say(f"{place}  would be skipped: no rule takes it, or it is a deletion")
    for name, count in results.counts.items():
        output.say_count(name, count)


def _say_checked(mapper: Any, form: str | None) -> None:
    rules = {topic: [rule.type for rule in source.records]
             for topic, source in mapper.definition.sources.items()}  # fmt: skip
    if form:
        output.say_as(form, rules)
        return
    for topic, types in rules.items():
        output.say(f"{topic}: {', '.join(types)}")
    output.note("the mapping is valid; --sample TOPIC|FILE tries it out")


def _of_file(file: str, topic: str, most: int, damage: list[str]) -> Iterator[Any]:
    """A file's events; where it cannot be read on goes to `damage`."""
    from streams.files.sources import Source, TruncatedError, check
    from streams.mapping.envelopes import Message

    check([file])
    lines = (line for chunk in Source(file).chunks() for line in chunk)
    message = Message(topic)
    try:
        for line, place in islice(lines, most):
            yield line, (Path(place[0]).name, *place[1:]), message
    except TruncatedError as error:
        damage.append(str(error))


def _of_topic(topic: str, bootstrap: str | None, most: int) -> Iterator[Any]:
    from streams import event_loop
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.sample_topic import first_messages

    settings = KafkaSettings.load(bootstrap=bootstrap)
    return iter(event_loop.run(first_messages(settings, topic, most)))
