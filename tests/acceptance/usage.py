"""A platform's use over seventeen weeks, as records: everything the questions of docs/analytics.md
count, and what must not count.

Turns are sent while they run and again when they have ended, some records twice; some are refused.
Sessions expire and go on, some are of two users, some turns of none; plans find, correct and end;
results of tools come twice or never. All from one seed.
"""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.base import DAY, HOUR, MINUTE, SECOND, JsonObject, format_time, parse_time

START = parse_time("2026-02-02T00:00:00Z")  # a Monday
DAYS = 119
LEVELS = ("easy", "medium", "hard")
TOPICS = ("fractions", "travel", "cooking")
INTENTS = ("quiz", "ask", "plan")
SUBJECTS = ("Tea", "tea", "coffee", "jazz")


class Person(NamedTuple):
    """A user, the days on which they may come, and how likely they do."""

    tenant: str
    user_id: str
    first: int
    last: int
    likely: float


def records(seed: int = 5) -> list[JsonObject]:
    """In the order of their times; each is a turn, recursion, tool result or write plan."""
    chance = random.Random(seed)
    made = [one for person in _people(chance) for one in _Life(person, chance).records()]
    made.sort(key=lambda one: (parse_time(one["occurred_at"]), one["type"]))
    return [one for record in made for one in _sent(record, chance)]


def _sent(record: JsonObject, chance: random.Random) -> list[JsonObject]:
    """A record as it arrives: some twice, some followed by another of its id, or by none of one."""
    luck = chance.random()
    if luck < 0.03:
        return [record, record]
    if luck < 0.06 and record["type"] == "turn" and record.get("status") != "running":
        other = record | {"user_input": "something else"}
        nameless = {name: value for name, value in record.items() if name != "event_id"}
        return [record, other if luck < 0.045 else nameless]
    return [record]


def _people(chance: random.Random) -> Iterator[Person]:
    for number in range(44):
        first = chance.randrange(0, DAYS - 10)
        last = min(DAYS, first + chance.choice((1, 15, 60, DAYS)))
        tenant = ("acme", "bell", "coda", "acme")[number % 4]
        # an id that two tenants have is two users
        yield Person(tenant, f"user-{number // 2}", first, last, chance.choice((0.1, 0.3, 0.7)))


