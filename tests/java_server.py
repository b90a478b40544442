"""A server in Java that a test starts on the loopback, and that ends with it."""

import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Self

from streams.broker.process import spawn
from tests.waiting import WITHIN


class JavaServer:
    """One that runs, at `url`. A context manager, or `stop` it."""

    name: ClassVar[str]
    starts_within: ClassVar[float] = WITHIN
    errors_are_answers: ClassVar[bool] = False
    """Whether it is up though it refuses us."""

    def __init__(self, command: list[str], log: Path, url: str, asked: str) -> None:
        """Starts it, and waits until `asked` is answered."""
        self.url = url
        java, *arguments = command
        temporary = f"-Djava.io.tmpdir={log.parent}"  # Vert.x's folder there has a fixed name
        self._process = spawn([java, temporary, *arguments], log, tied=True)
        deadline = time.monotonic() + self.starts_within
        while not self._answers(asked):
            if time.monotonic() > deadline or self._process.poll() is not None:
                self.stop()
                raise AssertionError(f"{self.name} does not start:\n{log.read_text()[-3000:]}")
            time.sleep(0.05)

    def _answers(self, asked: str) -> bool:
        try:
            urllib.request.urlopen(asked, timeout=WITHIN).close()
        except urllib.error.HTTPError as error:
            error.close()
            return self.errors_are_answers
        except OSError:
            return False
        return True

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """It keeps its connections and answers nothing."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def stop(self, within: float = 20.0) -> None:
        """Ends it; kills it where that takes longer."""
        self._process.terminate()
        try:
            self._process.wait(within)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
