"""Nothing of a withheld record is anywhere: placements x spellings x wrappers x tiers."""

import base64
import gzip
import json
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streams.folds.effects import Input
from streams.importers.base import Skipped
from streams.importers.convert import convert
from streams.kafka.agents import routing, validation
from streams.kafka.agents.encoding import Origin
from streams.kafka.agents.outbox import Outbox
from streams.kafka.agents.validation import headers_text
from streams.kafka.client.partitions import partition_of
from streams.pipeline.decode import Dead, decode
from streams.topology import SESSION_AGENT
from tests.command import files_holding, folded, turn, turnfold

MARKER = "Zanzibar-hush"
SPELLINGS = (
    "meta_request", "META_REQUEST", "Meta-Request", "metaRequest", "meta request", " meta_request ",
    "metarequest", "MetaRequest", "meta__request", "meta.request", "urn:turnfold:meta_request",
)  # fmt: skip
NAMES = ("source", "Source", " source ", "SOURCE", "ce_source", "ce-type")
PLACE = ("withheld", 0, 1)


def said(**fields: Any) -> dict[str, Any]:
    return turn("w", user_input=MARKER, **fields)


def placements(spelt: str, name: str) -> Iterator[tuple[str, Any]]:
    """A record that says it somewhere."""
    yield "top", said(**{name: spelt})
    yield "in a list", said(**{name: ["chat", spelt]})
    yield "in an object", said(**{name: {"kind": {"of": spelt}}})
    yield "as a name", said(**{name: {spelt: True}})
    yield "unknown field", said(colour={"deep": [{name: spelt}]})
    yield "metadata", said(metadata={name: spelt})
    yield "deep metadata", said(metadata={"a": [{"b": {name: spelt}}]})
    yield "payload of a plan", {
        "type": "write_plan", "plan_id": "p", "user_id": "u", "extractor": {"name": "x"},
        "occurred_at": "2026-01-01T00:00:00Z",
        "state_updates": [{"kind": "fact", "body_text": MARKER, "payload": {name: spelt}}],
    }  # fmt: skip
    yield "tool result", {
        "type": "tool_result", "session_id": "s", "task_id": "t", "trace_id": "r", "call_index": 0,
        "occurred_at": "2026-01-01T00:00:00Z", "success": True,
        "result": {"text": MARKER, name: spelt},
    }  # fmt: skip
    yield "text of a tool", said(metadata={"raw": json.dumps({name: spelt, "text": MARKER})})
    event = {"specversion": "1.0", "id": "w", "type": "turn", "data": said()}
    yield "event", event | {"source": spelt}
    yield "event's type", event | {"type": spelt}
    yield "event's extension", event | {"origin": spelt}


def wrapped(record: Any) -> Iterator[tuple[str, bytes]]:
    """The lines that a record may come in."""
    line = json.dumps(record)
    yield "bare", line.encode()
    yield "data", json.dumps({"data": record}).encode()
    yield "records", json.dumps({"records": [turn("ok"), record]}).encode()
    yield "batch", json.dumps([record, turn("ok")]).encode()
    yield "text", json.dumps(line).encode()
    yield "text in data", json.dumps({"type": "turn", "data": line}).encode()
    yield "lines in data", json.dumps({"data": f"{json.dumps(turn('ok'))}\n{line}\n"}).encode()
    packed = base64.b64encode(line.encode()).decode()
    yield (
        "base64",
        json.dumps({"specversion": "1.0", "type": "turn", "data_base64": packed}).encode(),
    )
    if "\\" not in line:
        letters = (f"\\u{ord(one):04x}" if one in "mreqstcu_" else one for one in line)
        yield "escaped", "".join(letters).encode()
    yield "cut", line.encode()[:-1]
    yield "utf-16", line.encode("utf-16-le")
    yield "gzip", gzip.compress(line.encode())
    yield "bad utf-8", line.encode()[:-1] + b', "x": "\xff"}'


TWICE = [
    b'{"source": "meta_request", "source": "chat", %b}',
    b'{"source": "chat", %b, "source": "meta_request"}',
    b'{"s\\u006furce": "meta_request", "source": "chat", %b}',
    b'{"source": "\\u006deta_request", %b, "source": "chat"}',
    b'{%b, "metadata": {"source": "meta_request"}, "metadata": {}}',
    b'{%b, "metadata": {"a": {"source": "META-REQUEST"}, "a": 1}}',
    b'{%b, "metadata": {"source": "meta_request", "source": "x"}}',
    b'{%b, "recorded_at": {"source": "metaRequest"}, "recorded_at": "2026-01-01T00:00:00Z"}',
]


def lines() -> list[tuple[str, bytes]]:
    """All of them, by name."""
    inside = json.dumps(said())[1:-1].encode()
    found = [(f"twice {at}", one.replace(b"%b", inside)) for at, one in enumerate(TWICE)]
    names = cycle(NAMES)
    for spelt in SPELLINGS:
        for _ in range(2):
            name = next(names)
            for place, record in placements(spelt, name):
                for wrapper, line in wrapped(record):
                    found.append((f"{spelt!r} {name!r} {place} {wrapper}", line))
    return found


LINES = lines()


def is_in(marker: str, kept: bytes) -> bool:
    """Whether a word is there, as it is or packed."""
    texts = [kept, kept.replace(b"\0", b""), kept.decode("utf-8", "replace").encode()]
    if kept[:2] == b"\x1f\x8b":
        texts.append(gzip.decompress(kept))
    packed = base64.b64encode(marker.encode()).decode()[:8].encode()
    return any(marker.encode() in one or packed in one for one in texts)


