"""One of several installations on a cluster: what its processes are told, and its worker."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streams.broker import Broker
from tests.command import environment, turnfold
from tests.kafka.working import TOO_LONG, Working, settings_of


class Installation:
    """`told`: settings of Kafka (BOOTSTRAP, …) as its processes have them in their environment."""

    def __init__(self, broker: Broker, prefix: str, folder: Path, **told: str) -> None:
        folder.mkdir(exist_ok=True)
        self.working = Working(settings_of(broker), folder)
        self.folder, self.prefix = folder, prefix
        given = {"BOOTSTRAP": broker.bootstrap, "TOPIC_PREFIX": prefix, **told}
        self.env = environment(**{f"TURNFOLD_KAFKA_{name}": text for name, text in given.items()})

    def run(self, *args: str | Path) -> Any:
        """What a command says; it must succeed."""
        done = turnfold(*args, "-o", "json", env=self.env)
        assert done.code == 0, done.err
        return done.json()

    def await_read(self, group: str = "turnfold") -> None:
        """Until the workers of an app have read all that was sent and made of it."""
        deadline = time.monotonic() + TOO_LONG
        calm = 0
        while calm < 3:
            done = turnfold("kafka", "lag", "--group", group, "-o", "json", env=self.env)
            assert done.code == 0 or "has no committed offsets" in done.err, done.err
            behind = [one["lag"] for one in done.json()] if done.code == 0 else [1]
            calm = 0 if any(behind) else calm + 1
            assert time.monotonic() < deadline, self.working.log()[-3000:]


@contextmanager
def installed(
    broker: Broker, prefix: str, folder: Path, *, options: Sequence[str] = (), **told: str
) -> Iterator[Installation]:
    """One whose worker, with these options, is ready."""
    made = Installation(broker, prefix, folder, **told)
    made.working.start(*options, env=made.env)
    try:
        made.working.await_ready()
        yield made
    finally:
        made.working.stop()
