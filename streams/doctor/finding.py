"""What a check has found, and how bad it is."""

import os
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from streams.configuration import LOGIN, NOT_SHOWN, QUERY, SECRETS

Status = Literal["ok", "warning", "wrong"]
EXIT: dict[Status, int] = {"ok": 0, "warning": 1, "wrong": 2}
"""By status: how bad it is, and the command's exit code."""
OTHERS = re.compile(r"(SECRET|TOKEN|ACCESS_KEY)$")
"""The variables of object stores that hold one."""
SHORT = 3
"""Characters. A secret as short as that would blot out plain words; it is none."""


class Finding(NamedTuple):
    """One line of the report. `found` is what is so, `means` what follows from it, `do` what to do;
    both are empty where all is well."""

    check: str
    status: Status
    found: str
    means: str = ""
    do: str = ""

    def without_secrets(self) -> "Finding":
        """Whatever a library's error has said: no secret of the environment stands in it."""
        return self._replace(
            found=_hidden(self.found), means=_hidden(self.means), do=_hidden(self.do)
        )


def ok(check: str, found: str) -> Finding:
    """All is well."""
    return Finding(check, "ok", found)


def warning(check: str, found: str, means: str, do: str) -> Finding:
    """It works, but something may go wrong."""
    return Finding(check, "warning", found, means, do)


def wrong(check: str, found: str, means: str, do: str) -> Finding:
    """Something does not work."""
    return Finding(check, "wrong", found, means, do)


def worst(findings: Iterable[Finding]) -> Status:
    """The status of all of them together."""
    return max((one.status for one in findings), key=EXIT.__getitem__, default="ok")


def _hidden(text: str) -> str:
    text = QUERY.sub(rf"\1{NOT_SHOWN}", LOGIN.sub(f"{NOT_SHOWN}@", text))
    for name, value in os.environ.items():
        for secret in (value, value.strip()) if is_secret(name) else ():
            if len(secret) > SHORT:
                text = text.replace(secret, NOT_SHOWN)
    return text


def is_secret(name: str) -> bool:
    """Whether a variable of the environment holds one."""
    return bool(SECRETS.search(name.upper()) or OTHERS.search(name.upper()))
