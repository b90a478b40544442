"""Images where they are hard to find; `test_bad_input.py` has those in plain sight."""

import time
from pathlib import Path
from textwrap import wrap

import pytest

from streams.pipeline.decode import _kept, decode
from tests.command import folded, rows, turn
from tests.contract.test_bad_input import IMAGE, text

BROKEN = {
    "in lines": '{"photo": "' + "\\n".join(wrap(IMAGE, 76)) + '", oops',
    "with escaped slashes": '{"photo": "\\/9j\\/' + IMAGE.replace("/", "\\/") + '", oops',
    "as an escaped url": '{"photo": "data:image\\/png;base64,'
    + IMAGE.replace("/", "\\/")
    + '", oops',
    "too deep": '{"photo": "' + IMAGE + '", "a": ' + "[" * 70 + "]" * 70 + "}",
    "deep in a list": "[" * 700 + '"image ' + IMAGE + '"' + "]" * 700,
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
def test_no_image_stays_in_what_cannot_be_read(tmp_path: Path, line: str) -> None:
    (tmp_path / "bad.ndjson").write_text(line + "\n")
    assert folded(tmp_path / "bad.ndjson", history=tmp_path / "h")["dead"] == 1
    ((payload,),) = rows(tmp_path / "h", "SELECT payload FROM dead_letters")
    left = payload.decode().replace("\\/", "/")
    assert not [part for part in wrap(IMAGE, 40) if part in left]


def test_the_short_last_line_of_an_image_goes_with_it() -> None:
    record = {"a": "/9j/4" + "B" * 71 + "\nAAAAA"}
    assert b"AAAAA" not in _kept(text(record), record)


@pytest.mark.parametrize(
    "asked", ["data:image/" * 90_000, "data:image/" + "a" * 900_000, "data:image/a," * 70_000,
              "/9j/" + ("A" * 28 + " ") * 30_000, "iVBORw0KGgo" * 80_000],
)  # fmt: skip
def test_looking_for_images_takes_no_longer_than_reading(asked: str) -> None:
    """Once, 66 KB took four seconds, and it grew with the square."""
    before = time.process_time()
    decode(text(turn("x", user_input=asked)), ("f", 0, 1))
    assert time.process_time() - before < 5
