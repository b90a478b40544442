"""The result of a check, with a severity."""

import os
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from streams.configuration import LOGIN, NOT_SHOWN, QUERY, SECRETS

Status = Literal["ok", "warning", "wrong"]
EXIT: dict[Status, int] = {"ok": 0, "warning": 1, "wrong": 2}
"""Status -> severity, which is the command's exit code."""
STORE_SECRETS = re.compile(r"(SECRET|TOKEN|ACCESS_KEY)$")
"""Names of variables with secrets of object stores."""
SHORT = 3
"""Maximum characters of a value that is not treated as a secret: it would redact plain words."""


class Finding(NamedTuple):
    """A line of the report. `found`: the result, `means`: its consequence, `do`: the action; the
    latter two are empty for ok."""

    check: str
    status: Status
    found: str
    means: str = ""
    do: str = ""

    def without_secrets(self) -> "Finding":
        """Redacts the secrets of the environment, which a library's error text may contain."""
        return self._replace(
            found=_hidden(self.found), means=_hidden(self.means), do=_hidden(self.do)
        )


def ok(check: str, text: str) -> Finding:
    """A passed check."""
    return Finding(check, "ok", text)


def warning(check: str, text: str, effect: str, action: str) -> Finding:
    """A risk."""
    return Finding(check, "warning", text, effect, action)


def wrong(check: str, text: str, effect: str, action: str) -> Finding:
    """A failure."""
    return Finding(check, "wrong", text, effect, action)


def worst(findings: Iterable[Finding]) -> Status:
    """The highest severity of the findings."""
    return max((finding.status for finding in findings), key=EXIT.__getitem__, default="ok")


def _hidden(text: str) -> str:
    text = QUERY.sub(rf"\1{NOT_SHOWN}", LOGIN.sub(f"{NOT_SHOWN}@", text))
    for name, value in os.environ.items():
        for secret in (value, value.strip()) if is_secret(name) else ():
            if len(secret) > SHORT:
                text = text.replace(secret, NOT_SHOWN)
    return text


def is_secret(name: str) -> bool:
    """Whether an environment variable has a secret."""
    return bool(SECRETS.search(name.upper()) or STORE_SECRETS.search(name.upper()))