def test_a_withheld_record_is_withheld_or_leaves_its_hash() -> None:
    assert len(LINES) > 3_000
    for name, line in LINES:
        given = decode(line, PLACE)
        assert not isinstance(given, Input), name
        if isinstance(given, Dead):
            assert given.hidden and given.key is None, name
            assert not is_in(MARKER, given.payload + given.detail.encode()), name
            assert set(json.loads(given.payload)) == {"bytes", "sha256"}


def test_what_is_json_and_says_so_is_withheld() -> None:
    whole = ("bare", "data", "records", "batch", "text", "text in data", "lines in data")
    for name, line in LINES:
        if name.endswith(tuple(f" {one}" for one in whole)) or name.startswith("twice"):
            assert decode(line, PLACE) == "withheld", name


def test_produce_sends_none_of_it() -> None:
    for name, line in LINES:
        way = routing.route(line)
        assert way is None or not is_in(MARKER, way.value + (way.key or b"")), name


def test_no_file_of_a_history_has_it(tmp_path: Path) -> None:
    file = tmp_path / "withheld.ndjson"
    some = [line for _, line in LINES if b"\n" not in line]
    file.write_bytes(b"\n".join(some) + b"\n")
    done = turnfold("run", file, "--history", tmp_path / "history", "-o", "json")
    counts = done.json()
    assert counts["applied"] == 0 and counts["withheld"] > 1_000
    assert MARKER not in done.out + done.err
    assert files_holding(tmp_path / "history", MARKER) == []


GOOD = json.dumps(turn("w", user_input=MARKER)).encode()
KEY = b"default/s"


def kafka(value: bytes | None, headers: Any = (), key: bytes | None = KEY) -> Any:
    partition = partition_of(key or b"", 4)
    return SimpleNamespace(
        topic="turns", partition=partition, offset=1, key=key, value=value, headers=headers,
        timestamp=0,
    )  # fmt: skip


@pytest.mark.parametrize("spelt", SPELLINGS)
@pytest.mark.parametrize("name", ["ce_source", "ce_type", "CE_Subject", "ce_origin", "source"])
@pytest.mark.parametrize("value", [GOOD, GOOD[:-1], None])
def test_a_header_withholds_its_record(name: str, spelt: str, value: bytes | None) -> None:
    record = kafka(value, ((name, spelt.encode()),))
    assert validation.validate(record, 4) == "withheld"


def test_a_dead_letter_has_none_of_it_in_key_headers_and_bytes() -> None:
    note = (("x-note", f"{MARKER} of a meta_request".encode()),)
    mention = GOOD.replace(b"}", b', "topic": "meta_request"}')
    cases = [
        kafka(GOOD[:-1], note),
        kafka(mention, key=f"{MARKER}/other".encode()),
        kafka(mention, (("ce_id", MARKER.encode()),)),
        kafka(GOOD, key=f"meta_request {MARKER}".encode()),
        kafka(mention[:-1], (("x-note", MARKER.encode()),), MARKER.encode()),
    ]
    for record in cases:
        given = validation.validate(record, 4)
        assert isinstance(given, Dead)
        outbox = Outbox(0, 4, SESSION_AGENT)
        outbox.dead(given, record, Origin(record, given.tenant, 0))
        ((sent,)) = outbox.outputs
        letter = json.loads(sent.value or b"")
        kept = base64.urlsafe_b64decode(letter["payload"])
        assert not is_in(MARKER, (sent.value or b"") + (sent.key or b"") + kept), given
        assert letter["headers"] is None and letter["key"] is None


def test_a_header_s_image_is_not_kept() -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(60)
    text = headers_text([("thumb", png), ("more", base64.b64encode(png))]) or ""
    assert text.count("image removed") == 2 and base64.b64encode(png).decode()[:24] not in text


@pytest.mark.parametrize(
    "item",
    [
        '{"session_id": "a", "source": "meta_request", "messages": %s}',
        '{"session_id": "a", "source": "meta_request", "source": "chat", "messages": %s}',
        '{"session_id": "a", "metadata": {"Source": "Meta-Request"}, "messages": %s}',
        '{"session_id": "a", "s\\u006furce": "meta_request", "messages": %s}',
    ],
)
def test_an_importer_leaves_such_a_conversation_out(tmp_path: Path, item: str) -> None:
    file, skipped = tmp_path / "chat.jsonl", Skipped()
    messages = json.dumps([{"role": "user", "content": MARKER}])
    other = (
        '{"session_id": "b", "user_id": "u", "messages": [{"role": "user", "content": "hello"}]}'
    )
    file.write_text(f"{item.replace('%s', messages)}\n{other}\n")
    made = list(convert("openai-chat", file, skipped))
    assert MARKER not in json.dumps(made) and "hello" in json.dumps(made)
    assert skipped == {"withheld": 1}


@pytest.mark.parametrize(
    "record",
    [
        turn("a", user_input="what does meta_request mean?"),
        turn("b", user_input='I wrote {"source": "meta_request"} into my record'),
        turn("c", metadata={"note": "a request for meta data", "source": "request"}),
        turn("d", source="meta_proactive", user_input="Metadata request, quick"),
        turn("e", topic="meta request"),
    ],
)
def test_to_speak_of_it_is_not_to_say_it(tmp_path: Path, record: dict[str, Any]) -> None:
    assert isinstance(decode(json.dumps(record).encode(), PLACE), Input)
    (tmp_path / "one.ndjson").write_text(json.dumps(record) + "\n")
    assert folded(tmp_path / "one.ndjson", history=tmp_path / "h")["applied"] == 1
