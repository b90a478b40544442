"""Server-sent events: text into a session's documents."""

from collections.abc import Iterator
from typing import NamedTuple

from schemas.session import SessionDocument
from streams.client.asking import read


class SessionEvent(NamedTuple):
    """A session as it is from now on. `id` goes on from here: `last_event_id`."""

    id: str
    session: SessionDocument


class Blocks:
    """One stream. `last_id`: of the newest event; `retry`: seconds to wait before coming back;
    `gone`: the session is no more."""

    def __init__(self, last_id: str | None) -> None:
        self.last_id = last_id
        self.retry = 1.0
        self.gone = False
        self.begin()

    def begin(self) -> None:
        """A new connection: what the last one broke off in is sent again."""
        self._rest = ""
        self._fields: dict[str, str] = {}

    def feed(self, text: str) -> Iterator[SessionEvent]:
        """The events that end in this piece. Lines end with a line feed alone: httpx's own end at
        U+2028 and others, too, which a document may hold."""
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
