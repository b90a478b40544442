"""Facts, relations, tasks and summaries: what is held true of a user, and since when.

A state has versions. A version holds from its `valid_from` until its `valid_to`, or until the
next version begins if that is earlier. The version that begins last is the *current* one.
The mood is a state, too, but its versions follow from feelings: affect.py.
"""

import json

from schemas.events import EventAnnotations, StateUpdate, WritePlan
from schemas.time import format_time
from tests.reference.ends import End, closed
from tests.reference.wording import Document, Refused, evidence, first_given, made_id

States = dict[str, list[Document]]
"""All versions of each state, oldest `valid_from` first; times in microseconds."""


def update_state(states: States, plan: WritePlan, update: StateUpdate, ordinal: int) -> None:
    """One of a plan's `state_updates`, at that place of the list."""
    made = made_id("state", plan.tenant, plan.user_id, plan.plan_id, str(ordinal))
    if update.state_id is None and made in states:
        return  # another plan has named it: nothing changes
    state_id = update.state_id or made
    if update.op == "upsert" and state_id not in states:
        states[state_id] = [blank_state(state_id, plan, update)]
    closed_at = close_time(plan, update)
    if comes_too_late(states.get(state_id), update, closed_at):
        return
    if state_id not in states:
        raise Refused(f"{update.op} of an unknown state")
    current = states[state_id][-1]
    if update.op == "upsert" and update.kind != current["kind"]:
        raise Refused("the state is of another kind")
    if update.op == "upsert":
        known_times = [one["valid_from"] for one in states[state_id]]
        version = version_meant(states[state_id], update.valid_from)
        upsert(version, update)
        sent = plan.extractor.name != "rules" and plan.extraction is None
        if not (sent and version["valid_from"] in known_times):
            version["stated_at"] = plan.occurred_at
            drop_contradicted(states[state_id], version, plan.occurred_at)
    elif update.op == "close":
        version = version_then(states[state_id], closed_at)
        end(version, closed_at)  # an end that is known already is replaced
        drop_started(states[state_id], version, plan.occurred_at)
    else:
        version = current
        if version["kind"] != "task":
            raise Refused("only a task can be done")
        version["payload"] = version["payload"] | {"status": "done"}
    version["last_confirmed_at"] = version["updated_at"] = plan.occurred_at
    known = version["evidence_event_ids"]
    version["evidence_event_ids"] = evidence(known, plan, update.evidence_event_ids)
    if plan.extractor.name == "rules":  # the state is theirs, with all its versions
        for one in states[state_id]:
            one["is_ruled"] = True


def close_time(plan: WritePlan, update: StateUpdate) -> int:
    """When a close ends a state."""
    about_end = plan.event_annotations.about_end if plan.event_annotations else None
    return int(first_given(update.valid_to, about_end, plan.occurred_at))


def version_then(versions: list[Document], at: int) -> Document:
    """The version that began last of those that have begun by a time, or the first of all."""
    begun = [version for version in versions if version["valid_from"] <= at]
    return begun[-1] if begun else versions[0]


def comes_too_late(versions: list[Document] | None, update: StateUpdate, closed_at: int) -> bool:
    """Whether the version that an update would change was updated after the time it names."""
    if update.unchanged_since is None:
        return False
    if versions is None:
        return True  # nothing is there to end
    meant = [version_then(versions, closed_at) if update.op == "close" else versions[-1]]
    if update.op == "upsert" and update.valid_from is not None:
        meant = [one for one in versions if one["valid_from"] == update.valid_from]
    return any(one.get("updated_at", 0) > update.unchanged_since for one in meant)


