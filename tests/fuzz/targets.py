"""What is fuzzed: each target reads bytes from outside and raises only for a fault of the program.

A target's own checks are assertions. `attempt` adds limits of CPU and memory, for inputs of up to a
megabyte.
"""

import asyncio
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import msgspec

from schemas.time import format_time
from streams.context import items, pack
from streams.context.pack_lines import ValidState
from streams.context.tokenizer import estimated
from streams.folds.effects import Input
from streams.importers.base import ImportFault
from streams.importers.convert import convert
from streams.mapping.mapper import Mapper
from streams.pipeline import images
from streams.pipeline.decode import Dead, decode, decode_again
from streams.search import Recall, Recalled, Turn
from streams.serving.backends.embedded import EmbeddedBackend
from streams.serving.http.app import create_app
from tests.mapped import foreign, write_mapping
from tests.property import test_registry_data
from tests.property.costly import MESSAGE, WORDS
from tests.unit import test_importers_broken as importers

GOLDEN = Path(__file__).parents[1] / "contract" / "golden" / "v1"
MOST_SECONDS = 1.0
MOST_MEMORY = 200_000_000
PLACE = ("f", 0, 1)


class Target(NamedTuple):
    """`run` raises for a fault; `seeds` are inputs that it accepts."""

    run: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]


def attempt(target: Target, data: bytes) -> None:
    """Runs a target within its limits; a slow run is repeated, as a busy machine makes one slow."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = _seconds(target, data)
    if seconds > MOST_SECONDS:
        seconds = min(seconds, _seconds(target, data))
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert seconds < MOST_SECONDS, f"{seconds:.1f} s of CPU"
    assert growth * 1024 < MOST_MEMORY, f"{growth // 1024} MB"


def _seconds(target: Target, data: bytes) -> float:
    start = time.process_time()
    target.run(data)
    return time.process_time() - start


# --- records ----------------------------------------------------------------------------------


def record(line: bytes) -> None:
    """A record is decoded to the same one again from its stored form."""
    first = decode(line, PLACE)
    if isinstance(first, Input):
        again = decode_again(first.doc.encode(), PLACE)
        assert isinstance(again, Input), again
        assert again.doc == first.doc
        if "image_summaries" not in json.loads(line):  # a row has them beside the document
            assert again.fingerprint == first.fingerprint


def records() -> list[bytes]:
    return [path.read_bytes() for path in sorted(GOLDEN.glob("*.json"))]


def image(data: bytes) -> None:
    """A text without its images has none."""
    text = data.decode("utf-8", "replace")
    spans = list(images.find(text))
    assert spans == sorted(spans) and all(0 <= start < end for start, end in spans)
    short = images.cut(text)
    assert images.cut(short) == short


def texts() -> list[bytes]:
    return [word.encode("utf-8", "replace") * 3 for word in WORDS]


# --- importers --------------------------------------------------------------------------------


def imported(format: str, data: bytes) -> None:
    """Each record that comes of a file can be written and folded, but for an image or a large
    number in it; those of an archive are as they were sent."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file, suppress(ImportFault):
        Path(file.name).write_bytes(data)
        told = importers.Faults(lambda _: None)
        for record in convert(format, file.name, told, importers.DEFAULTS):
            verdict = decode(msgspec.json.encode(record), PLACE)
            assert format == "turnfold" or not isinstance(verdict, Dead) or _is_limited(verdict)
        told.sum_up()


def _is_limited(verdict: Dead) -> bool:
    return verdict.reason == "image" or "beyond 64 bits" in verdict.detail


def items_of(name: str) -> list[bytes]:
    make = importers.FORMATS[name]
    lines = [json.dumps(make(number)).encode() for number in (1, 2)]
    return [lines[0], b"\n".join(lines), b"[%s]" % b",".join(lines)]


def archives() -> list[bytes]:
    return [b"\n".join(importers.archive(*map(importers.said, (1, 2))))]


# --- mapping ----------------------------------------------------------------------------------


@cache
def mapper() -> Mapper:
    folder = tempfile.mkdtemp()
    return Mapper(write_mapping(Path(folder) / "all.yaml", "events"))


def mapped(event: bytes) -> None:
    source = mapper().sources["events"]
    assert source.decode(event, PLACE) == source.decode(event, PLACE)


def events() -> list[bytes]:
    return [foreign(json.loads(line)) for line in records() if b'"type"' in line]


