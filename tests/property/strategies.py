"""Arbitrary input: the events of a small world, in which everything meets everything.

Two sessions, two users, two clients, two tasks a session, times that often coincide and often lie
more than a day apart. One id has one content, but for what docs/rules.md, "One event",
allows: a running turn that ends, versions of a recursion and of a tool's result.
"""

from typing import Any

from hypothesis import strategies as st

from tests.property.world import Json, feeling, plan, recursion, result, signal, turn, when

SESSIONS = ("s1", "s2")
MINUTES = st.sampled_from((0, 1, 2, 3, 30, 600, 1500, 1501, 3000, 4600))
CONFIDENCE = st.sampled_from((0.0, 0.25, 0.5, 0.9, 1.0))
TOPICS = st.sampled_from(("calculus-limits", "calculus-series", "物理-力学"))
ARTIFACTS = st.sampled_from(("quiz_set", "notes_document", "explanation", "poem"))
INTENTS = st.sampled_from(("quiz", "homework_help", "chat", ["quiz", "chat"], []))
TEXT = st.sampled_from(("tea", "Tea ", "coffee", "ｔｅａ", "plain words"))
RATES = st.sampled_from((0, 0.4, 0.8, 1, 1 / 3))

metadata = st.fixed_dictionaries(
    {}, optional={"difficulty": st.sampled_from(("easy", "medium", "hard")), "correct_rate": RATES}
)
claims = st.fixed_dictionaries(
    {"content": TEXT, "source": st.sampled_from(("user", "agent")), "confidence": CONFIDENCE}
)
hints = st.fixed_dictionaries(
    {
        "type": st.sampled_from(
            ("preference", "constraint", "background", "capability_assumption")
        ),
        "content": TEXT,
        "confidence": CONFIDENCE,
    },
    optional={"explicit": st.booleans(), "environment": st.booleans(), "opposes": TEXT},
)
decisions = st.fixed_dictionaries(
    {"type": st.just("decision"), "decision": TEXT, "confidence": CONFIDENCE},
    optional={
        "source": st.sampled_from(("user", "joint", "agent")),
        "rationale": st.just("because"),
        "reversible": st.booleans(),
        "supersedes": TEXT,
    },
)
MEMORY_IDS = st.sampled_from(("m1", "m2", "m3"))
writes = st.fixed_dictionaries(
    {
        "id": MEMORY_IDS,
        "type": st.sampled_from(("preference", "background", "decision")),
        "content": TEXT,
    },
    optional={"confidence": CONFIDENCE, "scope": st.just("here"), "decision": TEXT},
)
patches = st.fixed_dictionaries(
    {"id": MEMORY_IDS}, optional={"content": TEXT, "confidence": CONFIDENCE}
)
deltas = st.fixed_dictionaries(
    {},
    optional={
        "add": st.lists(writes, max_size=2),
        "update": st.lists(patches, max_size=2),
        "delete": st.lists(MEMORY_IDS, max_size=1),
    },
)
axis = st.sampled_from((-1.0, -0.5, 0.0, 0.3, 1.0))
affects = st.builds(
    lambda v, a, d, c: feeling(v, a, d, confidence=c, text=f"{v}"), axis, axis, axis, CONFIDENCE
)
turn_fields = st.fixed_dictionaries(
    {},
    optional={
        "user_id": st.sampled_from(("u1", "u2")), "client_id": st.sampled_from(("phone", "desk")),
        "task_id": st.sampled_from(("t1", "t2")), "user_input": TEXT, "agent_answer": TEXT,
        "status": st.sampled_from(("done", "error")), "intent": INTENTS, "topic": TOPICS,
        "artifact": ARTIFACTS, "metadata": metadata, "subject": claims, "object": claims,
        "session_status": st.sampled_from(("active", "closed")),
        "artifacts_metadata": st.fixed_dictionaries({"sandbox_id": TEXT}),
        "summary": st.fixed_dictionaries({"content": TEXT}), "session_memory_delta": deltas,
        "observations": st.lists(hints | decisions, max_size=3), "affect": affects,
        "image_summaries": st.lists(st.sampled_from(("a red door", "两只猫")), max_size=2),
    },
)  # fmt: skip


