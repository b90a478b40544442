"""Server-sent events: lines into a session's documents."""

from typing import NamedTuple

from schemas.session import SessionDocument
from streams.client.asking import read


class SessionEvent(NamedTuple):
    """A session as it is from now on. `id` goes on from here: `last_event_id`."""

    id: str
    session: SessionDocument


class Lines:
    """One stream. `last_id`: of the newest event; `retry`: seconds to wait before coming back;
    `gone`: the session is no more."""

    def __init__(self, last_id: str | None) -> None:
        self.last_id = last_id
        self.retry = 1.0
        self.gone = False
        self._fields: dict[str, str] = {}

    def feed(self, line: str) -> SessionEvent | None:
        """The event that ends with this line, if one does."""
        if line:
            name, _, value = line.partition(":")
            if name:  # else it is a comment
                self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        if fields.get("retry", "").isdecimal():
            self.retry = int(fields["retry"]) / 1000
        self.last_id = fields.get("id", self.last_id)
        self.gone = self.gone or fields.get("event") == "gone"
        if fields.get("event") != "session":
            return None
        return SessionEvent(self.last_id or "", read(SessionDocument, fields["data"]))
