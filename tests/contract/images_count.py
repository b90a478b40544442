"""Words that are no image, and images.

Words: pieces of every text in ../shared/data, of the utterances in three languages and of the
sample, joined, cut, stripped and glued. Images: real small ones, written in every way that hides.
"""

import base64
import csv
import gzip
import io
import json
import re
from collections.abc import Iterator
from itertools import cycle, product
from pathlib import Path
from random import Random
from textwrap import wrap
from typing import Any
from urllib.parse import quote

from PIL import Image

from streams.pipeline.decode import Dead, decode
from tests.acceptance.utterances import FOLDER as UTTERANCES
from tests.command import turn
from tests.shared_data import ROOT, shared

PIECES = 210_000
PLACE = ("images", 0, 1)
BEGINNINGS = (
    "/9j/", "_9j_", "9j/4", "R0lGOD", "UklGR", "UklGRkAAABXRUJQ", "Qk", "BM", "BM6", "SUkq", "TU0A",
    "JVBER", "PHN2", "PD94", "iVBORw0", "AAAAIGZ0eXA", "eyJ", "MII", "data:image",
    "data:image/png;",
)  # fmt: skip
"""As images begin, but for their last letters."""


def texts() -> Iterator[str]:
    """Every text there is, longest-lived first."""
    data = shared("data")
    with gzip.open(data / "sgd/train_part.jsonl.gz", "rt") as file:
        for line in file:
            yield from (said["utterance"] for said in json.loads(line)["turns"])
    for path in sorted(data.rglob("*.json.gz")):
        yield from strings(json.loads(gzip.decompress(path.read_bytes())))
    for path in sorted(data.rglob("*.txt.gz")):
        yield from filter(None, gzip.decompress(path.read_bytes()).decode().splitlines())
    with gzip.open(data / "emobank/train.csv.gz", "rt") as file:
        yield from (one for row in csv.reader(file) for one in row)
    yield from strings(json.loads((data / "corrections/ledger.json").read_text()))
    sample = ROOT / "streams/sample/conversations.ndjson"
    for path in (*sorted(Path(UTTERANCES).rglob("*.ndjson")), sample):
        for line in path.read_text().splitlines():
            yield from strings(json.loads(line))


