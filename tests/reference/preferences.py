"""Likes and dislikes: one for each domain, subject and polarity."""

from schemas.events import PreferenceUpdate, WritePlan
from schemas.time import format_time, parse_time
from tests.reference.ends import End, revoked
from tests.reference.wording import Document, Refused, evidence, made_id, normalised

Preferences = dict[str, Document]


def comes_too_late(preferences: Preferences, plan: WritePlan, update: PreferenceUpdate) -> bool:
    """Whether a preference was updated after the time that its update names; nothing is there to be
    revoked where it is not known."""
    if update.unchanged_since is None:
        return False
    known = preferences.get(id_of(plan, update, update.polarity))
    if known is None:
        return update.op == "revoke"
    return parse_time(known["updated_at"]) > update.unchanged_since


def update_preference(preferences: Preferences, plan: WritePlan, update: PreferenceUpdate) -> None:
    """One of a plan's `preference_updates`."""
    made = id_of(plan, update, update.polarity)
    known = preferences.get(made)
    if update.op == "revoke":
        if known is None:
            raise Refused("revoke of an unknown preference")
        # what is revoked keeps its confidence and note, and gains the evidence
        change(known, plan, update, {"status": "revoked"})
        return
    if known is None:
        known = preferences[made] = {"preference_id": made, "domain": update.domain}
        # the subject stays as it was written first
        known |= {"polarity": update.polarity, "subject": update.subject, "status": "candidate"}
    sure = update.op == "confirm" or known["status"] == "confirmed"
    said = {
        "status": "confirmed" if sure else "candidate",
        "confidence": update.confidence + 0.0,  # the one said last
        "note": update.note or known.get("note"),
    }
    known["said_at"] = max(plan.occurred_at, known.get("said_at", plan.occurred_at))
    change(known, plan, update, said)


def revoke_opposite(
    preferences: Preferences, over: list[End], plan: WritePlan, update: PreferenceUpdate
) -> None:
    """What is confirmed takes the place of a confirmed opposite, if no plan before has said that it
    is over by then."""
    other = "dislike" if update.polarity == "like" else "like"
    known = preferences[id_of(plan, update, update.polarity)]
    holds = revoked(known, over)["status"] == "confirmed"
    opposite = preferences.get(id_of(plan, update, other))
    if update.op == "confirm" and holds and opposite and opposite["status"] == "confirmed":
        change(opposite, plan, update, {"status": "revoked"})


def document(preference: Document) -> Document:
    return {name: value for name, value in preference.items() if name != "said_at"}


def id_of(plan: WritePlan, update: PreferenceUpdate, polarity: str) -> str:
    subject = normalised(update.subject)
    return made_id("preference", plan.tenant, plan.user_id, update.domain, subject, polarity)


def change(known: Document, plan: WritePlan, update: PreferenceUpdate, said: Document) -> None:
    """`updated_at` moves only if something else does."""
    rests_on = known.get("evidence_event_ids", [])
    changed = known | said
    changed["evidence_event_ids"] = evidence(rests_on, plan, update.evidence_event_ids)
    if changed != known:
        known.update(changed, updated_at=format_time(plan.occurred_at))
