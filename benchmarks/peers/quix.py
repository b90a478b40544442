"""The peer job on Quix Streams, in an environment of its own (benchmarks/peers/workers.py).

The state is kept as bytes, the cheapest it offers: a context is encoded once for state, changelog
and output. The fields are decoded by the same msgspec as everybody's.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from quixstreams import Application  # type: ignore[import-not-found]

from benchmarks.peers import job


def update(turn: bytes, state: Any) -> bytes:
    row = state.get_bytes("context")
    context = job.apply(job.decode_row(row) if row else None, job.decode(turn))
    row = job.encode(context)
    state.set_bytes("context", row)
    return row


def main(
    bootstrap: str, group: str, source: str, output: str, _: str, guarantee: str,
    commit_interval: str = "5.0",
) -> None:  # fmt: skip
    app = Application(
        broker_address=bootstrap,
        consumer_group=group,
        processing_guarantee=guarantee,
        commit_interval=float(commit_interval),
        auto_offset_reset="earliest",
        consumer_extra_config={"session.timeout.ms": 10_000},  # the other peers' too
        state_dir=Path(tempfile.gettempdir()) / "state",
        loglevel="WARNING",
    )
    contexts = app.topic(output, value_serializer="bytes")
    turns = app.dataframe(app.topic(source, value_deserializer="bytes"))
    turns.apply(update, stateful=True).to_topic(contexts)
    app.run()


if __name__ == "__main__":
    main(*sys.argv[1:])