class _Life:
    """What one person does, session by session."""

    def __init__(self, person: Person, chance: random.Random) -> None:
        self.person = person
        self.chance = chance
        self.made: list[JsonObject] = []
        self.name = f"{person.tenant}-{person.user_id}"
        self.open: list[str] = []  # facts that can be corrected or ended
        self.facts = self.turns = self.plans = 0
        self.kinds: dict[str, str] = {}
        self.preferred: dict[tuple[str, str], str] = {}

    def records(self) -> list[JsonObject]:
        for day in range(self.person.first, self.person.last):
            if self.chance.random() < self.person.likely:
                self._session(day)
        return self.made

    def _session(self, day: int) -> None:
        session = f"s-{self.name}-{day}"
        at = START + day * DAY + self.chance.randrange(6, 20) * HOUR
        for number in range(self.chance.randrange(1, 7)):
            self._turn(session, number, at)
            at += self.chance.randrange(30, 900) * SECOND
            if self.chance.random() < 0.04:
                at += 30 * HOUR  # the session has expired by then
        if self.chance.random() < 0.3:
            self._task(session, at + MINUTE)

    def _turn(self, session: str, number: int, at: int) -> None:
        chance = self.chance
        self.turns += 1
        turn = self._record("turn", at, session_id=session, event_id=f"turn-{number}")
        turn |= {"user_input": f"say {self.turns}", "topic": chance.choice(TOPICS)}
        if chance.random() < 0.7:
            turn["intent"] = chance.choice(INTENTS)
        if chance.random() < 0.9:
            turn["user_id"] = self.person.user_id
        elif chance.random() < 0.3:
            turn["user_id"] = f"{self.person.user_id}-guest"
        if chance.random() < 0.25:
            rate = chance.randrange(0, 11) / 10
            turn["metadata"] = {"correct_rate": rate, "difficulty": chance.choice(LEVELS)}
        if chance.random() < 0.2:
            self.made.append(turn | {"status": "running"})
            if chance.random() < 0.3:
                return  # it never ends
        if chance.random() < 0.1:
            turn |= {"status": "error", "error": "timeout"}
        if chance.random() < 0.3 and "user_id" in turn:
            turn["affect"] = {"vad": self._vad(), "confidence": 0.8}
        self.made.append({"agent_answer": "so", **turn})
        if turn.get("user_id") == self.person.user_id and chance.random() < 0.4:
            self._plan(turn, at)

    def _plan(self, turn: JsonObject, at: int) -> None:
        chance = self.chance
        self.plans += 1
        plan = self._record("write_plan", at + SECOND, plan_id=f"plan-{self.name}-{self.plans}")
        plan |= {name: turn[name] for name in ("user_id", "session_id")}
        late = chance.choice((0, 1, 4, 90)) * SECOND + chance.randrange(1000) * 1000
        plan["recorded_at"] = format_time(at + SECOND + late)
        name = chance.choice(("rules", "llm"))
        plan["extractor"] = {"name": name, "version": chance.choice("12") if name == "llm" else "1"}
        if chance.random() < 0.9:
            plan["event_id"] = turn["event_id"]
            if chance.random() < 0.3:
                plan["event_affect"] = {"vad": self._vad(), "confidence": 0.8}
        change = chance.random()
        if change < 0.35:
            plan["preference_updates"] = [self._preference()]
            if chance.random() < 0.2:  # its clock is behind
                plan["occurred_at"] = format_time(at - SECOND)
        elif change < 0.95:
            plan["state_updates"] = [self._fact(format_time(at), self.plans)]
        else:
            lost = {"op": "mark_done", "state_id": f"unknown-{self.name}-{self.plans}"}
            plan["state_updates"] = [lost]  # a dead letter
        self.made.append(plan)

    def _preference(self) -> JsonObject:
        subject, domain = self.chance.choice(SUBJECTS), self.chance.choice(("food", "music"))
        known = (domain, subject.lower())
        op = self.chance.choice(("confirm", "upsert_candidate", "revoke"))
        if op == "revoke" and self.preferred.get(known) in (None, "revoke"):
            op = "confirm"
        self.preferred[known] = op
        confidence = self.chance.randrange(1, 1000) / 1000
        given = {"domain": domain, "polarity": "like", "subject": subject}
        return {"op": op, **given, "confidence": confidence}

    def _fact(self, now: str, number: int) -> JsonObject:
        """A new fact or task, other words for one, a new version of one, or its end."""
        change = self.chance.random()
        if not self.open or change < 0.4:
            self.facts += 1
            state = f"state-{self.name}-{self.facts}"
            kind = self.chance.choice(("fact", "fact", "relation", "task"))
            self.open.append(state)
            self.kinds[state] = kind
            return {"kind": kind, "state_id": state, "body_text": state, "valid_from": now}
        state = self.chance.choice(self.open)
        again = {"kind": self.kinds[state], "state_id": state, "body_text": f"{state} {number}"}
        if change < 0.6:
            return again
        if change < 0.8:
            return again | {"valid_from": now}
        self.open.remove(state)
        is_task = self.kinds[state] == "task" and change < 0.9
        return {"op": "mark_done" if is_task else "close", "state_id": state}

    # --- tasks ---

    def _task(self, session: str, at: int) -> None:
        head = {"session_id": session, "task_id": f"task-{session}"}
        course = self.chance.choice(COURSES)
        for number, step in enumerate(course(self.chance), 1):
            at += 10 * SECOND
            trace = {"trace_id": f"trace-{number}", "iteration_index": number}
            results = step.pop("results", ())
            recursion = self._record(
                "recursion", at, **head, **trace, observe="", thought="", **step
            )
            if self.chance.random() < 0.2:
                began = {"occurred_at": format_time(at - SECOND), "status": "running"}
                self.made.append(recursion | began)
            self.made.append(recursion)
            for after, result in enumerate(results, 1):
                given = {**head, "trace_id": trace["trace_id"], **result}
                late = at + after * SECOND + self.chance.randrange(1000) * 1000
                self.made.append(self._record("tool_result", late, result="it", **given))

    def _vad(self) -> JsonObject:
        return {axis: self.chance.randrange(-100, 101) / 100 for axis in "vad"}

    def _record(self, type: str, at: int, **fields: Any) -> JsonObject:
        head = {"type": type, "schema_version": 2, "tenant": self.person.tenant}
        return {**head, "occurred_at": format_time(at), **fields}


def _act(kind: str, **output: Any) -> JsonObject:
    return {"action": {"action_type": kind, "output": output}}


def _calls(chance: random.Random) -> JsonObject:
    """Two calls, named in the two ways; their results by id and by index, once, twice or never."""
    tools = [chance.choice(("search", "book", "pay")) for _ in range(2)]
    calls = [{"id": "a", "name": tools[0]}, {"function": {"name": tools[1]}}]
    named, counted = (
        [where | {"success": chance.random() < 0.7} for _ in range(chance.randrange(3))]
        for where in ({"tool_call_id": "a"}, {"call_index": 1})
    )
    return _act("CALL_TOOL", tool_calls=calls) | {"results": [*named, *counted]}


def _answered(chance: random.Random) -> list[JsonObject]:
    return [_calls(chance), _act("ANSWER", text="done")]


def _planned(chance: random.Random) -> list[JsonObject]:
    plan = _act("RE_PLAN", plan=[{"step_id": "1", "description": "look"}])
    return [plan, _calls(chance), _act("ANSWER", text="done")]


def _on_a_step(chance: random.Random) -> list[JsonObject]:
    plan = {"plan": [{"step_id": "1", "description": "look"}]}
    return [_calls(chance) | plan | {"step_id": "1"}, _act("ANSWER", text="done")]


def _stalled(chance: random.Random) -> list[JsonObject]:
    return [_act("REFLECT", text="hm") for _ in range(3)]


def _forced(chance: random.Random) -> list[JsonObject]:
    return [step | {"max_iteration": 2} for step in (_calls(chance), _act("REFLECT", text="hm"))]


def _refused(chance: random.Random) -> list[JsonObject]:
    return [_calls(chance), _act("REFLECT", text="no") | {"status": "error", "final": True}]


def _asked(chance: random.Random) -> list[JsonObject]:
    return [_act("CLARIFY", text="which?")]


COURSES = (_answered, _planned, _on_a_step, _stalled, _forced, _refused, _asked)
"""What can become of a task."""
