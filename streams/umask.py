"""Sets the umask: files are readable only by this account (docs/security.md, "Files")."""

import os

from streams.errors import ConfigurationError

UMASK = "TURNFOLD_UMASK"
"""Variable of the setting: octal, as in `umask`. 027 lets the group read."""
PRIVATE = "077"


def keep_files_private() -> None:
    """Creates files with mode 0600 and folders with 0700 from now on, including files of libraries
    and child processes.

    Raises ConfigurationError for an invalid setting, or one that excludes the owner.
    """
    os.umask(umask_of(os.environ.get(UMASK) or PRIVATE))


def umask_of(text: str) -> int:
    """The setting as a number. Raises ConfigurationError."""
    try:
        umask = int(text, 8)
    except ValueError:
        umask = -1
    if not 0 <= umask <= 0o077:
        raise ConfigurationError(
            f"{UMASK}: {text!r} is not a umask from 000 to 077; 077 limits files to this account, "
            "027 lets its group read them"
        )
    return umask
