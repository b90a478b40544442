"""Records whose sender's clock is ahead of the log's: they become dead letters.

"Latest" is by `occurred_at`. A record from the future would win over all that people say until that
time comes, and would then lose by itself. So `occurred_at` is compared with the time at which the
log takes the record: the append time in Kafka, the server's clock over HTTP, the clock of this
machine when a file is read. Records of the history are folded again without this check.
"""

from collections.abc import Sequence
from typing import Any

from schemas.base import MINUTE
from streams.folds.rows import Input
from streams.kinds import kind_of
from streams.pipeline.decode import Dead, Decoded, guarded, kept

MOST = 15 * MINUTE
"""Microseconds that the clocks of senders may be ahead."""
REASON = (
    f"more than {MOST // MINUTE} minutes ahead of the log's clock; set the sender's clock and send "
    "it again"
)


def dead(record: Input, line: bytes) -> Dead:
    """The dead letter of a record; `line`: the bytes that it was read from. Without a time: the
    time that it gives is wrong."""
    content: Any = record.record
    name = "occurred_at" if content.occurred_at >= record.recorded_at else "recorded_at"
    key = f"{content.tenant}/{getattr(content, kind_of(content).owner)}"
    letter = Dead("invalid", f"{name}: {REASON}", kept(line), content.tenant, key)
    return guarded(letter, line)


def refuse(records: list[Decoded], lines: Sequence[tuple[bytes, Any]], log_time: int) -> None:
    """Puts dead letters in place of the records that are ahead. `log_time`: when the log takes
    them (microseconds)."""
    latest = log_time + MOST
    for place, record in enumerate(records):
        if type(record) is Input and (
            record.record.occurred_at > latest or record.recorded_at > latest
        ):
            records[place] = dead(record, lines[place][0])
