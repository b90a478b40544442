"""`POST /v1/records` over real sockets: shapes of bodies, results, refusals."""

import gzip
import json
from base64 import b64encode
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from streams.pipeline.decode import LONE_SURROGATE, half_of_a_pair
from streams.serving.backends.write_queue import PART
from streams.serving.http import content_type
from streams.serving.http.problems import Problem
from tests.command import turn
from tests.serving.test_api_memory import fields, ok, unfolded, until_found
from tests.waiting import until

NDJSON = {"content-type": "application/x-ndjson"}
EVENT = {"content-type": "application/cloudevents+json"}
EVENTS = {"content-type": "application/cloudevents-batch+json"}


def told(**more: Any) -> Any:
    """A turn of an id of its own, in a session of its own."""
    return turn(uuid4().hex, session_id=uuid4().hex, **more)


def endings(reply: httpx.Response, status: int = 200) -> list[str]:
    """What each record ended as, in order."""
    results = ok(reply, status)["results"]
    assert [one["position"] for one in results] == list(range(1, len(results) + 1))
    return [one["ending"] for one in results]


def letters(api: httpx.Client) -> list[Any]:
    """The dead letters."""
    found: list[Any] = ok(api.get("/v1/dead-letters"))["dead_letters"]
    return found


def kept(api: httpx.Client, record: Any) -> bool:
    """Whether its session is there."""
    return api.get(f"/v1/sessions/{record['session_id']}").status_code == 200


def test_guarantee_3_a_result_that_waits_for_its_recursion_says_so(api: httpx.Client) -> None:
    """It stays applied, and its letter comes once the recursion has ended without its call."""
    place = {"session_id": uuid4().hex, "task_id": "t", "trace_id": "r"}
    at = {"occurred_at": "2026-03-02T09:00:00Z"}
    result = {"type": "tool_result", **place, **at, "tool_call_id": "k", "success": True,
              "result": "x"}  # fmt: skip
    ended = {"type": "recursion", **place, **at, "iteration_index": 1,
             "action": {"action_type": "CALL_TOOL", "output": {"tool_calls": []}}}  # fmt: skip
    waits, step = ok(api.post("/v1/records", json=[result, ended]))["results"]
    assert (waits["ending"], waits["reason"]) == ("applied", "waiting")
    assert "recursion" in waits["detail"]
    assert (step["ending"], step.get("reason")) == ("applied", None)


def test_one_record_an_array_and_lines(api: httpx.Client) -> None:
    one, two, three = told(), told(), told()
    assert endings(api.post("/v1/records", json=one)) == ["applied"]
    assert endings(api.post("/v1/records", json=[one, two])) == ["duplicate", "applied"]
    lines = "\n".join(map(json.dumps, [two, three])) + "\n\n"
    assert endings(api.post("/v1/records", content=lines, headers=NDJSON)) == [
        "duplicate",
        "applied",
    ]
    assert all(kept(api, record) for record in (one, two, three))


def test_packed_lines(api: httpx.Client) -> None:
    records = [told() for _ in range(300)]
    lines = gzip.compress("\n".join(map(json.dumps, records)).encode())
    headers = NDJSON | {"content-encoding": "gzip"}
    assert endings(api.post("/v1/records", content=lines, headers=headers)) == ["applied"] * 300


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_byte_order_mark_before_a_body_is_ignored(api: httpx.Client, is_packed: bool) -> None:
    """As before a file."""
    record = told()
    event = {"specversion": "1.0", "id": record["event_id"], "source": "/x", "type": "turn",
             "data": record}  # fmt: skip
    bodies = [
        ("application/json", record), ("application/json", [record]),
        (NDJSON["content-type"], record), (EVENT["content-type"], event),
        (EVENTS["content-type"], [event]),
    ]  # fmt: skip
    found = []
    for kind, body in bodies:
        content = json.dumps(body).encode("utf-8-sig")
        headers = {"content-type": kind}
        if is_packed:
            content, headers["content-encoding"] = gzip.compress(content), "gzip"
        found += endings(api.post("/v1/records", content=content, headers=headers))
    assert found == ["applied", *["duplicate"] * 4]


def test_a_byte_order_mark_elsewhere_is_no_json(api: httpx.Client) -> None:
    lines = b"\n".join([json.dumps(told()).encode(), json.dumps(told()).encode("utf-8-sig")])
    assert endings(api.post("/v1/records", content=lines, headers=NDJSON)) == ["applied", "refused"]


def test_nothing_is_nothing(api: httpx.Client) -> None:
    for content in ("", "\n \n"):
        reply = ok(api.post("/v1/records", content=content, headers=NDJSON))
        assert reply == {"counts": {}, "results": []}
    assert ok(api.post("/v1/records", json=[])) == {"counts": {}, "results": []}