def strings(value: Any) -> Iterator[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings(one)


def pieces(count: int = PIECES, seed: int = 7) -> Iterator[str]:
    """So many pieces, of every text at least one."""
    chance, every = Random(seed), list(texts())
    order = cycle(range(len(every)))
    for _ in range(count):
        at = next(order)
        joined = " ".join(every[at : at + chance.randint(1, 8)])
        start = chance.randrange(max(1, len(joined) - 8)) if chance.random() < 0.5 else 0
        yield changed(joined[start : start + chance.randint(8, 600)], chance)


def changed(text: str, chance: Random) -> str:
    """A text as somebody's program may write it."""
    if chance.random() < 0.6:
        text = re.sub(r"[^\w\s]", "", text)
    glue = chance.choice([" ", " ", "", "", "+", "/", "-", "_", "\n"])
    if glue != " ":
        text = re.sub(r"\s+", glue, text)
    if chance.random() < 0.1:
        text = "\n".join(wrap(text, chance.choice([64, 76]))) or text
    if chance.random() < 0.2:
        text = chance.choice(BEGINNINGS) + chance.choice(["", " ", glue]) + text
    return text + chance.choice(["", "", "", "=", "==", "."])


def images_in_words(some: Iterator[str]) -> tuple[int, list[str]]:
    """How many pieces were decoded, and those taken for an image."""
    count, wrong = 0, []
    while group := [piece for _, piece in zip(range(9), some, strict=False)]:
        count += len(group)
        if _is_refused(group):
            wrong += [one for one in group if _is_refused([one])]
    return count, wrong


def _is_refused(group: list[str]) -> bool:
    a, b, c, d, e, f, g, h, i = [*group, *["-"] * (9 - len(group))]
    record = turn(
        "e", image_summaries=[a, b], user_input=c, agent_answer=d, image_base64=f,
        metadata={"note": e, "image_data": [g]}, imageNotes={h[:200]: i},
    )  # fmt: skip
    plain = turn("e", user_input=a, agent_answer=c, metadata={"note": b})
    said = [decode(json.dumps(one).encode(), PLACE) for one in (record, plain)]
    return any(isinstance(one, Dead) for one in said)


SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4"><circle r="2"/></svg>'
XML = '<?xml version="1.0" encoding="UTF-8"?>\n<!-- Generator: a program -->\n'
PIXELS = b"\xff\x00\x00\x00\xff\x00" * 24


def small_images() -> dict[str, bytes]:
    """Real files, most of them made by Pillow."""
    made: dict[str, bytes] = {}
    for size, mode in product([(1, 1), (8, 6)], ["RGB", "L", "P"]):
        image = Image.frombytes("RGB", (8, 6), PIXELS).resize(size).convert(mode)
        for form in ("PNG", "GIF", "BMP", "TIFF"):
            made[f"{form} {mode} {size[0]}"] = _saved(image, form)
    picture = Image.frombytes("RGB", (8, 6), PIXELS)
    exif = Image.Exif()
    exif[271] = "A camera"
    made |= {
        "JPEG": _saved(picture, "JPEG"),
        "JPEG progressive": _saved(picture, "JPEG", progressive=True, quality=30),
        "JPEG Exif": _without_jfif(_saved(picture, "JPEG", exif=exif)),
        "JPEG tables first": _without_jfif(_saved(picture.convert("L"), "JPEG")),
        "WebP": _saved(picture, "WEBP"),
        "WebP lossless": _saved(picture.resize((1, 1)), "WEBP", lossless=True),
        "BMP 1": _saved(picture.convert("1"), "BMP"),
        "TIFF deflate": _saved(picture, "TIFF", compression="tiff_adobe_deflate"),
        "TIFF big-endian": _saved(picture.convert("I;16B"), "TIFF"),
        "AVIF": _saved(picture, "AVIF"),
        "PDF": _saved(picture, "PDF"),
        "SVG": SVG.encode(),
        "SVG in XML": (XML + SVG).encode(),
        "SVG with a mark": ("\ufeff" + SVG).encode(),
    }
    for brand in (b"heic", b"heix", b"mif1", b"avis"):
        box = b"\0\0\0\x18ftyp" + brand + b"\0\0\0\0mif1" + brand
        made[f"HEIF {brand.decode()}"] = box + b"\0\0\0\x28mdat" + PIXELS[:32]
    return made


def _saved(image: Image.Image, form: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def _without_jfif(jpeg: bytes) -> bytes:
    """Many cameras write none."""
    if jpeg[2:4] != b"\xff\xe0":
        return jpeg
    return jpeg[:2] + jpeg[4 + int.from_bytes(jpeg[4:6], "big") :]


def writings(image: bytes, is_svg: bool) -> dict[str, str]:
    """The ways to write an image as text."""
    text = base64.b64encode(image).decode()
    ways = {
        "bare": text,
        "unpadded": text.rstrip("="),
        "url-safe": base64.urlsafe_b64encode(image).decode().rstrip("="),
        "in lines": "\n".join(wrap(text, 76)),
        "in short lines": "\r\n".join(wrap(text, 64)),
        "data url": f"data:image/png;base64,{text}",
        "DATA URL": f"DATA:Image/X-Icon;BASE64,{text}",
        "parameters": f'data:image/svg+xml;charset=utf-8;name="a b, c.png";base64,{text}',
        "url in lines": "data:image/jpeg;base64,\n" + "\n".join(wrap(text, 76)),
        "no base64": f"data:image/png,{quote(image)}",
        "in JSON": json.dumps({"photo": text}).replace("/", "\\/"),
    }
    if is_svg:
        ways["drawing"] = "data:image/svg+xml;utf8," + image.decode().lstrip("\ufeff")
    return ways


AROUND = (
    ("", ""), ("look: ", ""), ("", " that was it"), ("before\n", "\nand after, some words"),
    ("見て：", "。どう？"),
)  # fmt: skip
PLACES: tuple[Any, ...] = (
    lambda text: {"user_input": text},
    lambda text: {"agent_answer": text},
    lambda text: {"image_summaries": ["a cat", text]},
    lambda text: {"metadata": {"files": [{"data": text}]}},
    lambda text: {"metadata": {text: 1}},
    lambda text: {"photo": {"deep": [[text]]}},
    lambda text: {"topic": text},
    lambda text: {"error": text, "status": "error"},
    lambda text: {"summary": {"content": "c", "key_findings": [text]}},
    lambda text: {"subject": {"content": text}},
)


def hidden_images() -> Iterator[tuple[str, bytes, bytes]]:
    """A name, the line of a turn that holds an image, and the image."""
    places, around = cycle(PLACES), cycle(AROUND)
    for name, image in small_images().items():
        for way, text in writings(image, name.startswith("SVG")).items():
            for _ in range(4):
                before, after = next(around)
                line = json.dumps(turn("e", **next(places)(before + text + after))).encode()
                yield f"{name}, {way}", line, image
            escaped = line.replace(b"/", rb"\/").replace(b"A", rb"\u0041")
            yield f"{name}, {way}, escaped", escaped, image


def what_stays(payload: bytes, image: bytes) -> list[str]:
    """Pieces of the image that are still there."""
    text = base64.b64encode(image).decode()
    left = payload.decode("utf-8", "replace").replace("\\/", "/").replace("\\u0041", "A")
    left = left.replace("-", "+").replace("_", "/")
    return [part for at in range(0, len(text) - 24, 8) if (part := text[at : at + 24]) in left]


def uncaught() -> tuple[int, list[str]]:
    """How many lines with an image there are, and those that are not refused, or keep it."""
    count, wrong = 0, []
    for name, line, image in hidden_images():
        count += 1
        said = decode(line, PLACE)
        if not isinstance(said, Dead) or said.reason != "image" or what_stays(said.payload, image):
            wrong.append(name)
    return count, wrong
