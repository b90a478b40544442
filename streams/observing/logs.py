"""Logs as JSON, one object a line: for those who collect them by machine.

A line says what the text log says, and beside it where: tenant, session, topic, partition, offset
as far as the call names them (`extra=`). Payloads and people's words never go into a log.
"""

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import TextIOBase
from logging import ERROR, INFO
from typing import Any, TextIO

import msgspec

from streams import output

LIBRARIES = ("aiokafka", "faust", "mode")
PLACES = ("tenant", "session", "agent", "topic", "partition", "offset")
REQUESTS = ("method", "route", "status", "ms", "key")
"""Of the server's access log; `key` is the name of the caller's key, never the key."""
NAMED = (*PLACES, *REQUESTS)
"""What a log call may name in `extra`."""
OF_BROKER = {"of_broker": True}
"""`extra` of a line that a broker's loss brings about: it is left out where that has been said
(`streams.kafka.client.outages`)."""

_encode = msgspec.json.Encoder().encode


def place(at: Any, offset: int | None = None) -> dict[str, Any]:
    """`extra` of a topic's partition, as a record or a TopicPartition names it."""
    known = {"topic": at.topic, "partition": at.partition}
    return known if offset is None else {**known, "offset": offset}


class JsonLines(logging.Formatter):
    """A record as `{"time": …, "level": …, "logger": …, "message": …}` and its places."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")
        line: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        known = vars(record)
        line |= {name: known[name] for name in NAMED if known.get(name) is not None}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _encode(line).decode()


class _JsonStderr(TextIOBase):
    """In place of `sys.stderr`: each line that something else than the log writes is an object."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._line = ""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def flush(self) -> None:
        self._stream.flush()

    def write(self, text: str) -> int:
        *lines, self._line = (self._line + text).split("\n")
        for line in filter(str.strip, lines):
            _COMMAND.error("%s", line)
        return len(text)


_COMMAND = logging.getLogger("turnfold")
"""What a command says beside the log: that it has started, why it ends."""


def stderr_as_json() -> None:
    """From now on stderr has one JSON object per line, whoever writes it: the log, `output.note`,
    an error of the command line, an exception that nobody has caught. Can be called again."""
    if isinstance(sys.stderr, _JsonStderr):
        return
    logging.basicConfig()  # the handler keeps the stream that is there now
    for handler in logging.getLogger().handlers:
        handler.setFormatter(JsonLines())
    logging.captureWarnings(True)
    _COMMAND.setLevel(logging.INFO)
    sys.stderr = _JsonStderr(sys.stderr)
    output.redirect_notes(lambda text, failed: _COMMAND.log(ERROR if failed else INFO, "%s", text))
    sys.excepthook = lambda kind, error, trace: _COMMAND.critical(
        "%s", kind.__name__, exc_info=(kind, error, trace)
    )
    threading.excepthook = lambda given: _COMMAND.critical(
        "thread %s: %s", given.thread and given.thread.name, given.exc_type.__name__,
        exc_info=given.exc_value,
    )  # fmt: skip


@contextmanager
def quiet(name: str, level: int = logging.CRITICAL) -> Iterator[None]:
    """A logger says nothing below that level meanwhile: its caller tells it in other words."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)


def log_to_stderr(verbose: bool = False, as_json: bool = False, *, libraries: bool = True) -> None:
    """Logs warnings, and what our own modules say; with `verbose` also what the libraries say.

    `as_json`: one object per line. `libraries`: False for a command that ends by itself: what stops
    a library from working is raised there, and the command reports it.
    """
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    if verbose:  # the option --log-format may have configured it before
        logging.getLogger().setLevel(level)
    if as_json:
        stderr_as_json()
    logging.getLogger("streams").setLevel(logging.INFO)
    for name in () if libraries else LIBRARIES:
        logging.getLogger(name).setLevel(logging.CRITICAL)