def test_guarantee_3_each_record_has_one_ending(api: httpx.Client) -> None:
    """Good and bad ones together: the bad ones are told by position, field and reason."""
    good = told()
    lines = [
        json.dumps(good), json.dumps(good | {"user_input": "other"}),
        json.dumps(told(source="meta_request")), json.dumps(told(metadata={"correct_rate": 2})),
        "{", json.dumps(told(type="tune")), json.dumps(told(tenant="other")),
        json.dumps(told(user_input="data:image/png;base64," + "A" * 64)), "[1]",
    ]  # fmt: skip
    body = "\n".join(lines).encode() + b'\n{"type": "\xff"}'
    reply = ok(api.post("/v1/records", content=body, headers=NDJSON))
    results = reply["results"]
    assert [(one["ending"], one.get("reason"), one.get("field")) for one in results] == [
        ("applied", None, None), ("dead", "conflicting_duplicate", None), ("withheld", None, None),
        ("refused", "invalid", "metadata.correct_rate"), ("refused", "bad_json", None),
        ("refused", "unknown_type", "type"), ("refused", "other_tenant", "tenant"),
        ("refused", "image", "user_input"), ("refused", "not_an_object", None),
        ("refused", "bad_utf8", None),
    ]  # fmt: skip
    assert reply["counts"] == {"applied": 1, "dead": 1, "withheld": 1, "refused": 7}
    key = f"default/{good['session_id']}"
    (letter,) = until(lambda: [one for one in letters(api) if one["key"] == key], bool)
    reasons = {one["reason"] for one in letters(api)}
    assert not reasons & {"bad_json", "unknown_type", "bad_utf8"}, "refused, not taken"
    whole = ok(api.get(f"/v1/dead-letters/{letter['id'].replace('/', '%2F')}"))
    assert json.loads(whole["text"]) == good | {"user_input": "other"}


def test_little_is_said_of_what_went_well(api: httpx.Client) -> None:
    records = [told(), told(tenant="other"), told()]
    reply = ok(api.post("/v1/records", json=records, headers={"prefer": "return=minimal"}))
    assert reply["counts"] == {"applied": 2, "refused": 1}
    assert [one["position"] for one in reply["results"]] == [2]


def test_where_all_are_refused_the_request_is(api: httpx.Client) -> None:
    bad = told(metadata={"correct_rate": 2})
    assert fields(api.post("/v1/records", json=[bad, told(occurred_at="x")])) == [
        "metadata.correct_rate",
        "occurred_at",
    ]
    fields(api.post("/v1/records", json=told(tenant="other")), 403)
    assert not kept(api, bad)


async def test_who_does_not_wait_is_answered_at_once(tmp_path: Path) -> None:
    """Before anything is folded: none is lost. More than these wait for what is folded."""
    records = [told() for _ in range(2 * PART)]
    async with unfolded(tmp_path / "history") as (api, fold):
        reply = await api.post("/v1/records", json=records, headers={"prefer": "wait=0"})
        assert endings(reply, 202) == ["accepted"] * len(records)
        fold.set()
        for record in (records[0], records[-1]):
            await until_found(api, f"/v1/sessions/{record['session_id']}")


def test_a_key_stands_for_an_id(api: httpx.Client) -> None:
    record = told()
    del record["event_id"]
    headers = {"idempotency-key": uuid4().hex}
    first, second = (ok(api.post("/v1/records", json=record, headers=headers)) for _ in range(2))
    assert [one["results"][0]["ending"] for one in (first, second)] == ["applied", "duplicate"]
    assert first["results"][0]["id"] == second["results"][0]["id"]
    assert fields(api.post("/v1/records", json=record)) == ["event_id"]
    for key in (b"", b'""', b'"', b"x" * 257, "é".encode("latin-1")):
        reply = api.post("/v1/records", json=record, headers={b"idempotency-key": key})
        assert fields(reply) == ["Idempotency-Key"], key


def test_a_key_stands_for_an_id_of_each_of_several_records(api: httpx.Client) -> None:
    """By their place. One that has an id keeps it."""
    records = [told(), told(), told()]
    del records[0]["event_id"], records[2]["event_id"]
    headers = {"idempotency-key": uuid4().hex}
    first, second = (
        ok(api.post("/v1/records", json=records, headers=headers))["results"] for _ in range(2)
    )
    assert [one["ending"] for one in first] == ["applied"] * 3
    assert [one["ending"] for one in second] == ["duplicate"] * 3
    assert [one["id"] for one in first] == [one["id"] for one in second]
    assert len({one["id"] for one in first}) == 3
    assert first[1]["id"] == records[1]["event_id"]


