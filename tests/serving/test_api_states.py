"""`PATCH` and `DELETE /v1/states/{id}`: what is held is corrected and ended, and `why` says so."""

import asyncio
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.citation import Citation
from schemas.memory import State
from streams.serving.backends.embedded import EmbeddedBackend
from streams.serving.http import routes_corrections
from streams.serving.http.app import create_app
from streams.serving.http.endpoints import ENDPOINTS
from tests.serving.serving import Server
from tests.serving.test_api_memory import Lent, fields, ok
from tests.waiting import WITHIN, until

AT = "2026-03-01T09:30:00Z"
LATER = "2026-06-01T00:00:00Z"
NOW = {"Prefer": "wait=30"}


def held(api: httpx.Client, **more: Any) -> tuple[str, str]:
    """The id of a new state, and its user."""
    user, state = f"user-{uuid4()}", f"state-{uuid4()}"
    update = {"kind": "fact", "state_id": state, "body_text": "Lives in Ghent.", "reason": "said"}
    plan = {
        "type": "write_plan", "plan_id": f"plan-{state}", "user_id": user, "occurred_at": AT,
        "extractor": {"name": "test"}, "state_updates": [update | more],
    }  # fmt: skip
    ok(api.post("/v1/records", json=plan, headers=NOW))
    return state, user


def correct(api: httpx.Client, state: str, body: dict[str, Any], **more: Any) -> httpx.Response:
    return api.patch(f"/v1/states/{state}", json=body, **{"headers": NOW, **more})


def end(api: httpx.Client, state: str, **query: str) -> httpx.Response:
    return api.delete(f"/v1/states/{state}", params=query, headers=NOW)


def revisions(api: httpx.Client, state: str, count: int) -> list[dict[str, Any]]:
    """Those of the state, once the history has so many."""

    def asked() -> list[dict[str, Any]]:
        reply = api.get(f"/v1/states/{state}/why")
        return [] if reply.status_code == 404 else ok(reply)["revisions"]

    return until(asked, lambda found: len(found) >= count)


def body_of(api: httpx.Client, user: str) -> list[str]:
    """What is held of the user now; somebody of whom nothing is held is not found."""
    reply = api.get(f"/v1/users/{user}")
    states = [] if reply.status_code == 404 else ok(reply)["states"]
    return [one["body_text"] for one in states]


def test_an_id_of_several_users_needs_the_user(api: httpx.Client) -> None:
    """Without it, either one's state would be changed."""
    state, user = held(api)
    other = f"other-{user}"
    update = {"kind": "fact", "state_id": state, "body_text": "Lives in Lima.", "reason": "said"}
    plan = {
        "type": "write_plan", "plan_id": f"plan-{other}", "user_id": other, "occurred_at": AT,
        "extractor": {"name": "test"}, "state_updates": [update],
    }  # fmt: skip
    ok(api.post("/v1/records", json=plan, headers=NOW))
    revisions(api, state, 2)
    body = {"body_text": "Lives in Bruges.", "reason": "support"}
    for refused in (correct(api, state, body), end(api, state, reason="over")):
        assert refused.status_code == 422, refused.text
        assert refused.json()["errors"][0]["field"] == "user_id"
    ok(correct(api, state, body, params={"user_id": user}))
    ok(end(api, state, reason="over", user_id=other))
    assert body_of(api, user) == ["Lives in Bruges."]
    assert body_of(api, other) == []


def test_a_correction_is_the_state_from_then_on_and_why_says_who_and_why(
    api: httpx.Client,
) -> None:
    """With the body of the OpenAPI document."""
    (example,) = [
        route.reply.example
        for route in ENDPOINTS
        if route.endpoint is routes_corrections.correct_state
    ]
    assert example is not None
    state, user = held(api)
    found = ok(correct(api, state, example, params={"user_id": user}))
    State.model_validate(found)
    assert found["body_text"] == example["body_text"]
    assert found["valid_from"] == AT, "a correction begins nothing new"
    assert body_of(api, user) == [example["body_text"]]
    first, second = revisions(api, state, 2)
    assert first["after"]["body_text"] == second["before"]["body_text"] == "Lives in Ghent."
    assert second["reason"] == example["reason"]


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        ({"confidence": 0.25}, {"confidence": 0.25}),
        ({"payload": {"slot": "home"}}, {"payload": {"slot": "home"}}),
        ({"entities": ["Ghent"]}, {"entities": ["Ghent"]}),
        ({"valid_to": LATER}, {"valid_to": LATER, "status": "closed"}),
        (
            {"valid_from": LATER, "body_text": "Lives in Leiden."},
            {"valid_from": LATER, "body_text": "Lives in Leiden."},
        ),
    ],
    ids=lambda one: "-".join(one),
)
def test_each_field_is_corrected_alone(
    api: httpx.Client, change: dict[str, Any], shown: dict[str, Any]
) -> None:
    state, user = held(api)
    whose = {"user_id": user}
    before = ok(correct(api, state, {"reason": "a look", "confidence": 0.5}, params=whose))
    after = ok(correct(api, state, {"reason": "checked", **change}, params=whose))
    same = before.keys() - shown - {"last_confirmed_at", "updated_at", "evidence_event_ids"}
    assert {name: after[name] for name in shown} == shown
    assert {name: after[name] for name in same} == {name: before[name] for name in same}


