"""What a client raises.

ClientError
  + UnreachableError         nothing answers, or not in time
  + ReplyError               what answers is no Turnfold, or a newer one than this client
  + StatusError              a problem document (RFC 9457), in `problem`
      + BadRequestError      400  not JSON, no tenant
      + UnauthorizedError    401  no key, or an unknown one
      + ForbiddenError       403  the key's role or tenant is another
      + NotFoundError        404  nothing of that id
      + ConflictError        409  the id was used for something else
      + TooLargeError        413  body or number of records
      + InvalidError         422  `problem.errors` says field, reason and position
      + BusyError            429  more than the server takes; retried before it is raised
      + ServerError          5xx
          + NoHistoryError   501  the server has no history to ask
          + NotReadyError    503  nobody answers for that key now; retried likewise
          + NoRoomError      507  the server's disk is full
"""

import httpx
from pydantic import ValidationError

from schemas.http import ProblemDocument
from streams.errors import TurnfoldError


class ClientError(TurnfoldError):
    """Whatever goes wrong in a call."""


class UnreachableError(ClientError):
    """No answer; `__cause__` is httpx's own error."""

    exit_code = 5


class ReplyError(ClientError):
    """An answer that is none of Turnfold's."""


class StatusError(ClientError):
    """An answer that says what is wrong."""

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


class NoHistoryError(ServerError):
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
    501: NoHistoryError,
    503: NotReadyError,
    507: NoRoomError,
}


def of(response: httpx.Response) -> StatusError:
    """The error that a reply stands for, whoever sent it: a proxy in between has no problem
    document."""
    status = response.status_code
    try:
        problem = ProblemDocument.model_validate_json(response.content, extra="ignore")
    except ValidationError:
        title = response.reason_phrase or "Unknown status"
        detail = response.text[:200] or "no problem document"
        problem = ProblemDocument(type="about:blank", title=title, status=status, detail=detail)
    return BY_STATUS.get(status, ServerError if status >= 500 else StatusError)(problem)
