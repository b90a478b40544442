"""Dead letters for records from a sender with a clock ahead of the log's clock.

"Latest" is by `occurred_at`, so a record from the future would override all records until that
time. So `occurred_at` is compared with the time at which the log receives the record: the append
time in Kafka, the server's clock over HTTP, this machine's clock when a file is read. Rebuilds skip
this check.
"""

from collections.abc import Sequence
from typing import Any

from schemas.base import MINUTE
from streams.folds.effects import Input
from streams.pipeline.decode import Dead, Decoded, guarded, kept
from streams.record_kinds import kind_of

MOST = 15 * MINUTE
"""Microseconds that the clocks of senders may be ahead."""
REASON = (
    f"more than {MOST // MINUTE} minutes ahead of the log's clock; set the sender's clock and send "
    "it again"
)


def dead(record: Input, line: bytes) -> Dead:
    """Returns the dead letter of a record, read from `line`. It has no time, as the record's time
    is wrong."""
    content: Any = record.record
    name = "occurred_at" if content.occurred_at >= record.recorded_at else "recorded_at"
    key = f"{content.tenant}/{getattr(content, kind_of(content).owner)}"
    letter = Dead("invalid", f"{name}: {REASON}", kept(line), content.tenant, key)
    return guarded(letter, line)


def refuse(records: list[Decoded], lines: Sequence[tuple[bytes, Any]], log_time: int) -> None:
    """Replaces records that are ahead by dead letters. `log_time`: time of the log
    (microseconds)."""
    latest = log_time + MOST
    for place, record in enumerate(records):
        if type(record) is Input and (
            record.record.occurred_at > latest or record.recorded_at > latest
        ):
            records[place] = dead(record, lines[place][0])
