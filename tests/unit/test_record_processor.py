"""What a record ends as is decided once: the same through files, through Kafka's agents, and for
what is folded again."""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple, Protocol

import msgspec
import pytest

from schemas.base import JsonObject
from streams.extractors.registry import Extractor, named
from streams.files.fold_batch import Applier
from streams.files.refold import _Nothing, _Rows
from streams.folds import history_rows as history_log
from streams.folds import memory
from streams.folds.constants import Rules
from streams.folds.outcome import APPLIED, DUPLICATE, WAITS, WITHHELD, Outcome
from streams.kafka.agents.memory_agent import MemoryAgent
from streams.kafka.agents.outcomes import outcomes_of
from streams.kafka.agents.routing import route
from streams.kafka.agents.session_agent import SessionAgent
from streams.kafka.transport.interfaces import Batch
from streams.kafka.transport.rows import MemoryRows
from streams.pipeline.decode import decode
from streams.pipeline.entity import Entity
from streams.pipeline.interfaces import StoreError
from streams.pipeline.processor import RecordProcessor
from tests.property.world import (
    Json,
    Tables,
    encode,
    fact,
    feeling,
    plan,
    recursion,
    result,
    signal,
    turn,
)
from tests.reference import worlds

PARTITIONS = 1
OUR_COUNTS = ("read", "applied", "duplicate", "dead", "withheld")
LATER = ("waiting", "settled", "late")

Letter = tuple[str, str]
"""A dead letter's reason and detail."""


class Shell(Protocol):
    """One way to run the processor: a row source and an emitter."""

    letters: list[Letter]

    def give(self, record: Json | bytes) -> Outcome: ...

    def rows(self, table: str, key: str) -> dict[str, Any]: ...

    def counts(self) -> dict[str, int]: ...


def _ours(counts: Counter[str]) -> dict[str, int]:
    later = {name: counts[name] for name in LATER if counts[name]}
    return {name: counts[name] for name in OUR_COUNTS} | later


class Files:
    """The file tier: every signal and plan is folded with its turn."""

    def __init__(self, extract: Extractor | None = None) -> None:
        self.tables = Tables()
        self.applier = Applier(self.tables, Rules(), extract)
        self.letters: list[Letter] = []
        self.given = 0

    def give(self, record: Json | bytes) -> Outcome:
        self.given += 1
        (outcome,) = self.applier.apply([(encode(record), ("test", 0, self.given))])
        for row in self.applier.take_rows().get("dead_letters", ()):
            self.letters.append((row[0], row[1]))
        return outcome

    def rows(self, table: str, key: str) -> dict[str, Any]:
        return dict(self.tables.entity(table, "default", key).scan(""))

    def counts(self) -> dict[str, int]:
        return _ours(self.applier.counts)


class Record(NamedTuple):
    """A record as the broker gives it."""

    topic: str
    offset: int
    key: bytes | None
    value: bytes
    headers: Any = ()
    timestamp: int = 1_790_000_000_000
    partition: int = 0


