"""What is packed in bytes and texts: base64, gzip, zlib. One budget bounds what one message unpacks
to, in all its pieces together."""

import zlib
from binascii import Error, a2b_base64

MAX_BYTES = 16_000_000
"""Bytes that a message may unpack to, all that is packed in it together."""
MAX_PIECES = 200_000
"""Texts, objects, lists and elements that are unpacked of a message."""
STEP = 4096
"""Packed bytes of a damaged stream that are unpacked at a time."""
_BEGINS = (b"\x1f", b"\x78")
_ZLIB_OR_GZIP = zlib.MAX_WBITS | 32
_STANDARD = str.maketrans("-_", "+/")


class TooMuch(ValueError):  # noqa: N818 - what it is
    """A message unpacks to more than may be looked at."""


class Budget:
    """What is left to unpack of one message."""

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
    """What letters of either alphabet stand for, padded or not, less a last one that stands for
    nothing; no bytes for other text."""
    whole = letters.rstrip("=").translate(_STANDARD)
    whole = whole[:-1] if len(whole) % 4 == 1 else whole
    try:
        return a2b_base64(whole + "=" * (-len(whole) % 4))
    except (Error, ValueError):
        return b""


def inflated(content: bytes, budget: Budget) -> bytes | None:
    """A gzip or zlib stream unpacked, up to where it is cut or damaged; None for other bytes.
    Raises TooMuch."""
    if content[:1] not in _BEGINS:
        return None
    most, unpack = budget.bytes + 1, zlib.decompressobj(_ZLIB_OR_GZIP)
    try:
        unpacked = unpack.decompress(content, most)
    except zlib.error:
        unpacked = _before_fault(content, most)
    if not unpack.eof and len(unpacked) < most and _is_text(content):
        return None
    budget.spend(len(unpacked), 1)
    return unpacked or None


def _is_text(content: bytes) -> bool:
    """Words may begin as zlib streams do."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _before_fault(content: bytes, most: int) -> bytes:
    """What can be unpacked of a stream with a fault: by steps up to that, then byte by byte. Bytes
    that only begin as a stream have it at once."""
    unpack, unpacked, start, step = zlib.decompressobj(_ZLIB_OR_GZIP), bytearray(), 0, STEP
    while start < len(content) and len(unpacked) < most:
        before = unpack.copy() if step > 1 else unpack
        try:
            unpacked += unpack.decompress(content[start : start + step], most - len(unpacked))
        except zlib.error:
            if step == 1:
                break
            unpack, step = before, 1
            continue
        start += step
    return bytes(unpacked)
