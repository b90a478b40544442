"""What our processes write is for their own account alone (docs/security.md, "Files")."""

import os

from streams.errors import ConfigurationError

UMASK = "TURNFOLD_UMASK"
"""The environment's setting: octal, as `umask` takes it. 027 lets the group read."""
PRIVATE = "077"


def keep_files_private() -> None:
    """Files get mode 0600 and folders 0700 from now on, also when a library makes them.
    Child processes inherit it.

    Raises ConfigurationError for a setting that is no umask, or keeps the owner out.
    """
    os.umask(umask_of(os.environ.get(UMASK) or PRIVATE))


def umask_of(told: str) -> int:
    """The setting as a number. Raises ConfigurationError."""
    try:
        umask = int(told, 8)
    except ValueError:
        umask = -1
    if not 0 <= umask <= 0o077:
        raise ConfigurationError(
            f"{UMASK}: {told!r} is no umask from 000 to 077; 077 keeps files to this account, "
            "027 lets its group read them"
        )
    return umask
