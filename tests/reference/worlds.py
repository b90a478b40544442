"""Small worlds of records, in which everything meets everything.

`world(draw)` makes a set of records from any source of chance with the methods of `random.Random`:
Hypothesis gives one that shrinks, the long form a seed. Ids are few, so that they meet: one event
id in several sessions, a session named like a user, two users in one session. Times are few and
often equal. Of one id there is one content, but for what the rules allow: a running turn that
ends (also earlier than it began), versions of recursions and of tool results.

`arranged` puts a world into an order: any, with copies, plans of one user in their own but for
those of the rules.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Protocol, TypeVar

from schemas.time import MINUTE, format_time, parse_time

START = parse_time("2026-01-01T00:00:00Z")
TENANTS = ("default", "other")
SESSIONS = ("s1", "s2", "u1")
USERS = ("u1", "u2", "s1")
EVENTS = ("e1", "e2", "t1", "e3", "e4")
CLIENTS = ("phone", "desk", None, None)
TASKS = ("t1", "t2", "e1", None)
MINUTES = (0, 0, 1, 2, 2, 3, 30, 600, 1440, 1441, 1500, 1501, 2941, 3000, 4600)
TEXTS = ("tea", "Tea ", "ｔｅａ", "coffee", "緑茶", "plain words", "")
SURE = (0, 0.25, 0.5, 0.9, 1)
TOPICS = ("calculus-limits", "calculus-series", "物理-力学", "-", "")
KINDS = ("preference", "constraint", "background", "capability_assumption", "decision")
ACTIONS = ("CALL_TOOL", "CALL_TOOL", "RE_PLAN", "REFLECT", "ANSWER", "CLARIFY", "CLARIFY")
STATES = ("f1", "f2", "t1")
FAMILIES = ("work", "home", "like", "dislike")

THEMES = {
    "all": (10, 5, 2, 8),
    "turns": (14, 1, 0, 0),
    "task": (4, 9, 0, 0),
    "memory": (10, 0, 0, 0),
    "user": (6, 0, 1, 14),
}
"""What a world is about: at most so many turns, recursions, signals and plans. All but the first
lie in one session, so that much of one kind meets."""

Json = dict[str, Any]
T = TypeVar("T")


class Draw(Protocol):
    """What is asked of a source of chance."""

    def choice(self, seq: Sequence[T], /) -> T: ...
    def randint(self, a: int, b: int, /) -> int: ...
    def shuffle(self, x: list[Any], /) -> None: ...


def world(draw: Draw) -> list[Json]:
    """Records of one world, each once; plans of one user in their order."""
    made = _Made(draw)
    turns, recursions, signals, plans = THEMES[made.theme]
    for _ in range(draw.randint(0, turns)):
        made.turn()
    for _ in range(draw.randint(0, recursions)):
        made.recursion()
    for _ in range(draw.randint(0, signals)):
        made.signal()
    for _ in range(draw.randint(0, plans)):
        made.plan()
    return made.records


def plans_of_turns(draw: Draw, most: int = 9) -> list[Json]:
    """Plans of one user as the rules and models make them of turns. Fewer than tidying needs."""
    made = _Made(draw)
    by_model = {"extractor": {"name": "model"}, "extraction": {"event_ids": ["e1"]}}
    return [
        made.plan_of_rules(TENANTS[0], USERS[0], f"p{number}") | (by_model if made.often() else {})
        for number in range(draw.randint(2, most))
    ]


def when(minutes: float) -> str:
    return format_time(START + round(minutes * MINUTE))


class _Made:
    """The records so far. A world has few tenants, sessions, users and events, often one."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.records: list[Json] = []
        self.ids: set[tuple[Any, ...]] = set()
        self.states: set[str] = set()
        self.theme = draw.choice(("all", "all", *THEMES))
        is_wide = self.theme == "all"
        self.tenants = TENANTS[: draw.choice((1, 1, 1, 2)) if is_wide else 1]
        self.sessions = SESSIONS[
            : draw.randint(1, 3) if is_wide else 2 if self.theme == "user" else 1
        ]
        self.users = USERS[: draw.randint(1, 3) if is_wide else 1]
        self.events = EVENTS[: draw.randint(1, 5) if is_wide else draw.randint(3, 5)]
        self.tasks = ("t1", "t2") if is_wide else ("t1",)

    # --- chance ---------------------------------------------------------------------------------

    def one(self, values: Sequence[T]) -> T:
        return self.draw.choice(values)

    def often(self, of: int = 2) -> bool:
        return self.draw.randint(1, of) == 1

    def some(self, most: int) -> range:
        return range(self.draw.randint(0, most))

    def at(self) -> str:
        return when(self.one(MINUTES))

    def maybe(self, **fields: Any) -> Json:
        """Each field or not, made by its function."""
        return {name: make() for name, make in fields.items() if self.often(3)}

    def text(self) -> str:
        return self.one(TEXTS)

    def words(self) -> str:
        return self.one(TEXTS[:-1])

    def is_new(self, *key: Any) -> bool:
        new = key not in self.ids
        self.ids.add(key)
        return new

    # --- turns ----------------------------------------------------------------------------------

    def turn(self) -> None:
        tenant, session, event = (
            self.one(self.tenants),
            self.one(self.sessions),
            self.one(self.events),
        )
        if not self.is_new("turn", tenant, session, event):
            return
        keys = {"type": "turn", "tenant": tenant, "session_id": session, "event_id": event}
        ended = keys | self.turn_fields() | {"status": self.one(("done", "done", "error"))}
        how = self.draw.randint(1, 7)
        if how <= 5:
            self.records.append(ended)
        if how >= 4:  # 4 and 5: both
            running = keys | self.turn_fields() | {"status": "running"}
            if self.often(3):
                running["occurred_at"] = ended["occurred_at"]
            self.records.append(running)

    def turn_fields(self) -> Json:
        who = {"user_id": self.one((*self.users, None)), "client_id": self.one(CLIENTS),
               "task_id": self.one(TASKS)}  # fmt: skip
        fields = {name: value for name, value in who.items() if value is not None}
        fields |= {"occurred_at": self.at(), "user_input": self.text()}
        if self.theme in ("turns", "task"):  # they are about order
            return fields | self.maybe(session_status=lambda: self.one(("active", "closed")))
        return (
            fields
            | {"agent_answer": self.text()}
            | self.context()
            | self.maybe(
                error=self.text,
                subject=self.claim,
                object=self.claim,
                session_status=lambda: self.one(("active", "waiting_input", "closed", "closed")),
                artifacts_metadata=lambda: self.maybe(sandbox_id=self.text, seats=lambda: 2),
                summary=lambda: self.maybe(content=self.text, key_findings=lambda: ["x"]),
                session_memory_delta=self.delta,
                observations=lambda: [self.observation() for _ in self.some(3)],
                affect=self.feeling,
                image_summaries=lambda: [self.words()],
            )
        )

    def context(self) -> Json:
        return self.maybe(
            intent=lambda: self.one(("quiz", "homework_help", "chat", ["quiz", "chat"], [], "")),
            topic=lambda: self.one(TOPICS),
            artifact=lambda: self.one(("quiz_set", "notes_document", "poem", "")),
            metadata=lambda: self.maybe(
                difficulty=lambda: self.one(("easy", "medium", "hard")),
                correct_rate=lambda: self.one((0, 0.4, 0.8, 1, 1 / 3)),
                note=self.text,
            ),
        )

    def claim(self) -> Json:
        return {"content": self.text(), "source": self.one(("user", "agent")),
                "confidence": self.one(SURE)}  # fmt: skip

    def observation(self) -> Json:
        kind = self.one(KINDS)
        said = {"type": kind, "content": self.words(), "confidence": self.one(SURE)}
        if kind == "decision":
            return said | self.maybe(
                decision=self.words,
                source=lambda: self.one(("user", "joint", "agent")),
                rationale=lambda: "because",
                reversible=lambda: self.often(),
                supersedes=self.words,
                opposes=self.words,
            ) | ({"source": "joint", "rationale": "so"} if self.often() else {})  # fmt: skip
        return said | self.maybe(
            explicit=lambda: True, environment=lambda: True, opposes=self.words
        )

    def delta(self) -> Json:
        def fields() -> Json:
            return self.maybe(content=self.words, confidence=lambda: self.one(SURE),
                              decision=self.words, reversible=lambda: self.often(),
                              scope=lambda: "here")  # fmt: skip

        def write() -> Json:
            kind = self.one(("preference", "background", "decision"))
            return {"id": self.memory_id(), "type": kind, "content": self.words()} | fields()

        return self.maybe(
            add=lambda: [write() for _ in self.some(2)],
            update=lambda: [{"id": self.memory_id()} | fields() for _ in self.some(2)],
            delete=lambda: [self.memory_id() for _ in self.some(1)],
        )

    def memory_id(self) -> str:
        return self.one(("m1", "m2"))

    def feeling(self) -> Json:
        axes = (-1, -0.5, -0.0, 0.0, 0, 0.3, 1, 1.0, 7)
        vad = {axis: self.one(axes) for axis in "vad"}
        return {"vad": vad, "confidence": self.one((*SURE, 0.9, 1.5))} | self.maybe(
            text=self.words, labels=lambda: [self.words() for _ in self.some(2)]
        )

    # --- recursions -----------------------------------------------------------------------------

    def recursion(self) -> None:
        tenant, session = self.one(self.tenants), self.one(self.sessions)
        task, trace = self.one(self.tasks), self.one(("r1", "r2", "r3", "r4", "r5", "r6"))
        if not self.is_new("recursion", tenant, session, task, trace):
            return
        keys = {"tenant": tenant, "session_id": session, "task_id": task, "trace_id": trace}
        versions = [self.version(keys) for _ in range(self.draw.randint(1, 3))]
        results = [self.result(keys) for _ in self.some(4)]
        if self.often(8):
            versions = []  # its results alone have come
        self.records += {repr(one): one for one in (*versions, *results)}.values()

    def version(self, keys: Json) -> Json:
        kind = self.one(ACTIONS)
        output: Json = self.maybe(note=self.text)
        if kind == "CALL_TOOL":
            output["tool_calls"] = self.calls()
        elif kind == "RE_PLAN":
            output["plan"] = self.steps()
        return (
            {"type": "recursion", **keys, "occurred_at": self.at()}
            | {"iteration_index": self.draw.randint(0, 4)}
            | {"status": self.one(("running", "done", "done", "error"))}
            | {"action": {"action_type": kind, "output": output}}
            | self.maybe(
                step_id=lambda: self.one(("one", "two", "three")),
                thought=self.text,
                objective=self.text,
                constraints=lambda: [self.text() for _ in self.some(2)],
                max_iteration=lambda: self.draw.randint(1, 4),
                short_term_memory_append=lambda: self.one(("a", ["b", "c"], [])),
                plan=self.steps,
                error=self.text,
                final=lambda: self.often(),
            )
        )

    def calls(self) -> list[Any]:
        named: list[Any] = [{"id": "c0", "name": "search"}, {"name": "read"}, {"id": "c1"}]
        self.draw.shuffle(named)
        return named[: self.draw.randint(0, 3)]

    def steps(self) -> list[Json]:
        ids = ("one", "two", "three")
        return [
            {"step_id": self.one(ids)}
            | self.maybe(
                description=self.text,
                status=lambda: self.one(("pending", "running", "done", "error")),
            )
            for _ in self.some(3)
        ]

    def result(self, keys: Json) -> Json:
        names = ({"tool_call_id": "c0"}, {"tool_call_id": "c1"}, {"call_index": 0},
                 {"call_index": 2}, {"tool_call_id": "zz", "call_index": 1},
                 {"tool_call_id": "c1", "call_index": 0})  # fmt: skip
        return (
            {"type": "tool_result", **keys, "occurred_at": self.at()}
            | self.one(names)
            | {"success": self.often(), "result": self.one(("x", 1, {"b": 1, "a": [True]}, None))}
        )

    def signal(self) -> None:
        tenant, scope = self.one(self.tenants), self.one(("session", "user"))
        owner = self.one(self.sessions if scope == "session" else self.users)
        name = self.one(("g1", "g2", "e1"))
        if self.is_new("signal", tenant, scope, owner, name):
            key = {"session_id" if scope == "session" else "user_id": owner}
            self.records.append(
                {"type": "signal", "tenant": tenant, "signal_id": name, "scope": scope, **key}
                | {"occurred_at": self.at()} | self.context()
                | (self.maybe(subject=self.claim) if scope == "session" else {})
            )  # fmt: skip

    # --- plans ----------------------------------------------------------------------------------

    def plan(self) -> None:
        tenant, user, name = self.one(self.tenants), self.one(self.users), self.draw.randint(1, 30)
        if not self.is_new("plan", tenant, user, name):
            return
        if self.often(3):
            plan = self.plan_of_rules(tenant, user, f"p{name}")
            for update in plan["preference_updates"]:
                update.pop("unchanged_since", None)  # what is sent meanwhile decides by its arrival
            self.records.append(plan)
            return
        self.records.append(
            {"type": "write_plan", "tenant": tenant, "user_id": user, "plan_id": f"p{name}"}
            | {"occurred_at": self.at(), "extractor": {"name": "hand", "version": "1"}}
            | ({"event_id": self.one(self.events)} if self.often() else {"event_id": "e1"})
            | ({"session_id": self.one(self.sessions)} if self.often() else {})
            | {"state_updates": [self.state_update() for _ in self.some(3)]}
            | self.maybe(
                preference_updates=lambda: list(chain(*(self.preferences() for _ in self.some(2)))),
                ends=lambda: [self.end() for _ in self.some(2)],
                event_affect=lambda: self.feeling()
                | self.maybe(event_id=lambda: self.one(self.events)),
                context_updates=lambda: self.maybe(
                    threads=lambda: [self.thread() for _ in self.some(3)],
                    links=lambda: [self.link() for _ in self.some(3)],
                ),
                event_annotations=lambda: self.maybe(
                    about_start=self.at, about_end=self.at, entities=lambda: ["Ann"]
                ),
            )
        )  # fmt: skip

    def plan_of_rules(self, tenant: str, user: str, name: str) -> Json:
        """A plan as the rules make them: it may come in any order, so it fits wherever it comes."""
        return (
            {"type": "write_plan", "tenant": tenant, "user_id": user, "plan_id": name}
            | {"occurred_at": self.at(), "extractor": {"name": "rules", "version": "1"}}
            | {"event_id": self.one(self.events), "session_id": self.one(self.sessions)}
            | {
                "state_updates": [
                    {"kind": "fact", "state_id": self.one(("r1", "r2")), "body_text": self.words()}
                    | {"valid_from": self.at(), "confidence": self.one(SURE)}
                    | {"payload": {"family": self.one(FAMILIES), "value": self.text()}}
                    | self.reasons()
                    for _ in self.some(2)
                ],
                "preference_updates": [
                    self.preference() | {"op": self.one(("upsert_candidate", "confirm", "confirm"))}
                    for _ in self.some(2)
                ],
                "ends": [self.end() for _ in self.some(1)],
            }
            | self.maybe(event_affect=self.feeling)
        )

    def reasons(self) -> Json:
        return self.maybe(
            reason=lambda: "said so",
            evidence_event_ids=lambda: [self.one(self.events) for _ in self.some(2)],
        )

    def state_update(self) -> Json:
        if self.often(4):
            return (
                {"op": "upsert", "kind": "long_mood_state"}
                | self.maybe(
                    body_text=self.text, confidence=lambda: self.one(SURE), valid_from=self.at
                )
                | self.reasons()
            )
        state_id = self.one((*STATES, None))
        if self.often(3) and (state_id in self.states or self.often(12)):
            op = "mark_done" if state_id == "t1" and self.often() else "close"
            ended = {"op": op, "state_id": state_id or "f9"}
            more = self.maybe(valid_to=self.at, unchanged_since=self.at)
            return ended | more | self.reasons()
        self.states |= {state_id} if state_id else set()
        named = {"state_id": state_id} if state_id else {}
        kind = "task" if state_id == "t1" else "summary" if self.often(12) else "fact"
        body = {"body_text": self.one(TEXTS[:2]) if self.often(3) else self.words()}
        if state_id and self.often(6):
            body = {"body_text": ""}
        return (
            {"op": "upsert", "kind": kind, **named, **body}
            | self.maybe(
                payload=lambda: (
                    {"n": self.one((1, 2, True, None, [], "1"))}
                    | self.maybe(
                        family=lambda: self.one(FAMILIES[:2]),
                        slot=lambda: self.one(FAMILIES),
                        value=self.text,
                        whose=lambda: "Ann",
                    )
                ),
                confidence=lambda: self.one(SURE),
                valid_from=self.at,
                unchanged_since=self.at,
                entities=lambda: [self.words()],
            )
            | self.reasons()
        )

    def preferences(self) -> list[Json]:
        """One update, or two: what is revoked is named first. Whether a plan is refused is decided
        when it comes, and the rules' plan that named it may come later."""
        update = self.preference()
        return [update, update | {"op": "revoke"}] if self.often(8) else [update]

    def preference(self) -> Json:
        return (
            {"op": self.one(("upsert_candidate", "confirm"))}
            | {"domain": "drinks", "polarity": self.one(("like", "dislike"))}
            | {"subject": self.words()}
            | self.maybe(confidence=lambda: self.one(SURE), note=self.text, unchanged_since=self.at)
            | self.reasons()
        )

    def end(self) -> Json:
        return (
            {"families": [self.one(FAMILIES) for _ in range(self.draw.randint(1, 2))]}
            | self.maybe(value=self.text, at=self.at, whose=lambda: "Ann")
            | self.reasons()
        )

    def thread(self) -> Json:
        key = self.one(("work", "home"))
        if self.often(4):
            return {"op": "merge_into", "thread_key": key,
                    "into": "home" if key == "work" else "work"} | self.reasons()  # fmt: skip
        return (
            {"op": self.one(("put", "put", "remove")), "thread_key": key}
            | {"event_id": self.one(self.events), "confidence": self.one(SURE)}
            | self.reasons()
        )

    def link(self) -> Json:
        return (
            {"op": self.one(("put", "put", "remove")), "from_event_id": self.one(self.events)}
            | {"to_event_id": self.one(self.events), "label": self.one(("reply_to", "same_topic"))}
            | {"confidence": self.one(SURE)}
            | self.reasons()
        )