class Kafka:
    """Both agents, without a broker: signals and plans are messages from one to the other."""

    def __init__(self, extract: Extractor | None = None) -> None:
        self.sessions = SessionAgent(0, MemoryRows(), PARTITIONS, None, Rules())
        self.users = MemoryAgent(0, MemoryRows(), PARTITIONS, Rules())
        self.sessions.processor.extract = extract
        self.letters: list[Letter] = []
        self.hops: list[str] = []
        self.plans: list[Outcome] = []
        self.offsets: Counter[str] = Counter()

    def give(self, record: Json | bytes) -> Outcome:
        way = route(encode(record))
        if way is None:
            return WITHHELD
        agent = self.sessions if way.topic in ("turns", "recursions") else self.users
        outcome, batch = self._fold(agent, way.topic, way.key, way.value, ())
        for sent in batch.outputs:
            if sent.topic == "user-signals":
                before = self.users.counts.copy()
                self._fold(self.users, sent.topic, sent.key, sent.value or b"", sent.headers)
                self.hops += (self.users.counts - before).elements()
            elif sent.topic == "write-plans":
                made = self._fold(self.users, sent.topic, sent.key, sent.value or b"", sent.headers)
                self.plans.append(made[0])
        return outcome

    def _fold(
        self, agent: Any, topic: str, key: bytes | None, value: bytes, headers: Any
    ) -> tuple[Outcome, Batch]:
        """One record, as a batch of its own; what it ended as, by the marker's note."""
        offset = self.offsets[topic]
        self.offsets[topic] += 1
        before = agent.counts.copy()
        batch = agent.process([Record(topic, offset, key, value, headers)])
        agent.committed()
        noted = {(at, place): outcome for at, place, outcome in outcomes_of(batch.note)}
        for sent in batch.outputs:
            if sent.topic == "dead-letters":
                row = msgspec.json.decode(sent.value or b"")
                self.letters.append((row["reason"], row["detail"]))
        outcome = noted.get((topic, offset))
        if outcome is None:
            outcome = WITHHELD if agent.counts["withheld"] > before["withheld"] else APPLIED
        elif outcome.ending == "dead":  # the note has few details; the letter has them all
            outcome = Outcome("dead", *self.letters[-1])
        return outcome, batch

    def rows(self, table: str, key: str) -> dict[str, Any]:
        agent: Any = self.sessions if table == "sessions" else self.users
        return dict(agent.table.entity(table, "default", key).scan(""))

    def counts(self) -> dict[str, int]:
        """Of input records: the plans that were made of turns are read once more on their way."""
        counts = self.sessions.counts + self.users.counts
        for outcome in self.plans:
            counts["read"] -= 1
            counts[outcome.ending] -= 1
        return _ours(counts)


class Folded:
    """Folded again: rows alone. One user's signals are followed."""

    def __init__(self, extract: Extractor | None = None) -> None:
        self.source = _Rows()
        self.emitter = _Nothing(self.source.entity("users", "default", "u1"))
        self.processor = RecordProcessor(self.source, self.emitter, Rules())
        self.letters: list[Letter] = []

    def give(self, record: Json | bytes) -> Outcome:
        line, place = encode(record), ("test", 0, 1)
        outcome = self.processor.process(decode(line, place), line, place)
        if outcome.ending == "dead":
            self.letters.append((outcome.reason or "", outcome.detail or ""))
        return outcome

    def rows(self, table: str, key: str) -> dict[str, Any]:
        return dict(self.source.entity(table, "default", key).scan(""))

    def counts(self) -> dict[str, int]:
        return _ours(self.processor.counts)


TIERS: tuple[Callable[..., Files | Kafka], ...] = (Files, Kafka)
SHELLS: tuple[Callable[..., Files | Kafka | Folded], ...] = (*TIERS, Folded)
every_shell = pytest.mark.parametrize("shell", SHELLS)
every_tier = pytest.mark.parametrize("shell", TIERS)

CALL: JsonObject = {"tool_calls": [{"name": "look", "id": "c"}]}


def call(at: float, **fields: Any) -> Json:
    return recursion("r", 0, at, "CALL_TOOL", output=CALL, **fields)


def dead(reason: str, detail: str) -> Outcome:
    return Outcome("dead", reason, detail)


