"""`PATCH` and `DELETE /v1/preferences/{id}`: a like is corrected and ended, and `why` says so."""

import threading
from typing import Any
from uuid import uuid4

import httpx
import pytest

from schemas.citation import Citation
from schemas.memory import Preference
from streams.serving.http import routes_corrections
from streams.serving.http.endpoints import ENDPOINTS
from tests.serving.serving import Server
from tests.serving.test_api_memory import fields, ok
from tests.serving.test_api_states import AT, NOW, revisions
from tests.waiting import WITHIN

(EXAMPLE,) = [
    route.reply.example
    for route in ENDPOINTS
    if route.endpoint is routes_corrections.correct_preference
]
WHY = {"reason": "Emma wrote to support."}


def told(api: httpx.Client, user: str, *updates: dict[str, Any]) -> None:
    plan = {
        "type": "write_plan", "plan_id": f"plan-{uuid4()}", "user_id": user, "occurred_at": AT,
        "extractor": {"name": "test"}, "preference_updates": list(updates),
    }  # fmt: skip
    ok(api.post("/v1/records", json=plan, headers=NOW))


def liked(api: httpx.Client, **more: Any) -> tuple[str, str]:
    """The id of a new like of tea, and its user."""
    user = f"user-{uuid4()}"
    update = {"op": "confirm", "domain": "food", "polarity": "like", "subject": "tea"}
    told(api, user, update | {"confidence": 0.5, "note": "I like tea."} | more)
    (one,) = held(api, user)
    return one["preference_id"], user


def held(api: httpx.Client, user: str) -> list[dict[str, Any]]:
    """All preferences of a user, those that have ended, too."""
    found: list[dict[str, Any]] = ok(api.get(f"/v1/users/{user}"))["preferences"]
    return found


def holding(api: httpx.Client, user: str) -> list[tuple[str, str, str]]:
    return sorted(
        (one["polarity"], one["subject"], one["status"])
        for one in held(api, user)
        if one["status"] != "revoked"
    )


def correct(api: httpx.Client, id: str, user: str, **change: Any) -> httpx.Response:
    path, query = f"/v1/preferences/{id}", {"user_id": user}
    return api.patch(path, json=WHY | change, params=query, headers=NOW)


def end(api: httpx.Client, id: str, **query: str) -> httpx.Response:
    return api.delete(f"/v1/preferences/{id}", params=query, headers=NOW)


def test_an_end_revokes_and_why_says_who_and_why(api: httpx.Client) -> None:
    like, user = liked(api)
    found = ok(end(api, like, user_id=user, **WHY))
    Preference.model_validate(found)
    assert found["status"] == "revoked" and holding(api, user) == []
    last = revisions(api, like, 2)[-1]
    assert (last["op"], last["reason"]) == ("revoke", WHY["reason"])
    assert last["extractor_name"] == "operator"


def test_another_subject_ends_it_and_holds_in_its_place(api: httpx.Client) -> None:
    assert EXAMPLE is not None
    like, user = liked(api)
    found = ok(correct(api, like, user, **EXAMPLE))
    assert (found["subject"], found["status"], found["domain"]) == (
        EXAMPLE["subject"], "confirmed", "food",
    )  # fmt: skip
    assert holding(api, user) == [("like", EXAMPLE["subject"], "confirmed")]
    for id, count in ((like, 2), (found["preference_id"], 1)):
        assert revisions(api, id, count)[-1]["reason"] == EXAMPLE["reason"]


@pytest.mark.parametrize(
    ("change", "holds"),
    [
        ({"polarity": "dislike"}, [("dislike", "tea", "confirmed")]),
        ({"domain": "drinks"}, [("like", "tea", "confirmed")]),
        ({"confidence": 0.25}, [("like", "tea", "confirmed")]),
        ({"note": "Only in the morning."}, [("like", "tea", "confirmed")]),
        ({"subject": "TEA", "confidence": 0.9}, [("like", "tea", "confirmed")]),
    ],
    ids=lambda one: "-".join(one) if isinstance(one, dict) else None,
)
@pytest.mark.parametrize("op", ["confirm", "upsert_candidate"])
def test_each_field_is_corrected_alone_and_again_changes_nothing(
    api: httpx.Client, op: str, change: dict[str, Any], holds: list[tuple[str, str, str]]
) -> None:
    like, user = liked(api, op=op)
    found = ok(correct(api, like, user, **change))
    kept = {"domain": "food", "confidence": 0.5, "note": "I like tea."} | change
    kept.pop("subject", None)
    assert {name: found[name] for name in kept} == kept
    assert holding(api, user) == holds
    before = held(api, user)
    assert ok(correct(api, like, user, **change)) == found
    assert ok(correct(api, found["preference_id"], user, **change)) == found
    assert held(api, user) == before


def test_one_that_has_ended_stays_so_until_a_correction_confirms_it(api: httpx.Client) -> None:
    like, user = liked(api)
    first = ok(end(api, like, user_id=user, **WHY))
    assert ok(end(api, like, user_id=user, reason="another")) == first
    assert ok(correct(api, like, user, confidence=0.5))["status"] == "confirmed"
    assert holding(api, user) == [("like", "tea", "confirmed")]


def test_the_same_asked_many_times_at_once_leaves_one_revision(
    api: httpx.Client, sample: Server
) -> None:
    like, user = liked(api)
    asked: list[dict[str, Any]] = []

    def one() -> None:
        with httpx.Client(base_url=sample.url, timeout=WITHIN) as own:
            asked.append(ok(correct(own, like, user, subject="coffee")))

    threads = [threading.Thread(target=one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert asked == [asked[0]] * 8
    last, _ = liked(api)  # what is written after it is in the history after it
    assert revisions(api, last, 1)
    assert len(revisions(api, like, 2)) == 2


def test_without_its_user_or_by_its_citation_it_is_found(api: httpx.Client) -> None:
    like, user = liked(api)
    revisions(api, like, 1)
    cite = str(Citation.of("preference", like))
    assert ok(correct(api, cite, user, note="A."))["preference_id"] == like
    assert ok(end(api, f"[{cite}]", **WHY))["status"] == "revoked"
    assert ok(end(api, like, **WHY))["status"] == "revoked"


def test_what_cannot_be_corrected_says_which_field_and_changes_nothing(api: httpx.Client) -> None:
    like, user = liked(api)
    before = ok(api.get(f"/v1/users/{user}"))
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"reason": "", "subject": "x"}, "reason"),
        ({"reason": None, "subject": "x"}, "reason"),
        ({}, "body"),
        ({"subject": None}, "body"),
        ({"subject": ""}, "subject"),
        ({"note": ""}, "note"),
        ({"polarity": "loves"}, "polarity"),
        ({"confidence": 1.5}, "confidence"),
        ({"body_text": "x"}, "body_text"),
    ]
    for change, field in wrong:
        assert fields(correct(api, like, user, **change)) == [field], change
    assert fields(end(api, like, user_id=user)) == ["reason"]
    for id, whose in (("none", user), (like, "emma")):
        assert correct(api, id, whose, subject="x").status_code == 404
        assert end(api, id, user_id=whose, **WHY).status_code == 404
    assert ok(api.get(f"/v1/users/{user}")) == before


def test_what_may_not_be_stored_is_not(api: httpx.Client) -> None:
    like, user = liked(api)
    before = held(api, user)
    path, body = f"/v1/preferences/{like}", {**WHY, "subject": "coffee"}
    withheld = {**NOW, "source": "meta_request"}
    found = ok(api.patch(path, json=body, params={"user_id": user}, headers=withheld))
    assert [found] == held(api, user) == before
