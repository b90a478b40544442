"""Decodes base64, gzip and zlib within bytes and texts. A budget limits the total of a message."""

import zlib
from binascii import Error, a2b_base64

MAX_BYTES = 16_000_000
"""Total of unpacked bytes per message."""
MAX_PIECES = 200_000
"""Total of unpacked texts, objects, lists and elements per message."""
STEP = 4096
"""Packed bytes of a damaged stream that are unpacked at a time."""
_BEGINS = (b"\x1f", b"\x78")
_ZLIB_OR_GZIP = zlib.MAX_WBITS | 32
_STANDARD = str.maketrans("-_", "+/")


class TooMuch(ValueError):  # noqa: N818 - what it is
    """A message exceeds the budget."""


class Budget:
    """Remaining bytes and pieces of one message."""

    def __init__(self, bytes: int = MAX_BYTES, pieces: int = MAX_PIECES) -> None:
        self.bytes = bytes
        self.pieces = pieces

    def spend(self, bytes: int, pieces: int) -> None:
        """Raises TooMuch."""
        self.bytes -= bytes
        self.pieces -= pieces
        if self.bytes < 0 or self.pieces < 0:
            raise TooMuch(
                f"what is packed in it is more than {MAX_BYTES} bytes or {MAX_PIECES} elements"
            )


def of_base64(letters: str) -> bytes:
    """Decodes base64 of either alphabet, padded or not; ignores an incomplete last character.
    Returns no bytes for other text."""
    digits = letters.rstrip("=").translate(_STANDARD)
    digits = digits[:-1] if len(digits) % 4 == 1 else digits
    try:
        return a2b_base64(digits + "=" * (-len(digits) % 4))
    except (Error, ValueError):
        return b""


def inflated(content: bytes, budget: Budget) -> bytes | None:
    """Unpacks a gzip or zlib stream up to where it is truncated or damaged, or returns None for
    other bytes. Raises TooMuch."""
    if content[:1] not in _BEGINS:
        return None
    limit, unpack = budget.bytes + 1, zlib.decompressobj(_ZLIB_OR_GZIP)
    try:
        unpacked = unpack.decompress(content, limit)
    except zlib.error:
        unpacked = _before_fault(content, limit)
    if not unpack.eof and len(unpacked) < limit and _is_text(content):
        return None
    budget.spend(len(unpacked), 1)
    return unpacked or None


def _is_text(content: bytes) -> bool:
    """Whether the bytes are text, which may start like a zlib stream."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _before_fault(content: bytes, limit: int) -> bytes:
    """Unpacks a damaged stream: in steps up to the damage, then byte by byte. Bytes that only start
    like a stream fail at once."""
    unpack, unpacked, start, step = zlib.decompressobj(_ZLIB_OR_GZIP), bytearray(), 0, STEP
    while start < len(content) and len(unpacked) < limit:
        before = unpack.copy() if step > 1 else unpack
        try:
            unpacked += unpack.decompress(content[start : start + step], limit - len(unpacked))
        except zlib.error:
            if step == 1:
                break
            unpack, step = before, 1
            continue
        start += step
    return bytes(unpacked)
