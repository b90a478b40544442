"""The commands `admin dlq list`, `show` and `settle`; `replay` is in `kafka.py`."""

import sys
from base64 import b64encode

import click

from sinks.locations import Location
from streams import output
from streams.commands import errors, options

SHOWN = 1000
"""Rows of a table for people."""


@click.command("list")
@options.asked_history
@click.option(
    "--reason", metavar="REASON", type=options.REASON, help="Only letters with this reason."
)
@click.option("--topic", metavar="TOPIC", help="Only letters read from this topic or file.")
@click.option(
    "--since", metavar="TIME", help="Only letters recorded from this time on. A date means its "
    "start (UTC). Lines of a file without a time of their own count as 1970.",
)  # fmt: skip
@click.option(
    "--limit", type=options.Whole(min=1), help="At most so many, the oldest first. Default: all; "
    f"in a table {SHOWN}.",
)  # fmt: skip
@click.option("--settled", is_flag=True, help="Also letters that are settled.")
@options.any_tenant
@options.form
@errors.reported
def list_(
    history: Location,
    reason: str | None,
    topic: str | None,
    since: str | None,
    limit: int | None,
    settled: bool,
    tenant: str | None,
    form: str | None,
) -> None:
    """List dead letters with their source and error.

    Letters that were replayed or marked as done (`admin dlq settle`) are left out.

    \b
    turnfold admin dlq list --history memory --reason invalid --since 2026-03-02
    turnfold admin dlq list --history memory -o json
    """
    from streams import history_lists
    from streams.history_documents import FAR, parse_start

    start = parse_start(since)
    start = -FAR if start is None else start
    most = limit or (None if form else SHOWN)
    letters = history_lists.dead_letters(
        history, tenant, reason, topic=topic, since=start, settled=settled, limit=most
    )
    if form:
        output.say_as(form, letters)
    elif letters:
        output.table(letters, ["id", "reason", "detail", "bytes", *["settled_at"] * settled])
    else:
        output.note("no dead letters" if settled else "no unsettled dead letters")
    if most is not None and len(letters) == most:
        count = history_lists.count_dead_letters(history, tenant, reason, topic, start, settled)
        if count > most:
            output.note(
                f"the first {most:,} of {count:,} dead letters; --limit, --since or -o json gives "
                "the others"
            )


@click.command("show")
@options.argument("letter", help="The id that `admin dlq list` shows.")
@options.asked_history
@options.any_tenant
@click.option("--raw", is_flag=True, help="Print only the stored bytes.")
@options.form
@errors.reported
def show(letter: str, history: Location, tenant: str | None, raw: bool, form: str | None) -> None:
    """Show one dead letter with its stored content.

    In JSON, `payload` is text with escapes for bytes that are not UTF-8; `payload_base64` has the
    exact bytes.

    Example: turnfold admin dlq show /data/turns.ndjson:0:17 --raw --history memory > line.json
    """
    from streams import history_lists

    document = history_lists.dead_letter(history, tenant, letter)
    payload: bytes = document["payload"]
    copies = document.pop("others")
    if copies:
        output.note(f"one of {copies + 1} with this id: its file was written anew; `sql` has all")
    if raw:
        sys.stdout.buffer.write(payload)
        return
    document["payload"] = payload.decode("utf-8", "backslashreplace")
    if form:
        output.say_as(form, {**document, "payload_base64": b64encode(payload).decode()})
        return
    for name in (
        "src_topic", "src_partition", "src_offset", "reason", "detail", "key", "settled_at",
    ):  # fmt: skip
        if document[name] is not None:
            output.say(f"{name:>13}  {document[name]}")
    output.say(document["payload"])


@click.command("settle")
@options.argument("letters", nargs=-1, help="Ids as `admin dlq list` shows them.")
@options.bootstrap
@options.located_history
@options.reasons("All")
@options.any_tenant
@options.form
@errors.reported
def settle(
    letters: tuple[str, ...],
    bootstrap: str | None,
    history: Location,
    reasons: tuple[str, ...],
    tenant: str | None,
    form: str | None,
) -> None:
    """Mark dead letters as done.

    `admin dlq list`, alerts and replays then leave them out. In a history that sinks write,
    the mark goes over Kafka and shows when a sink has written it.

    \b
    turnfold admin dlq settle /data/turns.ndjson:0:17 --history memory
    turnfold admin dlq settle --reason invalid --history memory
    """
    if not letters and not reasons:
        raise click.UsageError("name dead letters by ID or by --reason")
    from streams import event_loop
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools import settling
    from streams.kafka.tools.dead_letters import of_history, with_ids

    every = of_history(history, tenant)
    chosen = [
        letter for letter in with_ids(every, letters) if not reasons or letter.reason in reasons
    ]
    unsettled = settling.unsettled(chosen, every)
    event_loop.run(settling.settle(unsettled, history, KafkaSettings.load(bootstrap=bootstrap)))
    counts = {
        "settled": len(unsettled),
        "settled_before": sum(letter.is_settled for letter in chosen),
    }
    output.say_counts(counts, form)
