"""Everything bad in one file: each line ends as one of four, with reason, field and its bytes."""

import base64
import hashlib
import json
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import pytest

from tests.command import checked, files_holding, folded, ndjson, rows, turn, turnfold

SECRET = "the reader's own secret"
IMAGE = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4).decode()
AT = "2026-01-01T00:00:00Z"
PLAN = {"type": "write_plan", "user_id": "u", "occurred_at": AT, "extractor": {"name": "test"}}
STEP = {"type": "recursion", "session_id": "s", "task_id": "t", "trace_id": "r", "occurred_at": AT}
RESULT = STEP | {"type": "tool_result", "success": True}


class Bad(NamedTuple):
    """A line, the reason it must be refused for, and a part of what the detail must say."""

    line: bytes
    reason: str
    detail: str
    kept: bool = True


def text(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode()


def raw(event_id: str, fragment: str) -> bytes:
    """A turn with a piece of JSON that `json.dumps` would not write."""
    return text(turn(event_id)).replace(b'"user_id"', fragment.encode() + b', "user_id"')


def nested(depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(depth):
        made = {"a": made}
    return made


def invalid(detail: str, **fields: Any) -> Bad:
    return Bad(text(turn("x") | fields), "invalid", detail)


def image(place: str, **fields: Any) -> Bad:
    return Bad(text(turn("x", **fields)), "image", place, kept=False)


def number(fragment: str, detail: str) -> Bad:
    return Bad(raw("x", fragment), "bad_json", detail)


URL, HUGE = f"data:image/png;base64,{IMAGE}", "9" + "0" * 30
ANSWER, DANCE = (
    {"iteration_index": 1, "action": {"action_type": name}} for name in ("ANSWER", "DANCE")
)
CLOSED = {"plan_id": "p", "state_updates": [{"op": "close", "state_id": "none"}]}
BAD = {
    "broken json": Bad(b'{"type": "turn", broken', "bad_json", "byte 17"),
    "cut json": Bad(text(turn("x"))[:-9], "bad_json", "truncated"),
    "wrong utf-8": Bad(b'{"type": "turn", "event_id": "\xff\xfe"}', "bad_utf8", "0xff"),
    "bom": Bad(b"\xef\xbb\xbf" + text(turn("x")), "bad_json", "byte 0"),
    "nan": number('"metadata": {"correct_rate": NaN}', "byte"),
    "infinity": number('"metadata": {"correct_rate": Infinity}', "byte"),
    "1e999": number('"metadata": {"correct_rate": 1e999}',
                    "metadata.correct_rate: number out of range"),
    "1e999 in a list": number('"a": {"b c": [1, -1e999]}', "a.….1: number out of range"),
    "1e999 and broken json": Bad(b'{"a": 1e999, broken', "bad_json", "out of range"),
    "lone surrogate": Bad(text(turn("x", user_input="\ud800 and on")), "bad_json", ""),
    "lone surrogate at the end": Bad(text(turn("x", user_input="\ud800")), "bad_json", ""),
    "surrogate in an id": Bad(text(turn("x\ud800")), "bad_json", ""),
    "a list": Bad(b"[1, 2]", "not_an_object", "object"),
    "a string": Bad(b'"turn"', "not_an_object", "object"),
    "null": Bad(b"null", "not_an_object", "object"),
    "a number": Bad(b"12", "not_an_object", "object"),
    "out of bounds": invalid("metadata.correct_rate: ", metadata={"correct_rate": 80}),
    "number as string": invalid("metadata.correct_rate: ", metadata={"correct_rate": "0.5"}),
    "string as number": invalid("user_input: ", user_input=5),
    "naive time": invalid("occurred_at: a time needs", occurred_at="2026-01-01T00:00:00"),
    "no such day": invalid("occurred_at: no such time", occurred_at="2026-02-30T00:00:00Z"),
    "time as number": invalid("occurred_at: ", occurred_at=5),
    "id too long": invalid("event_id: ", event_id="i" * 129),
    "empty id": invalid("event_id: ", event_id=""),
    "nul in an id": invalid("event_id: must not contain control characters", event_id="a\x00b"),
    "newline in an id": invalid("session_id: ", session_id="a\nb"),
    "a version of the future": invalid("schema_version", schema_version=99),
    "huge integer": Bad(text(STEP | ANSWER | {"iteration_index": 10**30}), "invalid",
                        "iteration_index: "),
    "huge integer in an unknown field": Bad(raw("x", f'"colour": {{"rgb": [1, {HUGE}]}}'),
                                            "invalid", "colour.rgb.1: an integer"),
    "huge integer, perhaps withheld": Bad(raw("x", f'"meta_request": {{"secret": {HUGE}}}'),
                                          "invalid", "a field: an integer", kept=False),
    "unknown action": Bad(text(STEP | DANCE), "invalid", "action.action_type: "),
    "a result of no call": Bad(text(RESULT), "invalid", "tool_call_id"),
    "unknown type": Bad(text(turn("x", type="tern")), "unknown_type", "'tern'"),
    "missing type": Bad(text({name: one for name, one in turn("x").items() if name != "type"}),
                        "unknown_type", "type: "),
    "other content": Bad(text(turn("good", user_input="other")), "conflicting_duplicate",
                         "event_id good"),
    "unknown state": Bad(text(PLAN | CLOSED), "unknown_state", "state_updates.0.state_id"),
    "nested keys": Bad(text(turn("x", metadata=nested(70))), "too_deep", "64"),
    "nested lists": Bad(b"[" * 100_000 + b"]" * 100_000, "too_deep", "64"),
    "10 MB": Bad(text(turn("x", user_input="long " * 2_000_000)), "too_large", "1000000"),
    "image url": image("user_input: ", user_input=f"look: {URL}"),
    "image field": image("image_base64: ", image_base64=IMAGE),
    "image url in capitals": image("user_input", user_input=f"DATA:IMAGE/PNG;BASE64,{IMAGE}"),
    "image url with a break": image("answer", agent_answer=f"data:image/png;base64,\n{IMAGE}"),
    "image in lines": image("answer", agent_answer="\n" + "\n".join(wrap(IMAGE, 76))),
    "image as an id": image("photo_id", photo_id=IMAGE),
    "image as a long id": image("task_id", task_id=IMAGE),
    "image under a dotted name": image("metadata", metadata={"image.data": "SUkqAB" + "A" * 200}),
    "image as a tenant": image("tenant", tenant="/9j/" + IMAGE),
    "image in little metadata": image("metadata.a", metadata={"a": "/9j/4" + IMAGE[20:48]}),
    "image as a little name": image("metadata", metadata={"/9j/4" + IMAGE[20:48]: 1}),
    "image as a name": image("metadata", metadata={URL: 1}),
    "image deep inside": image("metadata", metadata={"files": [{"data": IMAGE}]}),
    "broken withheld": Bad(
        b'{"source": "meta_request", "user_input": "' + SECRET.encode() + b'", broken',
        "bad_json", "byte", kept=False),
    "escaped and broken withheld": Bad(
        b'{"source": "meta\\u005frequest", "user_input": "' + SECRET.encode() + b'", broken',
        "bad_json", "byte", kept=False),
}  # fmt: skip
GOOD = {
    "good": text(turn("good")),
    "crlf": text(turn("crlf")) + b"\r",
    "null fields": text(turn("nulls", topic=None, metadata=None, affect=None, user_input=None)),
    "unknown fields": text(turn("extra", colour={"name": "red"})),
    "huge integer in free form": raw("huge", '"metadata": {"n": ' + "9" * 400 + "}"),
    "nul in a text": text(turn("nul", user_input="a\x00b")),
    "other offset": text(turn("offset", occurred_at="2026-01-01t09:00:00+09:00")),
}
WITHHELD = {
    "withheld": text(turn("m1", source="meta_request", user_input=SECRET)),
    "withheld and invalid": text(
        turn("withheld-m2", source="meta_request", user_input=SECRET, occurred_at=5, metadata="x")
    ),
    "withheld and of no type": text({"source": "Meta-Request", "user_input": SECRET}),
    "withheld with an image": text(turn("m3", source="meta_request", image_base64=IMAGE)),
    "withheld and too long": text(turn("m4", source="meta_request", user_input=SECRET * 50_000)),
}
BLANK = [b"", b"   ", b"\r"]


class Run(NamedTuple):
    """What the run with everything bad left; lines by name."""

    history: Path
    counts: dict[str, Any]
    letters: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("bad")
    file, history = folder / "bad.ndjson", folder / "history"
    named = [*GOOD.items(), *((name, one.line) for name, one in BAD.items()), *WITHHELD.items()]
    lines = [*BLANK, *(line for _, line in named), GOOD["good"], *BLANK]
    file.write_bytes(b"\n".join(lines))
    done = turnfold("run", file, "--history", history, "-o", "json", "--strict")
    assert done.code == 4, done.err
    assert SECRET not in done.out + done.err
    sql = "SELECT src_offset, reason, detail, payload, key, tenant, recorded_at FROM dead_letters"
    columns = ("line", "reason", "detail", "payload", "key", "tenant", "recorded_at")
    found = [
        dict(zip(columns, row, strict=True))
        for row in rows(history, sql.replace("recorded_at", "CAST(recorded_at AS VARCHAR)"))
    ]
    names = [name for name, _ in named]
    letters = {names[letter["line"] - len(BLANK) - 1]: letter for letter in found}
    assert len(letters) == len(found)
    return Run(history, done.json(), letters)


def test_guarantee_3_every_line_ends_as_exactly_one_of_four(run: Run) -> None:
    counts = checked(run.counts)
    assert counts["read"] == len(GOOD) + len(BAD) + len(WITHHELD) + 1
    assert counts["applied"] == len(GOOD)
    assert counts["duplicate"] == 1
    assert counts["dead"] == len(BAD)
    assert counts["withheld"] == len(WITHHELD)
    ids = {row[0] for row in rows(run.history, "SELECT event_id FROM events")}
    assert ids == {"good", "crlf", "nulls", "extra", "huge", "nul", "offset"}


@pytest.mark.parametrize("name", BAD)
def test_a_refused_line_says_why_and_where(run: Run, name: str) -> None:
    letter, expected = run.letters[name], BAD[name]
    assert letter["reason"] == expected.reason, letter["detail"]
    assert expected.detail in letter["detail"]


@pytest.mark.parametrize("name", [name for name, bad in BAD.items() if bad.kept])
def test_a_refused_line_keeps_its_bytes(run: Run, name: str) -> None:
    assert run.letters[name]["payload"] == BAD[name].line


@pytest.mark.parametrize("name", [name for name, bad in BAD.items() if bad.reason == "image"])
def test_an_image_is_kept_as_hash_and_length(run: Run, name: str) -> None:
    payload = run.letters[name]["payload"].decode()
    assert not any(line in payload for line in wrap(IMAGE, 40)) and "sha256" in payload
    assert json.loads(payload)["event_id"] == "x", "the rest of the record is kept"


def test_an_image_field_s_hash_is_that_of_its_text(run: Run) -> None:
    payload = json.loads(run.letters["image field"]["payload"])
    assert hashlib.sha256(IMAGE.encode()).hexdigest() in payload["image_base64"]
    assert f"{len(IMAGE)} bytes" in payload["image_base64"]


@pytest.mark.parametrize("name", ["broken withheld", "escaped and broken withheld"])
def test_a_broken_line_that_may_be_withheld_is_kept_as_hash_and_length(run: Run, name: str) -> None:
    line = BAD[name].line
    expected = {"bytes": len(line), "sha256": hashlib.sha256(line).hexdigest()}
    assert json.loads(run.letters[name]["payload"]) == expected


def test_nothing_withheld_is_in_any_file(run: Run) -> None:
    assert files_holding(run.history, SECRET) == []
    assert files_holding(run.history, IMAGE[:60]) == []
    assert files_holding(run.history, "withheld-m2") == []


def test_a_line_that_does_not_parse_carries_the_time_of_the_last_good_record(run: Run) -> None:
    assert run.letters["a list"]["recorded_at"].startswith("2026-01-01 00:00:00")


def test_before_any_good_record_it_is_1970(tmp_path: Path) -> None:
    (tmp_path / "bad.ndjson").write_bytes(b"{\n")
    folded(tmp_path / "bad.ndjson", history=tmp_path / "history")
    sql = "SELECT epoch_us(recorded_at), CAST(date AS VARCHAR), src_offset FROM dead_letters"
    assert rows(tmp_path / "history", sql) == [(0, "1970-01-01", 1)]


@pytest.mark.parametrize(
    "name", ["wrong utf-8", "lone surrogate at the end", "lone surrogate", "nan", "broken json"]
)
def test_bytes_that_do_not_parse_are_named_by_their_position(run: Run, name: str) -> None:
    line = BAD[name].line
    position = {
        "wrong utf-8": line.find(b"\xff"),
        "lone surrogate": line.find(b"\\ud800"),
        "lone surrogate at the end": line.find(b"\\ud800"),
        "nan": line.find(b"NaN"),
        "broken json": line.find(b"broken"),
    }[name]
    found = run.letters[name]["detail"]
    assert any(str(at) in found for at in range(position, position + 8)), (position, found)


def test_a_refused_tenant_is_not_taken_for_another(tmp_path: Path) -> None:
    file = ndjson(tmp_path / "bad.ndjson", [turn("x", tenant="acme/secret")])
    folded(file, history=tmp_path / "history")
    letters = rows(tmp_path / "history", "SELECT tenant FROM dead_letters")
    assert len(letters) == 1 and letters != [("acme",)]


def test_a_line_of_70_mb_is_refused_and_the_next_one_is_read(tmp_path: Path) -> None:
    file = tmp_path / "long.ndjson"
    length = 70 << 20
    with file.open("wb") as out:
        out.write(text(turn("before")) + b'\n{"user_input": "')
        for _ in range(70):
            out.write(b"x" * (1 << 20))
        out.write(b'"}\n' + text(turn("after")) + b"\n")
    counts = folded(file, history=tmp_path / "history")
    assert (counts["read"], counts["applied"], counts["dead"]) == (3, 2, 1)
    sql = "SELECT src_offset, reason, payload FROM dead_letters"
    ((line, reason, payload),) = rows(tmp_path / "history", sql)
    assert line == 2 and payload.startswith(b'{"user_input": "xxxx')
    assert str(length + 19 - 1).encode() in payload or str(length + 19).encode() in payload
    assert reason == "too_large"
