"""One unpacker with one budget: for letters, withheld requests, mapped events."""

import gzip
import json
import os
import zlib
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from random import Random

import pytest

from sinks.dead_letter_owners import GOES, MAY_NAME, Letters
from sinks.decompress import MAX_BYTES, MAX_PIECES, Budget, TooMuch, inflated, of_base64
from streams.mapping import embedded_json
from streams.pipeline import withheld

SAID = json.dumps({"user_id": "ann", "source": "meta_request"}).encode()
PACK: list[Callable[[bytes], bytes]] = [gzip.compress, zlib.compress]


def test_base64_of_either_alphabet_with_or_without_padding() -> None:
    draw = Random(1)
    for size in range(60):
        content = draw.randbytes(size)
        for text in (b64encode(content).decode(), urlsafe_b64encode(content).decode()):
            for form in (text, text.rstrip("=")):
                assert of_base64(form) == content
        assert of_base64(b64encode(content).decode().rstrip("=") + "A"[: size % 3 == 0]) == content


@pytest.mark.parametrize("pack", PACK)
def test_what_stands_before_a_fault_is_unpacked(pack: Callable[[bytes], bytes]) -> None:
    draw = Random(2)
    content = b"".join(b"%d " % draw.getrandbits(60) for _ in range(2_000))
    whole = pack(content)
    for _ in range(20):
        at = draw.randrange(100, len(whole))
        for damaged in (whole[:at], whole[:at] + b"\xff\x00\xff" * 9 + whole[at:]):
            found = inflated(damaged, Budget()) or b""
            assert len(found) > len(content) * (at - 100) // len(whole) // 2
            assert found[: at // 4] == content[: at // 4]
    tail = bytearray(pack(SAID))
    tail[-1] ^= 1  # its sum alone
    assert inflated(bytes(tail), Budget()) == SAID
    assert withheld.is_mentioned(bytes(tail))
    assert Letters("default", "ann").verdict(bytes(tail), None, None, None) == GOES


def test_bytes_that_only_begin_so_are_none() -> None:
    for content in (b"", b"x", b"xylophone", b"\x1f\x8b", b"\x1f\x8b" + os.urandom(50)[:5]):
        assert not inflated(content, Budget())


@pytest.mark.parametrize("begin", ["x^", "x\x01", "x", "\x1f"])
def test_words_that_begin_as_a_stream_are_searched_as_words(begin: str) -> None:
    draw = Random(3)
    for _ in range(100):
        letters = "".join(chr(draw.randrange(32, 127)) for _ in range(draw.randrange(1, 40)))
        text = f"{begin}{letters} ann meta_request".encode()
        assert inflated(text, Budget()) is None
        assert Letters("default", "ann").verdict(text, None, None, None) == GOES
        assert withheld.is_mentioned(b64encode(text))


def test_the_budget_is_of_all_pieces_together() -> None:
    piece = gzip.compress(b" " * (MAX_BYTES // 3))
    budget = Budget()
    for _ in range(3):
        inflated(piece, budget)
    with pytest.raises(TooMuch):
        inflated(piece, budget)
    pieces = [b64encode(piece).decode()] * 5
    bomb = json.dumps({"data": pieces}).encode()
    with pytest.raises(TooMuch):
        embedded_json.says(json.loads(bomb))
    assert Letters("default", "ann").verdict(bomb, None, None, None) == MAY_NAME
    assert withheld.is_mentioned(b"not JSON: " + bomb)


def test_elements_are_counted_before_they_are_read() -> None:
    text = "[" + "{}," * MAX_PIECES + "{}]"
    bomb = json.dumps({"data": b64encode(gzip.compress(text.encode())).decode()}).encode()
    with pytest.raises(TooMuch):
        embedded_json.says(json.loads(bomb))
    assert Letters("default", "ann").verdict(bomb, None, None, None) == MAY_NAME


def test_a_request_behind_much_text_is_withheld() -> None:
    text = gzip.compress(b'{"text":"' + b"x" * 5_000_000 + b'",' + SAID[1:])
    line = json.dumps({"data": b64encode(text).decode()})
    assert embedded_json.says(json.loads(line))
    assert withheld.is_mentioned(text)