def blank_state(state_id: str, plan: WritePlan, update: StateUpdate) -> Document:
    """A new state, before the upsert that makes it has filled it in."""
    if not update.body_text:
        raise Refused("a new state needs a text")
    about = plan.event_annotations or EventAnnotations()
    return {
        "state_id": state_id,
        "kind": update.kind,
        "body_text": "",
        "payload": {"status": "open"} if update.kind == "task" else {},
        "confidence": 0.5,
        "entities": about.entities,
        "valid_from": first_given(update.valid_from, about.about_start, plan.occurred_at),
        "valid_to": None,
        "evidence_event_ids": [],
        "made_at": plan.occurred_at,
        "stated_at": plan.occurred_at,
        "is_ruled": False,
    }


def version_meant(versions: list[Document], valid_from: int | None) -> Document:
    """The current version, the one of that time, or a new one that starts from the current one."""
    current = versions[-1]
    if valid_from is None:
        return current
    for version in versions:
        if version["valid_from"] == valid_from:
            return version
    # A new version has neither the current one's evidence nor its end. The versions beside it
    # stay as they are: where it begins says where the one before it ends.
    new = current | {"valid_from": valid_from, "valid_to": None, "evidence_event_ids": []}
    versions.append(new)
    versions.sort(key=lambda version: int(version["valid_from"]))
    return new


def upsert(version: Document, update: StateUpdate) -> None:
    """What is left out keeps what was, apart from what the payload says of the text."""
    text = update.body_text or version["body_text"]
    if update.payload is None and text != version["body_text"]:
        of_text = ("value", "evidence", "condition", "about_start", "about_end")
        version["payload"] = {
            name: value for name, value in version["payload"].items() if name not in of_text
        }
    version["body_text"] = text
    version["entities"] = update.entities or version["entities"]
    if update.payload is not None:
        kept = {"status": version["payload"]["status"]} if version["kind"] == "task" else {}
        version["payload"] = kept | update.payload
    if update.confidence is not None:
        version["confidence"] = update.confidence + 0.0  # -0.0 becomes 0.0
    if update.valid_to is not None:
        end(version, update.valid_to)


def drop_contradicted(versions: list[Document], version: Document, told_at: int) -> None:
    """What is said to hold still at `told_at` was so all the time since it began: what had been
    told before to begin in that time is no version any more."""
    if version["valid_to"] is None:
        drop_started(versions, version, told_at)


def drop_started(versions: list[Document], version: Document, told_at: int) -> None:
    """Versions that were told before, and begin between a version and what is said later."""
    versions[:] = [
        one
        for one in versions
        if not version["valid_from"] < one["valid_from"] <= told_at or one["updated_at"] >= told_at
    ]


def end(version: Document, at: int) -> None:
    version["valid_to"] = max(at, version["valid_from"])


def tidy(states: States, over: list[End], at: int) -> None:
    """Of states that are open and equal all but the oldest are closed at that time.

    the oldest is the one whose first version was made first; what is closed keeps its
    `last_confirmed_at`; `updated_at` moves only where something else does.
    """
    groups: dict[str, list[Document]] = {}
    for current in (versions[-1] for versions in states.values()):
        if closed(current, over)["valid_to"] is None and not current["is_ruled"]:
            equal = [current[name] for name in ("kind", "body_text", "payload", "valid_from")]
            groups.setdefault(json.dumps(equal, sort_keys=True), []).append(current)
    for group in groups.values():
        oldest, *others = sorted(group, key=lambda one: (one["made_at"], one["state_id"]))
        confirmed_at = max(one["last_confirmed_at"] for one in group)
        if confirmed_at > oldest["last_confirmed_at"]:
            oldest.update(last_confirmed_at=confirmed_at, updated_at=at)
        for one in others:
            end(one, at)
            one["updated_at"] = at


def document(version: Document) -> Document:
    done = version["kind"] == "task" and version["payload"]["status"] == "done"
    status = "closed" if version["valid_to"] is not None else "done" if done else "active"
    document = version | {"status": status}
    for name in ("made_at", "stated_at", "is_ruled"):
        document.pop(name, None)
    for name in ("valid_from", "valid_to", "last_confirmed_at", "updated_at"):
        document[name] = None if version[name] is None else format_time(version[name])
    return document
