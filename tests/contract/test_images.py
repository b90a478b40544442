"""Images are told from words by decoding them: no word is cut out, no image stays."""

import base64
import json
import os
import time
from random import Random

import pytest

from streams.folds.effects import Input
from streams.pipeline import images
from streams.pipeline.decode import Dead, decode
from streams.pipeline.images import find
from tests.command import turn
from tests.contract.images_count import (
    PIECES,
    PLACE,
    hidden_images,
    images_in_words,
    pieces,
    small_images,
    uncaught,
    what_stays,
)

LONG = 200


@pytest.mark.nightly
def test_no_piece_of_any_text_is_taken_for_an_image() -> None:
    count, wrong = images_in_words(pieces())
    print(f"{count:,} pieces of words, {len(wrong)} taken for an image")
    assert count == PIECES >= 200_000
    assert wrong == []


def test_every_image_is_caught_however_it_is_written() -> None:
    count, wrong = uncaught()
    print(f"{count:,} images written as text, {len(wrong)} not caught")
    assert count >= 1_000
    assert wrong == []


def test_no_image_stays_in_a_line_that_breaks_off() -> None:
    for name, line, image in hidden_images():
        said = decode(line[:-2], PLACE)
        assert isinstance(said, Dead) and said.reason == "bad_json"
        assert what_stays(said.payload, image) == [], name


def packed(text: bytes) -> str:
    return base64.b64encode(text).decode()


JWT = ".".join(
    base64.urlsafe_b64encode(part).decode().rstrip("=")
    for part in (b'{"alg":"RS256","typ":"JWT"}', b'{"sub":"1234567890","admin":true}', b"\1" * 64)
)
PEM = "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----".format(
    packed(b"\x30\x82\x03\x5d\x30\x82" + Random(3).randbytes(900))
)
WORDS = {
    "a description": "A cat sits on a wall and looks at the sea while the sun goes down behind it",
    "one without stops": "the quick brown fox jumps over the lazy dog " * 4,
    "Chinese": "一只猫坐在墙上看海" * 20,
    "Japanese": "猫が壁の上に座って海を見ている" * 20,
    "a path": "/9j/this/is/a/path/to/some/file/that/lies/deep/inside/of/a/folder",
    "another path": "9j/4AAQ is how a JPEG begins in base64, /9j/4AAQSkZJRgABAQ to be exact",
    "talk of PNG": "iVBORw0KGgo begins a PNG; then comes AAAANSUhEUgAA",
    "talk of data URLs": "write data:image/png;base64, and then the bytes, as in <img src>",
    "a media type": "accept=data:image/png,data:image/jpeg,data:image/webp,data:image/avif",
    "RIFF without WebP": packed(b"RIFF" + b"\x24\0\0\0WAVEfmt " + bytes(LONG)),
    "a film": packed(b"\0\0\0\x20ftypisom" + bytes(LONG)),
    "two letters of a bitmap": packed(
        b"BM is short for a bitmap, as everybody knows by now, really"
    ),
    "two letters and zeros": packed(b"BM" + bytes(LONG)),
    "a JSON in base64": packed(json.dumps({"alt": "a cat"} | {"x": "y" * LONG}).encode()),
    "a page in base64": packed(b"<html><body>text, then <svg></svg>" + b" more" * 40),
    "XML in base64": packed(b'<?xml version="1.0"?><note>' + b" words" * 40 + b"</note>"),
    "a zip": packed(b"PK\3\4" + bytes(range(256))),
    "random bytes": packed(Random(1).randbytes(4_000)),
    "a hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" * 2,
    "a PNG in hex": b"\x89PNG\r\n\x1a\n".hex() + "00" * 60,
    "a JWT": JWT,
    "a certificate": PEM,
    "code": "def image_data(SUkqA, TU0AK, R0lGOD):\n    return UklGR[Qk] / iVBORw0KGgo\n" * 3,
    "a drawing as text": '<svg xmlns="http://www.w3.org/2000/svg"><circle r="2"/></svg>',
    "a key": "sk-" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789" * 3,
    "ids": "_".join(["9j", "iVBOR", "R0lGODlx", "e1f5c1ae-7a3e-4d43-a3ad-2f9b1f2c7a11"]),
}


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("field", ["image_summaries", "user_input", "image_base64", "metadata"])
def test_words_stay_words(name: str, field: str) -> None:
    text = WORDS[name]
    value = {"image_summaries": [text], "metadata": {"image": text}}.get(field, text)
    said = decode(json.dumps(turn("e", **{field: value})).encode(), PLACE)
    assert isinstance(said, Input), said