def test_a_correction_without_its_user_finds_the_state_in_the_history(api: httpx.Client) -> None:
    state, user = held(api)
    revisions(api, state, 1)
    assert ok(correct(api, state, {"reason": "r", "body_text": "x"}))["body_text"] == "x"
    assert body_of(api, user) == ["x"]


def test_a_citation_stands_for_its_id(api: httpx.Client) -> None:
    """With its user and without, in brackets and without."""
    state, user = held(api)
    cite = str(Citation.of("state", state))
    revisions(api, state, 1)
    for number, query in enumerate(({"user_id": user}, {})):
        for name in (cite, f"[{cite}]"):
            body = {"reason": "r", "body_text": f"{number} {name}"}
            assert ok(correct(api, name, body, params=query))["body_text"] == body["body_text"]
    assert ok(end(api, cite, reason="r", user_id=user))["state_id"] == state
    other = str(Citation.of("preference", state))
    assert end(api, other, reason="r", user_id=user).status_code == 404


def test_an_end_is_an_end_and_the_past_stays(api: httpx.Client) -> None:
    state, user = held(api)
    found = ok(end(api, state, reason="moved out", at=LATER, user_id=user))
    assert (found["status"], found["valid_to"]) == ("closed", LATER)
    assert body_of(api, user) == []
    assert revisions(api, state, 2)[-1]["reason"] == "moved out"
    then = ok(api.get(f"/v1/users/{user}/states", params={"as_of": "2026-05-01"}))
    assert [one["state_id"] for one in then["states"]] == [state]


Ask = Callable[[httpx.Client, str, str], httpx.Response]
AGAIN: dict[str, Ask] = {
    "a correction": lambda api, state, user: correct(
        api, state, {"reason": "r", "body_text": "x"}, params={"user_id": user}
    ),
    "a correction under a key": lambda api, state, user: correct(
        api, state, {"reason": "r", "body_text": "x"}, params={"user_id": user},
        headers={**NOW, "Idempotency-Key": f"key-{state}"},
    ),
    "an end": lambda api, state, user: end(api, state, reason="r", user_id=user),
    "an end at a time": lambda api, state, user: end(
        api, state, reason="r", at=LATER, user_id=user
    ),
}  # fmt: skip


@pytest.mark.parametrize("ask", AGAIN.values(), ids=AGAIN)
def test_what_is_asked_again_changes_nothing(api: httpx.Client, ask: Ask) -> None:
    state, user = held(api)
    first = ok(ask(api, state, user))
    assert [ok(ask(api, state, user)) for _ in range(3)] == [first] * 3
    last, last_user = held(api)  # what is written after it is in the history after it
    assert revisions(api, last, 1) and last_user
    assert len(revisions(api, state, 2)) == 2


AT_ONCE: dict[str, Ask] = {
    **AGAIN,
    "a new version": lambda api, state, user: correct(
        api, state, {"reason": "r", "valid_from": LATER}, params={"user_id": user}
    ),
}  # fmt: skip


@pytest.mark.parametrize("ask", AT_ONCE.values(), ids=AT_ONCE)
def test_the_same_asked_many_times_at_once_leaves_one_revision(
    api: httpx.Client, sample: Server, ask: Ask
) -> None:
    state, user = held(api)
    asked: list[dict[str, Any]] = []

    def one() -> None:
        with httpx.Client(base_url=sample.url, timeout=WITHIN) as own:
            asked.append(ok(ask(own, state, user)))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asked == [asked[0]] * 8
    last, _ = held(api)  # what is written after it is in the history after it
    assert revisions(api, last, 1)
    assert len(revisions(api, state, 2)) == 2


def test_a_key_that_was_used_for_another_change_is_named(api: httpx.Client) -> None:
    state, user = held(api)
    key = {**NOW, "Idempotency-Key": f"key-{state}"}
    for text, status in (("One.", 200), ("Two.", 409)):
        body = {"reason": "r", "body_text": text}
        reply = correct(api, state, body, params={"user_id": user}, headers=key)
        assert reply.status_code == status
    assert fields(reply, 409) == ["Idempotency-Key"]


