"""Likes and dislikes, rule by rule (docs/rules.md, "Long-term memory")."""

from tests.unit.memory_told import Json, Memory, plan, prefers


def told(user: Memory, *updates: Json) -> list[Json]:
    """A plan of preference updates of its own; returns the revisions it made."""
    plan_id = f"p{len(user.table('plans'))}"
    return user.made(plan(plan_id, preference_updates=list(updates)))


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


def test_a_subject_is_one_however_it_is_written(user: Memory) -> None:
    told(user, prefers("upsert_candidate", "Green Tea"))
    told(user, prefers("confirm", "  ｇｒｅｅｎ\u3000tea "))  # full-width letters and space
    assert user.preferences() == {("like", "Green Tea"): "confirmed"}
