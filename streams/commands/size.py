"""The command `admin size`."""

from typing import Any

import click

from streams import output
from streams.commands import errors, options

GB = 1e9


@click.command()
@click.option(
    "--sample", metavar="FILE", required=True,
    help="Your input records: NDJSON, .gz or .parquet, as `run` reads them. At least 10,000 turns.",
)  # fmt: skip
@click.option(
    "--turns-per-day", type=options.Whole(1, 10**12), help="Also print the totals of a day."
)
@options.form
@errors.reported
def size(sample: str, turns_per_day: int | None, form: str | None) -> None:
    """Measure the bytes and CPU of a sample of your records.

    Shows topics, tables, store and search index. Folds the sample in a temporary folder, with the
    extractor `rules`, and needs no broker. docs/sizing.md explains the figures.

    Example: turnfold admin size --sample turns.ndjson --turns-per-day 5000000
    """
    from streams.apps.size import FEW, measure

    measured = measure(sample)
    totals = measured.a_day(turns_per_day) if turns_per_day else None
    if form:
        output.say_as(form, {**measured._asdict(), "per_day": totals})
        return
    turns = output.counted(measured.turns, "turn")
    sessions = output.counted(measured.sessions, "session")
    users = output.counted(measured.users, "user")
    output.say(f"{turns} in {sessions} of {users}")
    rows: list[dict[str, Any]] = [
        *_rows(measured.bytes_per_turn, "bytes per turn", ",.0f"),
        *_rows(measured.bytes_per_session, "bytes per session", ",.0f"),
        *_rows(measured.cpu_us_per_turn, "µs of CPU per turn", ",.0f"),
    ]
    output.table(rows, ["what", "measured", "unit"])
    if totals is not None:
        output.say(f"a day of {turns_per_day:,} turns:")
        output.table(list(_day(totals)), ["what", "measured", "unit"])
    if measured.dead:
        output.note(f"turnfold: {output.counted(measured.dead, 'dead letter')}: counted as well")
    if measured.turns < FEW:
        output.note(
            f"turnfold: fewer than {FEW:,} turns: what a file takes by itself weighs too much, "
            "above all in the tables"
        )


def _rows(amounts: dict[str, float], unit: str, form: str) -> list[dict[str, Any]]:
    return [
        {"what": name, "measured": format(amount, form), "unit": unit}
        for name, amount in amounts.items()
    ]


def _day(totals: dict[str, float]) -> list[dict[str, Any]]:
    """Totals with their unit, which is the last word of their name."""
    rows = []
    for name, amount in totals.items():
        label, _, unit = name.rpartition(", ")
        figure = f"{amount / GB:,.3f}" if unit == "bytes" else f"{amount:,.3f}"
        rows.append({"what": label, "measured": figure, "unit": "GB" if unit == "bytes" else unit})
    return rows
