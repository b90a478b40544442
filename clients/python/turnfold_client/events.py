"""Reads server-sent events: the documents of one session."""

from collections.abc import Iterator
from typing import NamedTuple

from turnfold_client.calls import read
from turnfold_client.models import SessionDocument


class SessionEvent(NamedTuple):
    """The new document of a session. `id`: pass it as `last_event_id` to continue after it."""

    id: str
    session: SessionDocument


class Blocks:
    """The blocks of one stream. `last_id`: id of the newest event; `retry`: seconds to wait before
    connecting again; `gone`: the session no longer exists."""

    def __init__(self, last_id: str | None) -> None:
        self.last_id = last_id
        self.retry = 1.0
        self.gone = False
        self.begin()

    def begin(self) -> None:
        """A new connection: the server sends an unfinished block again."""
        self._rest = ""
        self._fields: dict[str, str] = {}

    def feed(self, text: str) -> Iterator[SessionEvent]:
        """The events that end in this piece. Lines end with a line feed only: httpx would also end
        them at U+2028 and others, which a document may contain."""
        *lines, self._rest = (self._rest + text).split("\n")
        for line in lines:
            name, _, value = line.partition(":")
            if name:  # else it is a comment
                self._fields[name] = value.removeprefix(" ")
            elif not line and (event := self._event()) is not None:
                yield event

    def _event(self) -> SessionEvent | None:
        fields, self._fields = self._fields, {}
        if fields.get("retry", "").isdecimal():
            self.retry = int(fields["retry"]) / 1000
        self.last_id = fields.get("id", self.last_id)
        self.gone = self.gone or fields.get("event") == "gone"
        if fields.get("event") != "session":
            return None
        return SessionEvent(self.last_id or "", read(SessionDocument, fields["data"]))