# --- orders -----------------------------------------------------------------------------------


def arranged(draw: Draw, records: list[Json], copies: int = 3) -> list[Json]:
    """The records in any order, some more than once and spelt otherwise; plans that others sent in
    their own order, so that what is sent again comes after them all."""
    plans = [one for one in records if is_sent_plan(one)]
    others = [one for one in records if not is_sent_plan(one)]
    if others:
        others += [respelt(draw, draw.choice(others)) for _ in range(draw.randint(0, copies))]
    draw.shuffle(others)
    if plans:
        plans = plans + [respelt(draw, one) for one in plans[: draw.randint(0, copies)]]
    order = [*("plan" for _ in plans), *("other" for _ in others)]
    draw.shuffle(order)
    planned, rest = iter(plans), iter(others)
    return [next(planned if kind == "plan" else rest) for kind in order]


def is_sent_plan(record: Json) -> bool:
    """Whether it is a plan, and none of the rules."""
    return bool(record["type"] == "write_plan" and record["extractor"]["name"] != "rules")


NOTHING: dict[str, Json] = {
    "turn": {"metadata": {}, "observations": [], "summary": {}, "artifacts_metadata": {},
             "session_memory_delta": {"add": []}, "topic": None, "intent": []},
    "write_plan": {"context_updates": {"links": []}, "event_annotations": {}, "session_id": None,
                   "ends": [],
                   "preference_updates": []},
    "signal": {"metadata": {"difficulty": None}, "topic": None},
    "recursion": {"objective": None, "final": False, "thought": ""},
    "tool_result": {"recorded_at": None},
}  # fmt: skip
"""Fields that say nothing, by a record's type."""


def respelt(draw: Draw, record: Json) -> Json:
    """The same record, written otherwise: another offset, numbers of another kind, fields that say
    nothing, another version of the schema."""
    how = draw.randint(0, 4)
    if how == 1 and record["occurred_at"].endswith("Z"):
        return record | {"occurred_at": record["occurred_at"][:-1] + "+00:00"}
    if how == 2:
        return record | {"schema_version": 1, "recorded_at": when(draw.choice(MINUTES))}
    if how == 3:
        return NOTHING[record["type"]] | record
    return dict(_other_numbers(record)) if how == 4 else dict(record)


def _other_numbers(value: Any) -> Any:
    """1 as 1.0, 2.0 as 2, 0.0 as -0.0."""
    if isinstance(value, dict):
        return {name: _other_numbers(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_other_numbers(one) for one in value]
    if isinstance(value, float) and value.is_integer():
        return int(value) if value else -value
    return float(value) if type(value) is int else value