@pytest.mark.parametrize(
    "content", [b'{"type": ', b"{", b"nope", b'{"a": 1,}', b'{"a": "\xff"}', b"{}{}"]
)
def test_one_record_that_is_no_json_is_400_and_says_where(
    api: httpx.Client, content: bytes
) -> None:
    reply = api.post("/v1/records", content=content, headers={"content-type": "application/json"})
    said = reply.json()
    assert (reply.status_code, said["type"]) == (400, "/problems/bad-json")
    assert "byte" in said["detail"], said


def test_a_body_of_json_is_not_empty(api: httpx.Client) -> None:
    for path in ("/v1/records", "/memory/user/update", "/memory/session/update"):
        for content in (b"", b" \n"):
            reply = api.post(path, content=content, headers={"content-type": "application/json"})
            assert reply.status_code == 400, path
            assert reply.json()["type"] == "/problems/bad-json"
            assert reply.json()["detail"] == "the body is empty"


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"a=b", "application/x-www-form-urlencoded", 415),
        (b"{}", "application/json; charset=utf-16", 415),
        (b"[{]", "application/json", 400),
        (b'{"specversion": ', EVENT["content-type"], 400),
        (b"{}", EVENTS["content-type"], 400),
    ],
)
def test_a_body_that_cannot_be_taken_apart(
    api: httpx.Client, content: bytes, kind: str, status: int
) -> None:
    fields(api.post("/v1/records", content=content, headers={"content-type": kind}), status)


def test_too_many_records_at_once(api: httpx.Client) -> None:
    """Millions of small ones are refused before they are made; others are answered meanwhile."""
    post = partial(api.post, "/v1/records")
    assert fields(post(content=b"{}\n" * 10_001, headers=NDJSON), 413) == ["body"]
    assert fields(post(json=[0] * 10_001), 413) == ["body"]
    assert fields(post(content=b"[" + b"1," * 7_900_000 + b"1]"), 413) == ["body"]
    assert fields(post(content=b"[" + b"{}," * 5_000_000 + b"{}]", headers=EVENTS), 413) == ["body"]
    large = json.dumps({"specversion": "1.0", "data": [[]] * 1_000_000}).encode()
    assert fields(post(content=large, headers=EVENT), 413) == ["body"]


def test_elements_of_an_array_are_counted() -> None:
    """Commas within elements are none between them."""
    many = [[1, 'a,[{\\",', {}], {"b": "],"}, "x,y", [[], [1, {"c": [2, 3]}]], None] * 300
    text = json.dumps(many, indent=1).encode()
    assert [json.loads(one) for one in content_type.elements(text, len(many))] == many
    with pytest.raises(Problem):
        content_type.elements(text, len(many) - 1)
    for text in (b"[", b"[1,]", b"[1" + b",1" * 3_000, b"]" * 10 + b"," * 3_000):
        with pytest.raises(Problem) as told_of:
            content_type.elements(text, 1_000_000)
        assert told_of.value.status == 400


@pytest.mark.parametrize(
    "half", [b"\\ud83d", b"\\ud83d x", b"\\udc00", b"\\ud83d\\u0041", b"\\ud83d\\ude00 \\ud83d"]
)
def test_half_of_a_pair_is_found_near_the_place_where_reading_ended(half: bytes) -> None:
    body = b'["' + b"a" * 100_000 + half + b'"]'
    with pytest.raises(Problem) as refused:
        content_type.decoded(body)
    lone = LONE_SURROGATE.search(body)
    assert lone is not None
    assert half_of_a_pair(lone) in json.loads(refused.value.body)["detail"]


def test_a_record_too_large_is_refused_before_it_is_decoded(api: httpx.Client) -> None:
    large = told(list=[{}] * 1_000_000)
    for more in ({}, {"idempotency-key": uuid4().hex}):
        assert fields(api.post("/v1/records", json=large, headers=more)) == ["record"]
    assert endings(api.post("/v1/records", json=large | {"source": "meta_request"})) == ["withheld"]


def test_a_fault_says_its_field_once(api: httpx.Client) -> None:
    bad = told(occurred_at="soon")
    (fault,) = api.post("/v1/records", json=bad).json()["errors"]
    assert fault["field"] == "occurred_at" and "occurred_at" not in fault["reason"]


def test_each_field_that_is_wrong_is_a_fault(api: httpx.Client) -> None:
    bad = {"type": "turn", "occurred_at": "soon; event_id: x", "session_id": ""}
    faults = api.post("/v1/records", json=bad).json()["errors"]
    assert {one["field"] for one in faults} == {"event_id", "occurred_at", "session_id"}
    assert all(one["position"] == 1 and "; " not in one["reason"] for one in faults)