@st.composite
def turns(draw: st.DrawFn, most: int = 8) -> list[Json]:
    """Turns with their running versions. A turn's time is that of its input: both have one."""
    made = []
    for number in range(draw(st.integers(1, most))):
        fields = {"session_id": draw(st.sampled_from(SESSIONS)), **draw(turn_fields)}
        ended = turn(f"e{number}", draw(MINUTES), **fields)
        if draw(st.booleans()):
            begun = ("client_id", "task_id", "user_id", "session_id", "user_input", "subject")
            running = {name: fields[name] for name in begun if name in fields}
            made.append({**turn(f"e{number}", 0, **running), "occurred_at": ended["occurred_at"],
                         "status": "running"})  # fmt: skip
        if draw(st.integers(0, 3)) or not made:
            made.append(ended)
    return made


ACTIONS = st.sampled_from(("CALL_TOOL", "RE_PLAN", "REFLECT", "REFLECT", "ANSWER", "CLARIFY"))
CALL_NAMES: tuple[str | int, ...] = ("c0", 1, 9)
answers = st.lists(st.tuples(MINUTES, st.sampled_from(CALL_NAMES)), max_size=2)
CALLS = [{"id": "c0", "name": "search"}, {"name": "read"}]
STEPS = st.sampled_from(("one", "two", "three"))
plans = st.lists(
    st.fixed_dictionaries(
        {"step_id": STEPS},
        optional={"status": st.sampled_from(("pending", "running", "done", "error"))},
    ),
    max_size=3,
)


@st.composite
def steps(draw: st.DrawFn, most: int = 7) -> list[Json]:
    """Versions of recursions and of the results of their calls. Versions keep their calls."""
    made: list[Json] = []
    for number in range(draw(st.integers(0, most))):
        trace, kind = f"r{number}", draw(ACTIONS)
        where = {"session_id": draw(st.sampled_from(SESSIONS)), "task_id": "t1"}
        if draw(st.booleans()):
            where["task_id"] = "t2"
        versions = draw(st.integers(1, 2))
        ended_at = 0
        for _ in range(versions):
            fields: dict[str, Any] = draw(
                st.fixed_dictionaries(
                    {"status": st.sampled_from(("running", "done", "done", "error"))},
                    optional={
                        "step_id": STEPS, "thought": TEXT, "max_iteration": st.integers(1, 4),
                        "short_term_memory_append": TEXT, "objective": TEXT, "plan": plans,
                        "final": st.booleans(),
                    },
                )
            )  # fmt: skip
            output: Json = {"calls": draw(TEXT)}
            if kind == "CALL_TOOL":
                output = {"tool_calls": CALLS}
            elif kind == "RE_PLAN":
                output = {"plan": draw(plans)}
            ended_at = draw(MINUTES)
            index = draw(st.integers(0, 5))
            fields |= {"output": output, **where}
            made.append(recursion(trace, index, ended_at, kind, **fields))
        for at, call in draw(answers):
            made.append(result(trace, at, call, result=draw(TEXT), **where))
    return made


signal_fields = st.fixed_dictionaries(
    {}, optional={"intent": INTENTS, "topic": TOPICS, "artifact": ARTIFACTS, "metadata": metadata}
)


@st.composite
def signals(draw: st.DrawFn, most: int = 3) -> list[Json]:
    """Signals, as session and user updates make them."""
    return [
        signal(f"g{number}", draw(MINUTES), draw(st.sampled_from(("user", "session"))), **fields)
        for number, fields in enumerate(draw(st.lists(signal_fields, max_size=most)))
    ]


@st.composite
def events(draw: st.DrawFn) -> list[Json]:
    """Turns, recursions, tool results and signals of several sessions, each record once."""
    records = [*draw(turns()), *draw(steps()), *draw(signals())]
    return list({repr(one): one for one in records}.values())