@pytest.mark.parametrize("name", WORDS)
def test_words_stay_in_what_cannot_be_read(name: str) -> None:
    line = json.dumps(turn("e", user_input=WORDS[name])).encode()[:-1]
    said = decode(line, PLACE)
    assert isinstance(said, Dead) and said.payload == line


def test_the_text_around_an_image_stays() -> None:
    image = packed(small_images()["PNG RGB 8"])
    line = json.dumps(turn("e", user_input=f"Look: {image} That was my cat.")).encode()
    said = decode(line, PLACE)
    assert isinstance(said, Dead)
    kept = json.loads(said.payload)["user_input"]
    assert kept.startswith("Look: [image removed: ") and kept.endswith("] That was my cat.")


@pytest.mark.parametrize("cut", [None, -1])
@pytest.mark.parametrize("is_name", [False, True])
@pytest.mark.parametrize("field", ["user_input", "metadata", "unknown"])
def test_an_image_with_letters_that_are_escaped_in_a_text_or_name_is_removed(
    field: str, is_name: bool, cut: int | None
) -> None:
    image = packed(small_images()["PNG RGB 8"])
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in image[:8]) + image[8:]
    value: object = {escaped: ""} if is_name else {"x": escaped}
    if field == "user_input" and not is_name:
        value = escaped
    said = decode(json.dumps(turn("e", **{field: value})).encode()[:cut], PLACE)
    assert isinstance(said, Dead) and said.reason == ("bad_json" if cut else "image")
    assert image[8:40].encode() not in said.payload and b"image removed" in said.payload
    assert image[8:40] not in said.detail


def test_bytes_of_an_image_that_are_no_text_at_all_are_not_kept() -> None:
    for image in small_images().values():
        said = decode(image, PLACE)
        assert isinstance(said, Dead) and b"sha256" in said.payload and len(said.payload) < 200


def test_an_image_that_is_an_owner_s_id_is_not_kept_as_a_key() -> None:
    image = packed(small_images()["JPEG"])
    said = decode(json.dumps(turn("e", session_id=image)).encode(), PLACE)
    assert isinstance(said, Dead) and said.key is None


HEAVY = {
    "starts": "".join(["iVBORw0KGgo", "/9j/4", "PD94bW", "UklGR", "Qk0AAAAAAAAA"]) * 25_000,
    "XML": "PD94bWwg" * 120_000,
    "pictures": ("/9j/4AAQSkZJRgABAQ" + "A" * 30 + " ") * 20_000,
    "drawings": "data:image/svg+xml,<svg " * 40_000,
    "parameters": "data:image/png;a=" * 60_000,
    "quotes": 'data:image/png;a="' * 55_000,
    "white space": "iVBORw0KGgo" + "A" * 40 + " " * 900_000,
    "escapes": "\\u0069VBORw0KGgo" * 60_000,
    "backslashes": "\\" * 900_000 + "iVBORw0KGgo",
    "lines": ("data:image/png;base64,\n" + "A" * 28 + "\n") * 18_000,
}


@pytest.mark.parametrize("name", HEAVY)
def test_no_text_takes_longer_than_its_length(name: str) -> None:
    begun = time.process_time()
    for _ in find(HEAVY[name]):
        pass
    decode(json.dumps(turn("e", error=HEAVY[name])).encode(), PLACE)
    assert time.process_time() - begun < 5


def test_random_bytes_in_base64_are_no_image() -> None:
    chance = Random(os.urandom(8))
    for _ in range(2_000):
        text = packed(
            bytes([chance.randrange(0x20, 0x7F)]) + chance.randbytes(chance.randrange(200))
        )
        assert not images.is_in(text), text