ENDS: dict[str, tuple[list[Json | bytes], Outcome]] = {
    "a turn": ([turn("e", 0, user_id="u1")], APPLIED),
    "a turn again": ([turn("e", 0), turn("e", 0)], DUPLICATE),
    "a signal of a session": ([signal("g", 0, "session")], APPLIED),
    "a signal of a user": ([signal("g", 0), signal("g", 0)], DUPLICATE),
    "a recursion": ([call(0)], APPLIED),
    "a plan": ([plan("p", 0, fact("s", "tea"))], APPLIED),
    "another turn of an id": (
        [turn("e", 0), turn("e", 0, user_input="other")],
        dead("conflicting_duplicate", "event_id e has other content"),
    ),
    "another plan of an id": (
        [plan("p", 0), plan("p", 1)],
        dead("conflicting_duplicate", "p has other content"),
    ),
    "half a line": ([b'{"type": "turn"'], dead("bad_json", "Input data was truncated")),
    "no type": (
        [b"{}"],
        dead("unknown_type", "type: is missing; use one of turn, recursion, tool_result, signal, "
             "write_plan"),
    ),
    "withheld": ([turn("e", 0, source="meta_request")], WITHHELD),
}  # fmt: skip


@every_shell
@pytest.mark.parametrize("name", ENDS)
def test_guarantee_3_a_record_ends_alike_everywhere(shell: Callable[..., Shell], name: str) -> None:
    records, expected = ENDS[name]
    running = shell()
    *_, outcome = [running.give(one) for one in records]
    assert outcome == expected
    assert running.letters == ([(expected.reason, expected.detail)] if expected.reason else [])


@every_shell
def test_a_refused_record_leaves_its_session_as_it_was(shell: Callable[..., Shell]) -> None:
    running = shell()
    running.give(turn("e", 0, user_id="u1", topic="tea"))
    before = running.rows("sessions", "s1"), running.rows("users", "u1")
    running.give(turn("e", 0, user_id="u1", topic="coffee"))
    assert (running.rows("sessions", "s1"), running.rows("users", "u1")) == before


@every_tier
def test_a_plan_that_is_refused_half_way_leaves_nothing_of_it(shell: Callable[..., Shell]) -> None:
    running = shell()
    running.give(plan("p", 0, fact("s", "tea")))
    before = running.rows("users", "u1")
    close = {"op": "close", "state_id": "nowhere"}
    refused = running.give(plan("q", 1, fact("s", "green tea"), close))
    assert refused.reason == "unknown_state"
    assert running.rows("users", "u1") == before


@every_shell
def test_a_result_that_fits_no_call_keeps_what_it_wrote(shell: Callable[..., Shell]) -> None:
    """A later version of the recursion may have the call: then the dead letter is applied."""
    running = shell()
    running.give(recursion("r", 0, 0, "CALL_TOOL", output={"tool_calls": []}))
    before = running.rows("sessions", "s1")
    assert running.give(result("r", 1, "c")).reason == "unmatched_tool_result"
    assert running.rows("sessions", "s1") != before
    assert running.counts()["dead"] == 1
    assert running.give(call(2)) == APPLIED
    assert running.counts() == {
        "read": 3, "applied": 2, "duplicate": 0, "dead": 1, "withheld": 0,
        "settled": 1,
    }  # fmt: skip


@every_shell
def test_guarantee_3_what_a_record_was_counted_as_stays(shell: Callable[..., Shell]) -> None:
    """A result waits, fits nothing, and fits a later version of its recursion."""
    running = shell()
    assert running.give(result("r", 0, "unknown")) == WAITS
    assert running.give(call(1)) == APPLIED
    assert running.counts() == {
        "read": 2, "applied": 2, "duplicate": 0, "dead": 0, "withheld": 0,
        "waiting": 1, "late": 1,
    }  # fmt: skip
    named = {"tool_calls": [{"id": "unknown", "name": "f"}]}
    assert running.give(recursion("r", 0, 2, "CALL_TOOL", output=named)) == APPLIED
    assert running.counts() == {
        "read": 3, "applied": 3, "duplicate": 0, "dead": 0, "withheld": 0,
        "waiting": 1, "settled": 1, "late": 1,
    }  # fmt: skip
    if shell is not Folded:  # its letters are of records that were refused themselves
        assert [reason for reason, _ in running.letters] == ["unmatched_tool_result"]


def broken(*_: Any) -> Any:
    raise KeyError("a fault of ours")