def test_what_is_null_is_left_out(api: httpx.Client) -> None:
    record = told() | {"event_id": None}
    headers = {"idempotency-key": uuid4().hex}
    assert endings(api.post("/v1/records", json=record, headers=headers)) == ["applied"]
    assert kept(api, record)


@pytest.mark.parametrize("value", ["²", "1,5", '"5"', "-1", "9" * 400])
def test_a_wait_that_is_no_number_is_passed_over(api: httpx.Client, value: str) -> None:
    headers = [(b"prefer", b"wait=" + value.encode("latin-1"))]
    assert endings(api.post("/v1/records", json=told(), headers=headers)) == ["applied"]


def event(record: Any, **more: Any) -> Any:
    """A record as an event that says again what it says."""
    said = {"id": record["event_id"], "type": "turn", "time": record["occurred_at"]}
    return {"specversion": "1.0", "source": "/platform", **said, "data": record, **more}


def test_an_event_nested_without_end_is_refused(api: httpx.Client) -> None:
    for depth in (500, 990, 100_000):
        data = '{"x":' + "[" * depth + "]" * depth + "}"
        said = {"specversion": "1.0", "data_base64": b64encode(data.encode()).decode()}
        fields(api.post("/v1/records", content=json.dumps(said), headers=EVENT))


def test_an_event_a_batch_and_binary_mode(api: httpx.Client) -> None:
    one, two, three, four = (told() for _ in range(4))
    assert endings(api.post("/v1/records", json=event(one), headers=EVENT)) == ["applied"]
    packed = event(two, data=None, data_base64=b64encode(json.dumps(two).encode()).decode())
    batch = [event(one), packed, {"specversion": "0.3"}]
    assert endings(api.post("/v1/records", json=batch, headers=EVENTS)) == [
        "duplicate",
        "applied",
        "refused",
    ]
    headers = {"ce-specversion": "1.0", "ce-id": three["event_id"], "ce-type": "turn"}
    assert endings(api.post("/v1/records", json=three, headers=headers)) == ["applied"]
    wrong = headers | {"ce-id": "another"}
    assert fields(api.post("/v1/records", json=four, headers=wrong)) == ["event_id"]
    assert all(kept(api, record) for record in (one, two, three)) and not kept(api, four)


def test_attributes_say_what_the_record_does_not(api: httpx.Client) -> None:
    bare = {"session_id": uuid4().hex}
    record = bare | {"type": "turn", "event_id": "e1", "occurred_at": "2026-03-01T09:30:00Z"}
    assert endings(api.post("/v1/records", json=event(record, data=bare), headers=EVENT)) == [
        "applied"
    ]
    assert endings(api.post("/v1/records", json=record)) == ["duplicate"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"type": "recursion"}, "type"),
        ({"id": "another"}, "event_id"),
        ({"time": "2020-01-01T00:00:00Z"}, "occurred_at"),
        ({"time": "then"}, "occurred_at"),
        ({"specversion": None}, "specversion"),
        ({"data": 3}, "data"),
        ({"data": None, "data_base64": "?"}, "data_base64"),
    ],
)
def test_an_event_that_contradicts_itself_is_refused(
    api: httpx.Client, change: Any, field: str
) -> None:
    record = told()
    reply = api.post("/v1/records", json=event(record, **change), headers=EVENT)
    assert fields(reply) == [field]
    assert not kept(api, record)


@pytest.mark.parametrize(
    ("headers", "content"),
    [
        ({}, '{"source": "meta_request", "source": "chat", %s}'),
        ({}, '{"data": {"Source": "Meta-Request", %s}}'),
        ({}, '{%s, "metadata": {"source": "metaRequest"}}'),
        ({"ce-specversion": "1.0", "ce-source": "meta_request"}, "{%s}"),
        ({"ce-type": "meta%5Frequest"}, "{%s}"),
        (
            {"content-type": "application/cloudevents+json"},
            '{"specversion": "1.0", "source": "meta_request", "data": {%s}}',
        ),
    ],
)
def test_what_is_withheld_anywhere_is_withheld(
    api: httpx.Client, headers: dict[str, str], content: str
) -> None:
    record = told(user_input="a hushed word")
    body = content.replace("%s", json.dumps(record)[1:-1])
    sent = {"content-type": "application/json"} | headers
    reply = api.post("/v1/records", content=body, headers=sent)
    assert endings(reply) == ["withheld"] and "hushed" not in reply.text
    session = {"session_id": uuid4().hex, "topic": "a hushed word"}
    double = '{"source": "meta_request", "source": "chat", ' + json.dumps(session)[1:]
    assert api.post("/memory/session/update", content=double).status_code == 204
