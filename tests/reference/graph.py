"""Threads and links that plans make: which events belong together.

Event ids are unique in a session only. So beside an entry stands the session that its plan named;
None where it named none: then its events may be those of any session.
"""

from schemas.events import LinkUpdate, ThreadUpdate, WritePlan

Said = tuple[str, ...]
"""(thread_key, event_id) of a thread; (from_event_id, to_event_id, label) of a link."""
Entries = dict[tuple[Said, str | None], float]
"""(what is said, session_id) -> confidence"""


def update_thread(threads: Entries, plan: WritePlan, update: ThreadUpdate) -> None:
    """One of a plan's `context_updates.threads`."""
    said = (update.thread_key, str(update.event_id))
    if update.op == "put":
        put(threads, said, plan.session_id, update.confidence)
    elif update.op == "remove":
        remove(threads, said, plan.session_id)
    else:
        merge(threads, update.thread_key, str(update.into))


def update_link(links: Entries, plan: WritePlan, update: LinkUpdate) -> None:
    """One of a plan's `context_updates.links`."""
    said = (update.from_event_id, update.to_event_id, update.label)
    if update.op == "put":
        put(links, said, plan.session_id, update.confidence)
    else:
        remove(links, said, plan.session_id)


def put(entries: Entries, said: Said, session_id: str | None, confidence: float) -> None:
    """Changes the entries it matches, and gives its session to one that has none; or makes one."""
    for session in remove(entries, said, session_id) or [None]:
        entries[said, session or session_id] = confidence + 0.0  # -0.0 becomes 0.0


def remove(entries: Entries, said: Said, session_id: str | None) -> dict[str | None, float]:
    """Removes the entries it matches: the same is said, and the sessions are equal or one is not
    known. Answers their confidence by session. there may be none."""
    sessions = [session for what, session in entries if what == said]
    if session_id is not None:
        sessions = [session for session in sessions if session in (None, session_id)]
    return {session: entries.pop((said, session)) for session in sessions}


def merge(threads: Entries, thread_key: str, into: str) -> None:
    """Moves all entries of a thread into another; the greater confidence stands.

    an entry is there already if it matches as above; entries move in the order of
    event and session, those without a session first.
    """
    moving = [(said, session) for said, session in threads if said[0] == thread_key]
    for said, session_id in sorted(moving, key=lambda entry: (entry[0], entry[1] or "")):
        confidence, said_of_other = threads.pop((said, session_id)), (into, said[1])
        there = remove(threads, said_of_other, session_id)
        for session, other in there.items():
            threads[said_of_other, session or session_id] = max(confidence, other)
        if not there:
            threads[said_of_other, session_id] = confidence
