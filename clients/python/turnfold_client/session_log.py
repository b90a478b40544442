"""The original messages of a session: the base of the adapters for frameworks."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from turnfold_client.errors import NotKeptError
from turnfold_client.models import StoredMessage
from turnfold_client.sync_client import Turnfold
from turnfold_client.times import format_time

WAIT = "wait=30"
"""An adapter returns once the server has applied its write."""
MOST = 1000
"""Messages of a request."""

Json = dict[str, Any]


class Item(NamedTuple):
    """A message. `original`: the framework's own form. `said`: the part that memory reads, in the
    form of OpenAI's APIs, or None."""

    original: Any
    said: Json | None


class SessionLog:
    """What was said in one session, in order, from any number of processes."""

    def __init__(self, client: Turnfold, session_id: str, user_id: str) -> None:
        self._client = client
        self.session_id = session_id
        self.user_id = user_id

    def add(self, items: Iterable[Item]) -> None:
        """Appends messages: all of them, or none where there are at most a thousand. Raises
        NotKeptError, ClientError."""
        messages = [
            {**(said or {}), "original": encoded(original, f"message {index}")}
            for index, (original, said) in enumerate(items)
        ]
        for start in range(0, len(messages), MOST):
            reply = self._client.add(
                messages[start : start + MOST],
                user_id=self.user_id,
                session_id=self.session_id,
                prefer=WAIT,
            )
            if reply is not None and "withheld" in reply.counts:
                raise NotKeptError(
                    "nothing of these messages was kept: one of them says `source: meta_request`; "
                    "do not add messages of that kind"
                )

    def all(self) -> list[Any]:
        """Every message in order, in the framework's form."""
        return [json.loads(one.original) for one in self._kept()]

    def newest(self, count: int) -> list[Any]:
        """The last messages, at most so many, in order."""
        if count <= 0:
            return []
        found: list[Any] = []
        for one in self._newest_first(min(count, MOST)):
            found.append(json.loads(one.original))
            if len(found) == count:
                break
        return found[::-1]

    def pop(self) -> Any | None:
        """Retracts and returns the last message, or returns None without one. Concurrent callers
        get different messages."""
        for one in self._newest_first(10):
            if self._take_back([one]):
                return json.loads(one.original)
        return None

    def clear(self) -> None:
        """Retracts every message."""
        self._remove(self._kept())

    def replace(self, items: Sequence[Item]) -> None:
        """Makes these the messages of the session: the common prefix stays."""
        kept = self._kept()
        same = 0
        for one, item in zip(kept, items, strict=False):
            if json.loads(one.original) != item.original:
                break
            same += 1
        self._remove(kept[same:])
        self.add(items[same:])

    def _kept(self) -> list[StoredMessage]:
        return list(self._client.iter_session_messages(self.session_id, limit=MOST))

    def _remove(self, kept: Sequence[StoredMessage]) -> None:
        for start in range(0, len(kept), MOST):
            self._take_back(kept[start : start + MOST])

    def _newest_first(self, page: int) -> Iterable[StoredMessage]:
        return self._client.iter_session_messages(self.session_id, order="newest", limit=page)

    def _take_back(self, messages: Sequence[StoredMessage]) -> bool:
        """Whether this call retracted (one of) them: the retraction of a message has one id and
        time, so a second call is a duplicate."""
        signals = [
            {
                "type": "signal",
                "signal_id": f"back-{one.id}"[:128],
                "scope": "session",
                "session_id": self.session_id,
                "user_id": self.user_id,
                "occurred_at": format_time(one.at),
                "takes_back": one.id,
            }
            for one in messages
        ]
        reply = self._client.post_records(signals, prefer=WAIT)
        failed = [one for one in reply.results if one.ending in ("dead", "refused", "withheld")]
        if failed:
            raise NotKeptError(f"messages could not be taken back: {failed[0].detail}")
        return any(one.ending != "duplicate" for one in reply.results)


def encoded(value: Any, what: str) -> str:
    """A value as JSON text that restores it exactly. Raises NotKeptError."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()  # half of a surrogate pair is not text
        if json.loads(text) == value:
            return text
        reason = "would come back changed"
    except (TypeError, ValueError, RecursionError) as error:
        reason = str(error)
    raise NotKeptError(
        f"{what} is not JSON: {reason}; make it of text, numbers, booleans, None, lists and "
        "dictionaries with text as keys"
    )


def text_of(content: Any) -> str:
    """The text of a message's content: text itself, or its parts' text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return ""
    parts = [one if isinstance(one, str) else _text_of_part(one) for one in content]
    return "\n".join(part for part in parts if part)


def _text_of_part(part: Any) -> str:
    found = part.get("text") or part.get("refusal") if isinstance(part, Mapping) else None
    return found if isinstance(found, str) else ""
