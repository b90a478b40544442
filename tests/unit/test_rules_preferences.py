"""Likes and dislikes, rule by rule (docs/rules.md, "Long-term memory")."""

import pytest

from streams.folds.rows import Refused
from tests.unit.memory_told import Json, Memory, plan, prefers


def told(user: Memory, *updates: Json) -> list[Json]:
    """A plan of preference updates of its own; returns the revisions it made."""
    plan_id = f"p{len(user.table('plans'))}"
    return user.made(plan(plan_id, preference_updates=list(updates)))


def test_a_candidate_is_a_candidate_until_confirmed(user: Memory) -> None:
    told(user, prefers("upsert_candidate"))
    assert user.preferences() == {("like", "tea"): "candidate"}
    (revision,) = told(user, prefers("confirm"))
    assert revision["op"] == "update"
    assert (revision["before"]["status"], revision["after"]["status"]) == ("candidate", "confirmed")


def test_confirm_creates_a_preference_that_is_absent(user: Memory) -> None:
    (revision,) = told(user, prefers("confirm"))
    assert (revision["op"], revision["before"]) == ("insert", None)
    assert user.preferences() == {("like", "tea"): "confirmed"}


def test_a_candidate_never_demotes_a_confirmed_preference(user: Memory) -> None:
    told(user, prefers("confirm"))
    told(user, prefers("upsert_candidate", confidence=0.9))
    assert user.preferences() == {("like", "tea"): "confirmed"}


def test_a_candidate_revives_a_revoked_preference(user: Memory) -> None:
    told(user, prefers("confirm"))
    (revision,) = told(user, prefers("revoke"))
    assert (revision["op"], revision["after"]["status"]) == ("revoke", "revoked")
    told(user, prefers("upsert_candidate"))
    assert user.preferences() == {("like", "tea"): "candidate"}


def test_confirm_revokes_a_confirmed_opposite_with_a_revision_of_its_own(user: Memory) -> None:
    told(user, prefers("confirm"))
    made, revoked = told(user, prefers("confirm", polarity="dislike"))
    assert (made["op"], revoked["op"]) == ("insert", "revoke")
    assert made["entity_id"] != revoked["entity_id"]
    assert user.preferences() == {("like", "tea"): "revoked", ("dislike", "tea"): "confirmed"}


def test_a_candidate_opposite_stays(user: Memory) -> None:
    told(user, prefers("upsert_candidate"))
    assert len(told(user, prefers("confirm", polarity="dislike"))) == 1
    assert user.preferences() == {("like", "tea"): "candidate", ("dislike", "tea"): "confirmed"}


def test_a_candidate_revokes_no_opposite(user: Memory) -> None:
    told(user, prefers("confirm"))
    told(user, prefers("upsert_candidate", polarity="dislike"))
    assert user.preferences() == {("like", "tea"): "confirmed", ("dislike", "tea"): "candidate"}


def test_a_subject_is_one_however_it_is_written(user: Memory) -> None:
    told(user, prefers("upsert_candidate", "Green Tea"))
    told(user, prefers("confirm", "  ｇｒｅｅｎ\u3000tea "))  # full-width letters and space
    assert user.preferences() == {("like", "Green Tea"): "confirmed"}


def test_another_domain_is_another_preference(user: Memory) -> None:
    told(user, prefers("confirm"), prefers("confirm", domain="drinks"))
    assert len(list(user.rows.scan("p/"))) == 2


def test_revoking_an_unknown_preference_is_refused(user: Memory) -> None:
    told(user, prefers("confirm"))
    with pytest.raises(Refused) as refused:
        told(user, prefers("revoke", polarity="dislike"))
    assert refused.value.reason == "unknown_preference"


def test_a_preference_said_again_without_news_makes_no_revision(user: Memory) -> None:
    told(user, prefers("confirm"))
    assert told(user, prefers("confirm")) == []
