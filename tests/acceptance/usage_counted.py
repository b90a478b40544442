"""The answers to the questions of docs/analytics.md, counted from the records in plain Python."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from schemas.base import DAY, HOUR, SECOND, JsonObject, parse_time

Rows = list[dict[str, Any]]
ENDS = ("close", "done", "revoke")


def at(record: JsonObject) -> int:
    return parse_time(record["occurred_at"])


def day(record: JsonObject) -> date:
    return date(1970, 1, 1) + timedelta(days=at(record) // DAY)


def week(of: date) -> date:
    return of - timedelta(days=of.weekday())


def month(of: date) -> date:
    return of.replace(day=1)


def quantile(values: Iterable[float], share: float) -> float:
    """Between the two nearest, as far from each as the place is."""
    ordered = sorted(values)
    below, part = divmod(share * (len(ordered) - 1), 1)
    place = int(below)
    above = min(place + 1, len(ordered) - 1)
    return ordered[place] + part * (ordered[above] - ordered[place])


class Counted:
    """What was applied of the records, and what was refused."""

    def __init__(self, records: Sequence[JsonObject]) -> None:
        self.refused: list[tuple[date, str]] = []
        self.applied: dict[tuple[str, ...], JsonObject] = {}
        for record in records:
            self._apply(record)
        kept = list(self.applied.values())
        by_type = {kind: [one for one in kept if one["type"] == kind] for kind in
                   ("turn", "write_plan", "recursion", "tool_result")}  # fmt: skip
        self.turns, self.plans, self.recursions, self.results = by_type.values()
        self.ended = [turn for turn in self.turns if turn.get("status") != "running"]
        self.of_users = [turn for turn in self.turns if "user_id" in turn]
        self.changes = list(self._changes())

    def _apply(self, record: JsonObject) -> None:
        kind = record["type"]
        if kind == "turn" and "event_id" not in record:
            self.refused.append((day(record), "invalid"))
            return
        names = {
            "turn": ("session_id", "event_id"),
            "write_plan": ("user_id", "plan_id"),
            "recursion": ("session_id", "task_id", "trace_id"),
        }.get(kind)
        key = (kind, record["tenant"])
        key += tuple(record[name] for name in names) if names else (repr(sorted(record.items())),)
        known = self.applied.get(key)
        if known is not None and known.get("status") != "running":
            if record != known:
                self.refused.append((day(record), "conflicting_duplicate"))
        elif any(one.get("state_id", "").startswith("unknown") for one in self._states(record)):
            self.refused.append((day(record), "unknown_state"))
        else:
            self.applied[key] = record

    @staticmethod
    def _states(record: JsonObject) -> list[JsonObject]:
        return list(record.get("state_updates", ()))

    def _changes(self) -> Iterable[tuple[JsonObject, str, str, Any, str]]:
        """Of each applied plan: (plan, type, kind, entity, what it did)."""
        self.kinds: dict[Any, str] = {}
        self.status: dict[Any, str] = {}
        known = set()
        status = self.status
        for plan in self.plans:
            for update in self._states(plan):
                entity = (plan["tenant"], plan["user_id"], update["state_id"])
                ended = {"close": "close", "mark_done": "done"}.get(update.get("op", ""))
                again = "supersede" if "valid_from" in update else "update"
                op = ended or (again if entity in known else "insert")
                known.add(entity)
                self.kinds[entity] = kind = update.get("kind") or self.kinds[entity]
                yield plan, "state", kind, entity, op
            for update in plan.get("preference_updates", ()):
                subject = (update["domain"], update["polarity"], update["subject"].lower())
                liked = (plan["tenant"], plan["user_id"], *subject)
                was = status.get(liked)
                if update["op"] == "revoke":
                    status[liked], op = "revoked", "revoke"
                else:
                    held = update["op"] == "confirm" or was == "confirmed"
                    status[liked] = "confirmed" if held else "candidate"
                    op = "update" if was else "insert"
                yield plan, "preference", update["domain"], liked, op

    # --- users ---

    @staticmethod
    def user(record: JsonObject) -> tuple[str, str]:
        return record["tenant"], record["user_id"]

    def weeks(self) -> dict[tuple[str, str], list[date]]:
        """Each user's weeks, in order."""
        found: dict[tuple[str, str], set[date]] = defaultdict(set)
        for turn in self.of_users:
            found[self.user(turn)].add(week(day(turn)))
        return {user: sorted(weeks) for user, weeks in found.items()}

    def users_a_day(self) -> Rows:
        active = Counter(one for one, _ in {(day(t), self.user(t)) for t in self.of_users})
        return [{"date": one, "users": count} for one, count in sorted(active.items())]

    def users_a_week(self) -> Rows:
        found: dict[date, Counter[str]] = defaultdict(Counter)
        for weeks in self.weeks().values():
            for place, one in enumerate(weeks):
                before = one - timedelta(days=7)
                what = "stayed" if before in weeks else "returned" if place else "new"
                found[one].update(("users", what))
        return [
            {"week": one, **{name: found[one][name] for name in
                             ("users", "new", "stayed", "returned")}}
            for one in sorted(found)
        ]  # fmt: skip

    def cohorts(self) -> Rows:
        found = Counter(
            (weeks[0], (one - weeks[0]).days // 7) for weeks in self.weeks().values()
            for one in weeks
        )  # fmt: skip
        return [
            {"cohort": first, "weeks_later": later, "users": users}
            for (first, later), users in sorted(found.items())
        ]

    def sessions_a_day(self) -> Rows:
        found: dict[date, Counter[Any]] = defaultdict(Counter)
        for turn in self.turns:
            session = turn["tenant"], turn["session_id"]
            found[day(turn)][session] += turn.get("status") != "running"
        return [
            {"date": one, "sessions": len(turns), "turns": sum(turns.values()),
             "median_turns": median(turns.values())}
            for one, turns in sorted(found.items())
        ]  # fmt: skip

    def tenants(self) -> Rows:
        users = Counter(tenant for tenant, _ in {self.user(turn) for turn in self.of_users})
        turns = Counter(t["tenant"] for t in self.ended if "user_id" in t)
        return [
            {"tenant": one, "users": users[one], "turns": count,
             "percent_of_turns": 100 * count / turns.total()}
            for one, count in sorted(turns.items(), key=lambda item: (-item[1], item[0]))
        ]  # fmt: skip

    def wants(self) -> Rows:
        since = max(map(day, self.turns)) - timedelta(days=28)
        recent = [turn for turn in self.ended if day(turn) > since]
        turns = Counter((turn["topic"], turn.get("intent")) for turn in recent)
        users = {
            key: len({self.user(t) for t in recent
                      if (t["topic"], t.get("intent")) == key and "user_id" in t})
            for key in turns
        }  # fmt: skip
        # users of no name count as one in a tuple
        for topic, intent in turns:
            nameless = {
                t["tenant"]
                for t in recent
                if (t["topic"], t.get("intent")) == (topic, intent) and "user_id" not in t
            }
            users[topic, intent] += len(nameless)
        ordered = sorted(turns, key=lambda key: (-turns[key], key[0], key[1] or "~"))
        return [
            {"topic": topic, "intent": intent, "turns": turns[topic, intent],
             "users": users[topic, intent]}
            for topic, intent in ordered
        ]  # fmt: skip

    def failures(self) -> Rows:
        turns = Counter(map(day, self.ended))
        failed = Counter(day(turn) for turn in self.ended if turn.get("status") == "error")
        return [
            {"date": one, "turns": turns[one], "failed": failed[one],
             "percent": 100 * failed[one] / turns[one]}
            for one in sorted(turns)
        ]  # fmt: skip

    def lengths(self) -> Rows:
        since = max(map(day, self.turns)) - timedelta(days=90)
        sessions: dict[Any, list[JsonObject]] = defaultdict(list)
        for turn in self.turns:
            if day(turn) > since:
                sessions[turn["tenant"], turn["session_id"]].append(turn)
        weeks: dict[date, list[list[JsonObject]]] = defaultdict(list)
        for turns in sessions.values():
            weeks[week(min(map(day, turns)))].append(turns)
        return [self._length(one, found) for one, found in sorted(weeks.items())]

    @staticmethod
    def _length(one: date, sessions: list[list[JsonObject]]) -> dict[str, Any]:
        turns = [sum(t.get("status") != "running" for t in session) for session in sessions]
        lasted = [max(map(at, session)) - min(map(at, session)) for session in sessions]
        return {
            "week": one, "sessions": len(sessions), "median_turns": median(turns),
            "turns_of_nine_in_ten": quantile(turns, 0.9),
            "median_minutes": median(lasted) / 60 / SECOND,
        }  # fmt: skip

    def most_active(self) -> Rows:
        turns: Counter[tuple[str, str]] = Counter()
        for turn in self.of_users:
            turns[self.user(turn)] += turn.get("status") != "running"
        ordered = sorted(turns.values(), reverse=True)
        found = []
        for percent in (1, 10, 50, 100):
            most = [n for place, n in enumerate(ordered)
                    if place / (len(ordered) - 1) <= percent / 100]  # fmt: skip
            share = 100 * sum(most) / sum(ordered)
            found.append({"percent": percent, "users": len(most), "turns": sum(most),
                          "percent_of_turns": share})  # fmt: skip
        return found

    def reopened(self) -> Rows:
        times: dict[Any, list[JsonObject]] = defaultdict(list)
        for turn in self.turns:
            times[turn["tenant"], turn["session_id"]].append(turn)
        opened = [
            (month(day(later)), session)
            for session, turns in times.items()
            for earlier, later in pairwise(sorted(turns, key=at))
            if at(later) - at(earlier) > 24 * HOUR
        ]
        counts = Counter(one for one, _ in opened)
        return [
            {"month": one, "reopened": count,
             "sessions": len({session for other, session in opened if other == one})}
            for one, count in sorted(counts.items())
        ]  # fmt: skip

    # --- memory ---

    def growth(self) -> Rows:
        found: dict[Any, Counter[str]] = defaultdict(Counter)
        for plan, type_, kind, _, op in self.changes:
            found[week(day(plan)), type_, kind][op] += 1
        so_far: Counter[Any] = Counter()
        made = []
        for (one, type_, kind), ops in sorted(found.items()):
            so_far[type_, kind] += ops["insert"]
            made.append({"week": one, "entity_type": type_, "kind": kind, "new": ops["insert"],
                         "ended": sum(ops[name] for name in ENDS),
                         "so_far": so_far[type_, kind]})  # fmt: skip
        return made

    def corrections(self) -> Rows:
        found: dict[Any, Counter[str]] = defaultdict(Counter)
        for _, type_, kind, _, op in self.changes:
            found[type_, kind][op] += 1
        return [
            {"entity_type": type_, "kind": kind, "found": ops["insert"],
             "updated": ops["update"], "superseded": ops["supersede"],
             "ended": sum(ops[name] for name in ENDS)}
            for (type_, kind), ops in sorted(found.items())
        ]  # fmt: skip

    def extractors(self, last: date) -> Rows:
        recent = [one for one in self.changes if day(one[0]) > last - timedelta(days=28)]
        ops: dict[Any, set[str]] = defaultdict(set)
        finders = {}
        for plan, type_, _, entity, op in recent:
            ops[type_, entity].add(op)
            if op == "insert":
                finders[type_, entity] = (plan["extractor"]["name"], plan["extractor"]["version"])
        found: dict[Any, Counter[str]] = defaultdict(Counter)
        for (type_, entity), finder in finders.items():
            did = ops[type_, entity]
            count = found[(*finder, type_)]
            count["found"] += 1
            count["changed"] += bool(did & {"update", "supersede"})
            count["ended"] += bool(did & set(ENDS))
        return [
            {"extractor_name": name, "extractor_version": version, "entity_type": type_,
             **{what: count[what] for what in ("found", "changed", "ended")}}
            for (name, version, type_), count in sorted(found.items())
        ]  # fmt: skip

    def latency(self) -> Rows:
        found: dict[Any, list[float]] = defaultdict(list)
        for plan in self.plans:
            if "event_id" in plan:
                late = parse_time(plan["recorded_at"]) - at(plan)
                found[week(day(plan)), plan["extractor"]["name"]].append(late / SECOND)
        return [
            {"week": one, "extractor_name": name, "plans": len(seconds),
             "median_seconds": median(seconds), "p95_seconds": quantile(seconds, 0.95)}
            for (one, name), seconds in sorted(found.items())
        ]  # fmt: skip

    def preferences(self, last: date) -> Rows:
        recent = {entity for plan, type_, _, entity, _ in self.changes
                  if type_ == "preference" and day(plan) > last - timedelta(days=90)}  # fmt: skip
        held = Counter(entity[2:] for entity in recent if self.status[entity] == "confirmed")
        return [
            {"domain": domain, "polarity": polarity, "subject": subject, "users": users}
            for (domain, polarity, subject), users in
            sorted(held.items(), key=lambda item: (-item[1], item[0]))
        ]  # fmt: skip

    def moods(self) -> Rows:
        first: dict[Any, list[JsonObject]] = defaultdict(list)
        for turn in self.turns:
            first[turn["tenant"], turn["session_id"]].append(turn)
        begun: dict[Any, int] = {}
        for (tenant, _), turns in first.items():
            users = [turn["user_id"] for turn in sorted(turns, key=at) if "user_id" in turn]
            if users:
                user = (tenant, users[0])
                began = min(map(at, turns))
                begun[user] = min(begun.get(user, began), began)
        felt: dict[Any, tuple[bool, date, float]] = {}
        for turn in self.ended:
            if "affect" in turn:
                felt[(*self.user(turn), turn["session_id"], turn["event_id"])] = (
                    False, day(turn), turn["affect"]["vad"]["v"])  # fmt: skip
        for plan in self.plans:
            if "event_affect" in plan:
                key = (*self.user(plan), plan["session_id"], plan["event_id"])
                felt[key] = (True, day(plan), plan["event_affect"]["vad"]["v"])
        last = max(one for _, one, _ in felt.values())
        values: dict[Any, list[float]] = defaultdict(list)
        for (tenant, user_id, *_), (_, one, v) in felt.items():
            if one > last - timedelta(days=90) and (tenant, user_id) in begun:
                cohort = date(1970, 1, 1) + timedelta(days=begun[tenant, user_id] // DAY)
                values[month(cohort), month(one)].append(v)
        return [
            {"cohort": cohort, "month": one, "moments": len(vs), "mean_valence": fmean(vs),
             "percent_unpleasant": 100 * sum(v < 0 for v in vs) / len(vs)}
            for (cohort, one), vs in sorted(values.items())
        ]  # fmt: skip

    def learners(self) -> Rows:
        lessons: dict[Any, list[tuple[int, float]]] = defaultdict(list)
        for turn in self.ended:
            if "metadata" in turn and "user_id" in turn:
                lessons[self.user(turn)].append((at(turn), turn["metadata"]["correct_rate"]))
        fives: dict[int, list[float]] = defaultdict(list)
        for one in lessons.values():
            for place, (_, rate) in enumerate(sorted(one)):
                fives[place // 5 * 5 + 1].append(rate)
        return [
            {"from_lesson": first, "lessons": len(rates), "mean_correct": fmean(rates)}
            for first, rates in sorted(fives.items())
        ]

    # --- tasks and operation ---

    def tasks(self) -> Rows:
        last = max(map(day, self.recursions))
        steps: dict[Any, list[JsonObject]] = defaultdict(list)
        for one in self.recursions:
            if day(one) > last - timedelta(days=90):
                steps[one["tenant"], one["session_id"], one["task_id"]].append(one)
        found: dict[date, Counter[str]] = defaultdict(Counter)
        for task in steps.values():
            found[week(min(map(day, task)))].update(["opened", *_became(task)])
        names = ("opened", "planned", "stalled", "forced", "failed", "completed")
        return [{"week": one, **{name: found[one][name] for name in names}}
                for one in sorted(found)]  # fmt: skip

    def tools(self) -> Rows:
        since = max(map(day, self.recursions)) - timedelta(days=27)
        answers: dict[Any, list[JsonObject]] = defaultdict(list)
        for result in self.results:
            place = 0 if result.get("tool_call_id") == "a" else 1
            if day(result) >= since:
                answers[_trace(result), place].append(result)
        found: dict[str, Counter[str]] = defaultdict(Counter)
        seconds: dict[str, list[float]] = defaultdict(list)
        for one in self.recursions:
            calls = one["action"]["output"].get("tool_calls", ()) if day(one) >= since else ()
            for place, call in enumerate(calls):
                name = call.get("name") or call["function"]["name"]
                results = answers[_trace(one), place]
                newest = max(results, key=at, default=None)
                what = "unanswered" if newest is None else \
                    "succeeded" if newest["success"] else "failed"  # fmt: skip
                found[name].update(("calls", what))
                seconds[name] += [] if newest is None else [(at(newest) - at(one)) / SECOND]
        return [
            {"name": name, **{what: count[what] for what in
                              ("calls", "succeeded", "failed", "unanswered")},
             "median_seconds": median(seconds[name]) if seconds[name] else None}
            for name, count in sorted(found.items(), key=lambda item: (-item[1]["calls"], item[0]))
        ]  # fmt: skip

    def letters(self) -> Rows:
        return [
            {"date": one, "reason": reason, "letters": letters}
            for (one, reason), letters in sorted(Counter(self.refused).items())
        ]


def _trace(record: JsonObject) -> tuple[str, ...]:
    return tuple(record[name] for name in ("tenant", "session_id", "task_id", "trace_id"))


def _became(steps: list[JsonObject]) -> Iterable[str]:
    """What became of a task with these recursions."""
    ordered = sorted(steps, key=lambda one: int(one["iteration_index"]))
    if any(one["action"]["action_type"] == "RE_PLAN" or "step_id" in one for one in steps):
        yield "planned"
    done = [repr(one["action"]) for one in ordered[-3:]]
    if len(done) == 3 and len(set(done)) == 1:
        yield "stalled"
    if any(one["action"]["action_type"] == "ANSWER" for one in steps):
        yield "completed"
    elif any(one.get("final") for one in steps):
        yield "failed"
    elif len(steps) == ordered[0].get("max_iteration"):
        yield from ("forced", "failed")


def answers(records: Sequence[JsonObject]) -> dict[int, Callable[[], Rows]]:
    """The answer to each question by its number on the page."""
    it = Counted(records)
    last = max(day(one) for one in (*it.turns, *it.recursions, *it.plans))
    return {
        1: it.users_a_day, 2: it.users_a_week, 3: it.cohorts, 4: it.sessions_a_day,
        5: it.tenants, 6: it.wants, 7: it.failures, 8: it.lengths, 9: it.most_active,
        10: it.reopened, 11: it.growth, 12: it.corrections, 13: lambda: it.extractors(last),
        14: it.latency, 15: lambda: it.preferences(last), 16: it.moods, 17: it.learners,
        18: it.tasks, 19: it.tools, 20: it.letters,
    }  # fmt: skip
