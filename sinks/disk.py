"""Troubles of a disk, told apart from faults of data: nobody is to blame, and they may pass.

Libraries in Rust and C++ give the system's words and no number. Imports nothing slow.
"""

import os
from errno import EDQUOT, EFBIG, EIO, ENOSPC, EROFS

TROUBLES = (ENOSPC, EDQUOT, EIO, EROFS, EFBIG)
_WORDS = {os.strerror(number).lower(): os.strerror(number) for number in TROUBLES}


def trouble(error: BaseException) -> str | None:
    """The system's word for it ("No space left on device"); None where it is something else."""
    if isinstance(error, OSError) and error.errno in TROUBLES:
        return os.strerror(error.errno)
    said = str(error).lower()
    return next((word for sign, word in _WORDS.items() if sign in said), None)
