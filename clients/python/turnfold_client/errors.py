"""Exceptions of the clients.

ClientError
  + UnreachableError         no answer in time
  + LocalServerError         no server could be started (`Turnfold.local`)
  + SpoolError               the spool cannot be read or written
  + NotKeptError             an adapter cannot store this unchanged; includes the remedy
  + ReplyError               the answer is not Turnfold's, or of a newer version than this client
  + StatusError              a problem document (RFC 9457), in `problem`
      + BadRequestError      400  not JSON, no tenant
      + UnauthorizedError    401  no key, or an unknown one
      + ForbiddenError       403  the key has another role or tenant
      + NotFoundError        404  no such id
      + ConflictError        409  the id belongs to another record
      + TooLargeError        413  body too large, or too many records
      + InvalidError         422  `problem.errors` names field, reason and position
      + BusyError            429  the server is busy; raised after all retries
      + ServerError          5xx
          + UnsupportedError 501  no history or model, or an erasure over Kafka: `problem.type`
          + NotReadyError    503  not ready; raised after all retries
          + NoRoomError      507  the server's disk is full
"""

import httpx
from pydantic import ValidationError

from turnfold_client.models import ProblemDocument


class ClientError(Exception):
    """Any error of a call."""


class UnreachableError(ClientError):
    """The server did not answer; includes the remedy. `__cause__` is httpx's own error."""


class LocalServerError(ClientError):
    """A server over a folder could not be started; includes the reason and the remedy."""


class SpoolError(ClientError):
    """The spool cannot be read or written."""


class NotKeptError(ClientError):
    """A framework's adapter cannot store a value unchanged; includes the reason and the remedy."""


class ReplyError(ClientError):
    """An answer that is not Turnfold's."""


class StatusError(ClientError):
    """A problem that the server reports."""

    def __init__(self, problem: ProblemDocument) -> None:
        super().__init__(f"{problem.status} {problem.title}: {problem.detail}")
        self.problem = problem


class BadRequestError(StatusError):
    """400"""


class UnauthorizedError(StatusError):
    """401"""


class ForbiddenError(StatusError):
    """403"""


class NotFoundError(StatusError):
    """404"""


class ConflictError(StatusError):
    """409"""


class TooLargeError(StatusError):
    """413"""


class InvalidError(StatusError):
    """422"""


class BusyError(StatusError):
    """429"""


class ServerError(StatusError):
    """5xx"""


class UnsupportedError(ServerError):
    """501"""


class NotReadyError(ServerError):
    """503"""


class NoRoomError(ServerError):
    """507"""


BY_STATUS: dict[int, type[StatusError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    422: InvalidError,
    429: BusyError,
    501: UnsupportedError,
    503: NotReadyError,
    507: NoRoomError,
}


def of(response: httpx.Response) -> StatusError:
    """The error of a response. One that a proxy sent has no problem document: it gets one."""
    status = response.status_code
    try:
        problem = ProblemDocument.model_validate_json(response.content, extra="ignore")
    except ValidationError:
        title = response.reason_phrase or "Unknown status"
        detail = response.text[:200] or "no problem document"
        problem = ProblemDocument(type="about:blank", title=title, status=status, detail=detail)
    return BY_STATUS.get(status, ServerError if status >= 500 else StatusError)(problem)