STATE_IDS = st.sampled_from(("f1", "f2", "t1"))
LATER = st.sampled_from((-500, 0, 30, 1500, 4600))
EVENTS = st.sampled_from(("e0", "e1", "e2"))
THREADS = st.sampled_from(("work", "home"))
REASONS = {"reason": st.just("said so"), "evidence_event_ids": st.lists(EVENTS, max_size=2)}


def _with_kind(update: Json) -> Json:
    return {**update, "kind": "task" if update["state_id"] == "t1" else "fact"}


FAMILIES = ("home", "work", "like")
ends = st.fixed_dictionaries(
    {"families": st.lists(st.sampled_from(FAMILIES), min_size=1, max_size=2)},
    optional={"value": TEXT, "at": LATER.map(when), **REASONS},
)
upserts = st.fixed_dictionaries(
    {"op": st.just("upsert"), "state_id": STATE_IDS},
    optional={
        "body_text": TEXT,
        "payload": st.fixed_dictionaries(
            {"n": st.integers(0, 2)}, optional={"family": st.sampled_from(FAMILIES)}
        ),
        "confidence": CONFIDENCE,
        "valid_from": LATER.map(when),
        "unchanged_since": LATER.map(when),
        **REASONS,
    },
).map(_with_kind)
endings = st.fixed_dictionaries(
    {"op": st.sampled_from(("close", "mark_done")), "state_id": STATE_IDS},
    optional={"valid_to": LATER.map(when), "unchanged_since": LATER.map(when), **REASONS},
)
mood_words = st.fixed_dictionaries(
    {"op": st.just("upsert"), "kind": st.just("long_mood_state")},
    optional={"body_text": TEXT, "confidence": CONFIDENCE, "valid_from": LATER.map(when)},
)
likes = st.fixed_dictionaries(
    {
        "op": st.sampled_from(("upsert_candidate", "confirm", "revoke")),
        "domain": st.just("drinks"),
        "polarity": st.sampled_from(("like", "dislike")),
        "subject": TEXT,
    },
    optional={"confidence": CONFIDENCE, "unchanged_since": LATER.map(when), **REASONS},
)
places = st.fixed_dictionaries(
    {"op": st.sampled_from(("put", "put", "remove")), "thread_key": THREADS, "event_id": EVENTS},
    optional={"confidence": CONFIDENCE},
) | st.just({"op": "merge_into", "thread_key": "work", "into": "home"})
links = st.fixed_dictionaries(
    {
        "op": st.sampled_from(("put", "put", "remove")),
        "from_event_id": EVENTS,
        "to_event_id": EVENTS,
        "label": st.sampled_from(("reply_to", "same_topic")),
    },
    optional={"confidence": CONFIDENCE},
)


@st.composite
def write_plans(draw: st.DrawFn, most: int = 6) -> list[Json]:
    """Plans of one user; many of them name what is not there and are refused whole."""
    made = []
    for number in range(draw(st.integers(0, most))):
        fields: Json = draw(
            st.fixed_dictionaries(
                {"event_id": EVENTS},
                optional={
                    "state_updates": st.lists(upserts | upserts | endings | mood_words, max_size=3),
                    "preference_updates": st.lists(likes, max_size=2),
                    "ends": st.lists(ends, max_size=1),
                    "event_affect": affects,
                    "context_updates": st.fixed_dictionaries(
                        {
                            "threads": st.lists(places, max_size=2),
                            "links": st.lists(links, max_size=2),
                        }
                    ),
                },
            )
        )
        made.append(plan(f"p{number}", draw(MINUTES), **fields))
    return made


@st.composite
def shuffled(draw: st.DrawFn, records: list[Json]) -> list[Json]:
    """The same records in another order, some of them more than once."""
    again = draw(st.lists(st.sampled_from(records), max_size=4))
    return draw(st.permutations([*records, *again]))