def test_many_who_correct_at_once_each_leave_a_revision(api: httpx.Client, sample: Server) -> None:
    state, user = held(api)
    texts = [f"Lives in {number}." for number in range(8)]
    replies: list[str] = []

    def one(text: str) -> None:
        with httpx.Client(base_url=sample.url, timeout=WITHIN) as own:
            body = {"reason": text, "body_text": text}
            replies.append(ok(correct(own, state, body, params={"user_id": user}))["state_id"])

    threads = [threading.Thread(target=one, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert replies == [state] * len(texts)
    told = revisions(api, state, 1 + len(texts))
    assert {row["reason"] for row in told[1:]} == set(texts)
    assert all(a["after"] == b["before"] for a, b in pairwise(told))


def test_what_cannot_be_corrected_says_which_field_and_changes_nothing(api: httpx.Client) -> None:
    state, user = held(api)
    before = ok(api.get(f"/v1/users/{user}"))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"body_text": "x"}, "reason"),
        ({"reason": "", "body_text": "x"}, "reason"),
        ({"reason": "r"}, "body"),
        ({"reason": "r", "body_text": ""}, "body_text"),
        ({"reason": "r", "confidence": 1.5}, "confidence"),
        ({"reason": "r", "bodytext": "x"}, "bodytext"),
        ({"reason": "r", "valid_from": "yesterday"}, "valid_from"),
        ({"reason": "r", "kind": "task"}, "kind"),
        ({"reason": "r", "body_text": None}, "body"),
    ]
    for body, field in wrong:
        assert fields(correct(api, state, body, params={"user_id": user})) == [field], body
    assert fields(end(api, state, user_id=user)) == ["reason"]
    assert fields(end(api, state, user_id=user, reason="r", at="soon")) == ["at"]
    backwards = {"reason": "r", "valid_from": LATER, "valid_to": AT}
    assert correct(api, state, backwards, params={"user_id": user}).status_code == 422
    assert ok(api.get(f"/v1/users/{user}")) == before


def test_a_state_of_nobody_or_of_another_user_is_not_found(api: httpx.Client) -> None:
    state, _ = held(api)
    body = {"reason": "r", "body_text": "x"}
    for name, user in (("none", None), ("none", "emma"), (state, "emma")):
        query = {} if user is None else {"user_id": user}
        assert correct(api, name, body, params=query).status_code == 404
        assert end(api, name, reason="r", **query).status_code == 404


def test_a_mood_is_no_state_to_be_corrected(api: httpx.Client) -> None:
    """It follows from moments of affect."""
    found = ok(api.get("/v1/users/emma/states"))["states"]
    (mood,) = [one["state_id"] for one in found if one["kind"] == "long_mood_state"]
    assert end(api, mood, reason="r", user_id="emma").status_code == 404


def test_a_correction_that_was_applied_is_not_answered_as_if_it_was_not(tmp_path: Path) -> None:
    async def ask() -> httpx.Response:
        async with Lent(tmp_path / "history") as memory:
            transport = httpx.ASGITransport(create_app(memory))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as api:
                plan = {
                    "type": "write_plan", "plan_id": "p1", "user_id": "u1", "occurred_at": AT,
                    "extractor": {"name": "test"},
                    "state_updates": [{"kind": "fact", "state_id": "s1", "body_text": "Old."}],
                }  # fmt: skip
                await EmbeddedBackend.submit(memory, [msgspec.json.encode(plan)], 30.0)
                store = memory._store
                reply = await api.patch(
                    "/v1/states/s1",
                    json={"body_text": "New.", "reason": "asked"},
                    params={"user_id": "u1"},
                    headers=NOW,
                )
            memory._store = store
            return reply

    assert ok(asyncio.run(ask()), 202)["look"] == "/v1/users/u1/states"


def test_what_may_not_be_stored_is_not(api: httpx.Client) -> None:
    state, user = held(api)
    before = ok(api.get(f"/v1/users/{user}"))
    withheld = {**NOW, "source": "meta_request"}
    body = {"reason": "r", "body_text": "x"}
    ok(correct(api, state, body, params={"user_id": user}, headers=withheld))
    assert ok(api.get(f"/v1/users/{user}")) == before


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(TEXTS, TEXTS)
def test_any_text_and_any_reason_come_back_as_they_were(
    sample: Server, text: str, reason: str
) -> None:
    state, user = held(sample.client)
    body = {"reason": reason, "body_text": text}
    found = ok(correct(sample.client, state, body, params={"user_id": user}))
    assert found["body_text"] == text