def registered(number: int, data: bytes) -> None:
    """Data of Avro or Protobuf are a value with JSON, or a fault."""
    read = test_registry_data.readers()[number][0]
    try:
        value = read(data)
    except Exception:  # each library has its own errors; SchemaRegistry makes them NotAnEvent
        return
    text = msgspec.json.encode(value)
    assert msgspec.json.encode(msgspec.json.decode(text)) == text


def message_of(number: int) -> list[bytes]:
    return [test_registry_data.readers()[number][1]]


# --- HTTP -------------------------------------------------------------------------------------

JSON, NDJSON = "application/json", "application/x-ndjson"


class Api:
    """The API over a folder, in this process."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.client = self.loop.run_until_complete(self._client())

    async def _client(self) -> httpx.AsyncClient:
        memory = EmbeddedBackend(Path(tempfile.mkdtemp()) / "history")
        await memory.__aenter__()
        transport = httpx.ASGITransport(create_app(memory))
        return httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60)

    def send(self, method: str, path: str, kind: str, data: bytes) -> None:
        """A reply that names no fault of the server."""
        headers = {"content-type": kind, "prefer": "respond-async"}
        request = self.client.request(method, path, content=data, headers=headers)
        reply = self.loop.run_until_complete(request)
        assert reply.status_code < 500 or reply.status_code == 503, reply.text
        if reply.content:
            json.loads(reply.content)


@cache
def api() -> Api:
    return Api()


def sent(method: str, path: str, kind: str, data: bytes) -> None:
    api().send(method, path, kind, data)


def bodies() -> list[bytes]:
    return [
        json.dumps({"user_id": "u", "session_id": "s", "messages": [message]}).encode()
        for message in MESSAGE
    ]


# --- context packs ----------------------------------------------------------------------------


def packed(data: bytes) -> None:
    """A pack of facts, preferences and turns of any texts keeps to its budget."""
    budget = 1 + int.from_bytes(data[:2], "big") % 1200
    format = ("markdown", "text", "json")[len(data) % 3]
    parts = data[2:].decode("utf-8", "replace").split("\n")[:30]
    states = [
        ValidState(f"s{number}", "fact", text, {"category": text[:9]}, [text[:5]], number, number)
        for number, text in enumerate(parts[::3])
    ]
    preferences = [
        {"preference_id": f"p{number}", "domain": text[:4], "polarity": "like", "subject": text,
         "status": "confirmed", "updated_at": format_time(number), "evidence_event_ids": [text[:4]]}
        for number, text in enumerate(parts[1::3])
    ]  # fmt: skip
    turns = [
        Turn(f"e{number}", "s", "u", number, number, text, text[::-1])
        for number, text in enumerate(parts[2::3])
    ]
    hits = [Recalled("event", turn.event_id, turn) for turn in turns]
    recall = Recall(hits, {text[:3]: 1.0 for text in parts if text})
    user: Any = {"states": states, "preferences": preferences}
    context = pack(items(user, None, recall), budget, format, is_query=True)
    assert context.tokens == estimated(context.text) <= budget
    if format == "json" and context.text:
        json.loads(context.text)


def packs() -> list[bytes]:
    return [b"\x04\x00Lives in Oslo.\ngreen tea\nWhat is a limit?\nHas a dog.\nchess\nhello"]


def targets() -> Iterator[tuple[str, Target]]:
    yield "record", Target(record, records)
    yield "image", Target(image, texts)
    for name in importers.FORMATS:
        target = Target(partial(imported, name.split()[0]), partial(items_of, name))
        yield f"import_{name.replace('-', '_').replace(' ', '_')}", target
    yield "import_archive", Target(partial(imported, "turnfold"), archives)
    yield "mapping", Target(mapped, events)
    for number, name in enumerate(("avro_tree", "avro_flat", "protobuf")):
        yield name, Target(partial(registered, number), partial(message_of, number))
    post = partial(sent, "POST")
    yield "http_records", Target(partial(post, "/v1/records", JSON), records)
    yield "http_lines", Target(partial(post, "/v1/records", NDJSON), records)
    yield "http_messages", Target(partial(post, "/v1/messages", JSON), bodies)
    yield "context", Target(packed, packs)


TARGETS = dict(targets())

if __name__ == "__main__":
    print(*TARGETS, sep="\n")
