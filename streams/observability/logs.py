"""JSON logs, one object per line, for log collectors.

A line has the message of the text log, and the fields of the call's `extra=`: tenant, session,
topic, partition, offset. Payloads and users' words are never logged."""

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import TextIOBase
from logging import ERROR, INFO, WARNING
from typing import Any, TextIO

import msgspec

from streams import output

LIBRARIES = ("aiokafka", "faust", "mode")
WARNINGS_ONLY = "TURNFOLD_LOG_WARNINGS_ONLY"
"""Set by `turnfold dev` for its parts: they share a terminal."""
PLACES = ("tenant", "session", "agent", "topic", "partition", "offset")
REQUESTS = ("method", "route", "status", "ms", "key")
"""Fields of the server's access log; `key` is the name of the caller's key, never the key."""
FIELDS = (*PLACES, *REQUESTS)
"""Fields that `extra` may have."""
OF_BROKER = {"of_broker": True}
"""`extra` of a line caused by the loss of a broker: `streams.kafka.client.outage_log` suppresses it
during a reported outage."""

_encode = msgspec.json.Encoder().encode


def place(at: Any, offset: int | None = None) -> dict[str, Any]:
    """The `extra` of a record or a TopicPartition."""
    fields = {"topic": at.topic, "partition": at.partition}
    return fields if offset is None else {**fields, "offset": offset}


class JsonLines(logging.Formatter):
    """Formats a record as `{"time": …, "level": …, "logger": …, "message": …}` with its fields."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="microseconds")
        line: dict[str, Any] = {
            "time": at.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        attributes = vars(record)
        line |= {name: attributes[name] for name in FIELDS if attributes.get(name) is not None}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _encode(line).decode()


class _JsonStderr(TextIOBase):
    """Replaces `sys.stderr`: writes each line from outside the log as a JSON object."""

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
"""Logger of a command's messages: its start, its end."""


def stderr_as_json() -> None:
    """Switches stderr to one JSON object per line: of the log, `output.note`, command-line errors
    and uncaught exceptions. Idempotent."""
    if isinstance(sys.stderr, _JsonStderr):
        return
    logging.basicConfig()  # the handler keeps the current stream
    for handler in logging.getLogger().handlers:
        handler.setFormatter(JsonLines())
    logging.captureWarnings(True)
    _COMMAND.setLevel(logging.INFO)
    sys.stderr = _JsonStderr(sys.stderr)
    output.redirect_notes(lambda text, failed: _COMMAND.log(ERROR if failed else INFO, "%s", text))
    sys.excepthook = lambda kind, error, trace: _COMMAND.critical(
        "%s", kind.__name__, exc_info=(kind, error, trace)
    )
    threading.excepthook = lambda failure: _COMMAND.critical(
        "thread %s: %s", failure.thread and failure.thread.name, failure.exc_type.__name__,
        exc_info=failure.exc_value,
    )  # fmt: skip


@contextmanager
def quiet(name: str, level: int = logging.CRITICAL) -> Iterator[None]:
    """Mutes a logger below a level within this context: the caller reports the errors itself."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)


def log_to_stderr(verbose: bool = False, as_json: bool = False, *, libraries: bool = True) -> None:
    """Logs warnings, and the info of Turnfold's modules (unless the environment has WARNINGS_ONLY);
    with `verbose` also the libraries' info.

    `as_json`: one object per line. `libraries`: False for a command that ends by itself: it reports
    the errors that libraries raise.
    """
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    if verbose:  # --log-format may have configured it before
        logging.getLogger().setLevel(level)
    if as_json:
        stderr_as_json()
    logging.getLogger("streams").setLevel(WARNING if WARNINGS_ONLY in os.environ else INFO)
    for name in () if libraries else LIBRARIES:
        logging.getLogger(name).setLevel(logging.CRITICAL)
