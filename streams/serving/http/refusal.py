"""A rejected request, as a problem document."""

from collections.abc import Sequence

import msgspec
from starlette.types import Message, Send

Header = tuple[bytes, bytes]


class Refusal(Exception):  # noqa: N818 - an answer, not a fault
    """Answered as an RFC 9457 document. `detail` contains no request data."""

    def __init__(self, status: int, title: str, detail: str, *headers: Header) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.detail = detail
        self.headers = list(headers)
        self.body = problem(status, title, detail)

    async def answer(self, send: Send) -> None:
        await send(start(self.status, self.body, self.headers))
        await send({"type": "http.response.body", "body": self.body})


def problem(status: int, title: str, detail: str) -> bytes:
    """The document; its type is the title in small letters, under /problems."""
    kind = "/problems/" + title.lower().replace(" ", "-")
    document = {"type": kind, "title": title, "status": status, "detail": detail}
    return msgspec.json.encode(document)


def start(status: int, body: bytes, headers: Sequence[Header]) -> Message:
    content = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", b"%d" % len(body)),
    ]
    return {"type": "http.response.start", "status": status, "headers": [*content, *headers]}