@every_tier
def test_a_fold_that_raises_makes_a_dead_letter_and_the_stream_continues(
    shell: Callable[..., Shell], monkeypatch: pytest.MonkeyPatch
) -> None:
    running = shell()
    running.give(turn("e", 0))
    before = running.rows("sessions", "s1")
    with monkeypatch.context() as patched:
        patched.setattr(history_log, "turn", broken)  # the last step of a turn's fold
        outcome = running.give(turn("f", 1))
    assert outcome == dead("fold_failed", "KeyError: 'a fault of ours'")
    assert running.rows("sessions", "s1") == before
    assert running.give(turn("f", 1)) == APPLIED
    assert running.counts() == {"read": 3, "applied": 2, "duplicate": 0, "dead": 1, "withheld": 0}


def test_who_folds_again_hears_of_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_log, "turn", broken)
    with pytest.raises(KeyError, match="a fault of ours"):
        Folded().give(turn("e", 0))


def test_the_kafka_tier_logs_a_fault_without_what_was_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(history_log, "turn", broken)
    Kafka().give(turn("e", 0, user_input="a secret"))
    assert "turns/0/0: fold_failed: KeyError; turnfold admin dlq list" in caplog.text
    assert "secret" not in caplog.text and "fault of ours" not in caplog.text


class NoDisk(Tables):
    def entity(self, table: str, tenant: str, key: str) -> Entity:
        if table == "users":
            raise StoreError("no disk")
        return super().entity(table, tenant, key)


def test_a_store_that_cannot_be_read_is_no_records_fault() -> None:
    tables = NoDisk()
    applier = Applier(tables, Rules())
    with pytest.raises(StoreError):
        applier.apply([(encode(turn("e", 0, user_id="u1")), ("test", 0, 1))])
    with pytest.raises(StoreError):
        applier.apply([(encode(plan("p", 0)), ("test", 0, 2))])
    assert applier.take_rows() == {}


@every_shell
def test_a_turn_reaches_its_user(shell: Callable[..., Shell]) -> None:
    running = shell()
    running.give(turn("e", 0, user_id="u1", topic="tea", affect=feeling(0.5)))
    assert {name[0] for name in running.rows("users", "u1")} == {"l", "y", "a", "u"}
    once = running.rows("users", "u1")
    running.give(turn("e", 0, user_id="u1", topic="tea", affect=feeling(0.5)))
    assert running.rows("users", "u1") == once


def test_a_user_that_cannot_take_a_turn_refuses_it_where_both_are_folded_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In files a turn and its signal stand or fall together; in Kafka the turn stands already."""
    monkeypatch.setattr(memory, "fold_signal", broken)
    said = turn("e", 0, user_id="u1")
    files, kafka = Files(), Kafka()
    assert files.give(said).reason == "fold_failed"
    assert files.rows("sessions", "s1") == files.rows("users", "u1") == {}
    assert kafka.give(said) == APPLIED
    assert kafka.rows("users", "u1") == {}
    assert kafka.hops == ["hops_dead"]
    assert files.letters == kafka.letters == [("fold_failed", "KeyError: 'a fault of ours'")]


def test_who_folds_a_user_again_leaves_other_users_out() -> None:
    running = Folded()
    running.give(turn("e", 0, user_id="u1", topic="tea"))
    known = running.rows("users", "u1")
    running.give(turn("f", 1, user_id="u2", topic="coffee"))
    assert known
    assert running.rows("users", "u1") == known


@every_tier
def test_an_applied_turn_is_extracted_once(shell: Callable[..., Files | Kafka]) -> None:
    running = shell(named("rules"))
    home = turn("e", 0, user_id="u1", user_input="I live in Oslo.")
    running.give({**home, "status": "running"})
    assert [running.give(home) for _ in range(2)] == [APPLIED, DUPLICATE]
    states = [row for name, row in running.rows("users", "u1").items() if name[0] == "s"]
    assert ["Oslo" in state.versions[0].body_text for state in states] == [True]
    assert running.counts() == {"read": 3, "applied": 2, "duplicate": 1, "dead": 0, "withheld": 0}


@every_tier
def test_a_plan_that_cannot_be_read_is_a_dead_letter_and_its_turn_stands(
    shell: Callable[..., Files | Kafka],
) -> None:
    def wrong(turn: Any) -> JsonObject:
        return {"type": "write_plan", "plan_id": "p", "user_id": "u1", "occurred_at": "2026-01-01"}

    running = shell(Extractor("wrong", wrong))
    assert running.give(turn("e", 0, user_id="u1")) == APPLIED
    assert [reason for reason, _ in running.letters] == ["invalid"]
    assert running.counts()["applied"] == 1


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise ValueError


def _nested() -> JsonObject:
    plan: JsonObject = {}
    for _ in range(100_000):
        plan = {"a": plan}
    return plan


def _circular() -> JsonObject:
    plan: JsonObject = {}
    plan["a"] = plan
    return plan


@every_tier
@pytest.mark.parametrize(
    ("made", "error"),
    [
        (KeyError("a"), "KeyError: 'a'"), (RecursionError(), "RecursionError"),
        (ValueError("half a pair: \ud800"), "ValueError: half a pair: ?"),
        (ValueError("x" * 9000), "ValueError: xxx"), (UnprintableError(), "UnprintableError"),
        ({"body_text": "\ud800"}, "UnicodeEncodeError"), ({"a": object()}, "TypeError"),
        ({1j: 2}, "TypeError"), (_nested(), "RecursionError"), (_circular(), "RecursionError"),
        ([], "TypeError: a plan is an object, not list"),
        ("plan", "TypeError: a plan is an object, not str"),
        (0, "TypeError: a plan is an object, not int"),
    ],
    ids=lambda one: type(one).__name__ if not isinstance(one, str) else one.partition(":")[0],
)  # fmt: skip
def test_a_plan_that_cannot_be_made_is_a_dead_letter_and_its_turn_stands(
    shell: Callable[..., Files | Kafka], made: Any, error: str
) -> None:
    def extract(turn: Any) -> Any:
        if isinstance(made, Exception):
            raise made
        return made

    running = shell(Extractor("trial", extract))
    assert running.give(turn("e", 0, user_id="u1", user_input="I live in Oslo.")) == APPLIED
    assert running.give(turn("f", 1)) == APPLIED
    ((reason, detail),) = running.letters
    assert reason == "extraction_failed"
    assert detail.startswith(error) and len(detail) <= 2000
    assert running.counts()["applied"] == 2


def test_plans_are_counted_where_they_go() -> None:
    files, kafka = Files(named("rules")), Kafka(named("rules"))
    home = turn("e", 0, user_id="u1", user_input="I live in Oslo.")
    files.give(home)
    kafka.give(home)
    assert files.applier.counts["extracted_applied"] == 1
    assert kafka.sessions.counts["extracted"] == 1
    assert kafka.plans == [APPLIED]


@pytest.mark.parametrize("seed", range(60))
def test_guarantee_1_and_3_worlds_end_alike_everywhere(seed: int) -> None:
    draw = Random(seed)
    records = [one for one in worlds.arranged(draw, worlds.world(draw)) if "tenant" not in one]
    extract = named("rules") if seed % 2 else None
    files, kafka, folded = Files(extract), Kafka(extract), Folded()
    shells: list[Shell] = [files, kafka] if extract else [files, kafka, folded]
    for record in records:
        first, *others = [one.give(record) for one in shells]
        assert others == [first] * len(others), record
    first_counts, *other_counts = [one.counts() for one in shells]
    assert other_counts == [first_counts] * len(other_counts)
    assert sorted(files.letters) == sorted(kafka.letters)
    for table, _, key in files.tables.entities:
        assert files.rows(table, key) == kafka.rows(table, key)
