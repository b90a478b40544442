"""The topology: topics, keys, agents, tables (docs/topics.md).

`streams.record_kinds` declares the records of each topic, and so the fold of its agent. The file
runner, the Kafka tier, the AsyncAPI document and docs/topics.md are derived from both. A key is its
template filled with the record's values. Only the tenant must not contain "/"; in the middle of a
key of three parts "%" and "/" are percent-encoded, so that keys are unique.
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from schemas import memory_kinds
from schemas.events import Record
from schemas.learner import UserLearningProfile
from schemas.memory import DOCUMENTS, Mood, State
from schemas.memory_kinds import MemoryKind
from schemas.rows import TABLES
from schemas.session import SessionContext, SessionDocument
from schemas.task import TaskDocument
from streams.folds.revised_kinds import REVISED_KINDS
from streams.record_kinds import KINDS, Fold, kind_of, models_on

Direction = Literal["input", "internal", "output"]

# A record may have 1 MB (schemas.events.MAX_RECORD_BYTES). A larger one must still be accepted, to
# become a dead letter, which contains it as text with the reason.
INPUT_BYTES = 2 * 1024 * 1024
OUTPUT_BYTES = 2 * INPUT_BYTES

SESSION = "{tenant}/{session_id}"
TASK = "{tenant}/{session_id}/{task_id}"
USER = "{tenant}/{user_id}"
OWNER = "{tenant}/{owner_id}"
SOURCE = "the key of the record it comes from"


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic. `payloads` are the models of its JSON messages, `rows` the history tables that it
    feeds. Compacted: the newest message of a key stays, a tombstone deletes it. Append-only:
    messages stay `retention_days` (None: forever)."""

    name: str
    direction: Direction
    key: str
    about: str
    payloads: tuple[type[BaseModel], ...] = ()
    rows: tuple[str, ...] = ()
    compacted: bool = False
    retention_days: int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a fold: many small ones per entity, named in the fold's docstring. `documents`
    are the models built from its rows."""

    name: str
    key: str
    documents: tuple[type[BaseModel], ...]


@dataclass(frozen=True, slots=True)
class Agent:
    """One fold over the records of co-partitioned sources. Its results go to `outputs` and, with
    the records, into the tables of `history`, which include `makes`; anything else is an error."""

    name: str
    sources: tuple[Topic, ...]
    table: Table
    outputs: tuple[Topic, ...]
    makes: tuple[str, ...]

    @property
    def history(self) -> tuple[str, ...]:
        """History tables that it writes."""
        names = {topic.name for topic in self.sources}
        records = {kind.history for kind in KINDS if kind.topic in names}
        return tuple(table for table in TABLES if table in records or table in self.makes)

    @property
    def fold(self) -> Fold:
        """The fold of all kinds of records in its sources."""
        names = {topic.name for topic in self.sources}
        (fold,) = {kind.fold for kind in KINDS if kind.topic in names}
        return fold


# --- topics -----------------------------------------------------------------------------------

TURNS = Topic(
    "turns",
    "input",
    SESSION,
    "user inputs and answers; updates of session contexts",
    payloads=models_on("turns"),
)
RECURSIONS = Topic(
    "recursions", "input", SESSION, "steps of an agent's loop, and results of its tools",
    payloads=models_on("recursions"),
)  # fmt: skip
WRITE_PLANS = Topic(
    "write-plans", "input", USER, "what to remember of an event",
    payloads=models_on("write-plans"),
)  # fmt: skip
USER_SIGNALS = Topic(
    "user-signals", "internal", USER, "what a turn or an update means for a user's profile",
    payloads=models_on("user-signals"), retention_days=30,
)  # fmt: skip


def _documents(name: str, key: str, model: type[BaseModel], about: str) -> Topic:
    return Topic(name, "output", key, about, payloads=(model,), compacted=True)


def _of_kind(kind: MemoryKind, model: type[BaseModel]) -> Topic:
    """Topic of a kind's newest documents; the owner of memory is a user."""
    assert kind.topic
    key = "/".join(f"{{{'user_id' if name == 'owner_id' else name}}}" for name in kind.key)
    return _documents(kind.topic.name, key, model, kind.topic.about)


SESSIONS = _of_kind(memory_kinds.SESSION, SessionDocument)
SESSION_CONTEXTS = _documents(
    "session-contexts",
    SESSION,
    SessionContext,
    "what an agent needs before it answers",
)
TASKS = _of_kind(memory_kinds.TASK, TaskDocument)
PROFILES = _of_kind(memory_kinds.PROFILE, UserLearningProfile)
STATES = _of_kind(memory_kinds.STATE, State)
REVISED_TOPICS = {
    item.kind.name: _of_kind(item.kind, DOCUMENTS[item.kind.name]) for item in REVISED_KINDS
}
MOODS = _of_kind(memory_kinds.MOOD, Mood)


def _rows(name: str, key: str, about: str) -> Topic:
    return Topic(name, "output", key, about, rows=(name,), retention_days=30)


REVISIONS = _rows("revisions", OWNER, "every change: before, after, reason, evidence")
AFFECTS = _rows("affects", USER, "moments of affect")
LINKS = _rows("links", OWNER, "relations between events, put and removed")
THREADS = _rows("threads", OWNER, "events put into threads and removed")
HISTORY = Topic(
    "history", "output", SOURCE, "every row of the history tables, for the sink",
    rows=tuple(name for name in TABLES if name != "dead_letters"),
)  # fmt: skip
DEAD_LETTERS = Topic(
    "dead-letters", "output", SOURCE, "records that could not be applied, with the reason",
    rows=("dead_letters",),
)  # fmt: skip

TOPICS: tuple[Topic, ...] = (
    TURNS, RECURSIONS, WRITE_PLANS, USER_SIGNALS,
    SESSIONS, SESSION_CONTEXTS, TASKS, PROFILES, STATES, *REVISED_TOPICS.values(), MOODS,
    REVISIONS, AFFECTS, LINKS, THREADS, HISTORY, DEAD_LETTERS,
)  # fmt: skip

# --- agents -----------------------------------------------------------------------------------

SESSION_AGENT = Agent(
    name="session",
    sources=(TURNS, RECURSIONS),
    table=Table("session-rows", SESSION, (SessionDocument, SessionContext, TaskDocument)),
    outputs=(SESSIONS, SESSION_CONTEXTS, TASKS, REVISIONS, LINKS, USER_SIGNALS, WRITE_PLANS,
             HISTORY, DEAD_LETTERS),
    makes=("tasks", "sessions", "revisions", "links"),
)  # fmt: skip
MEMORY_AGENT = Agent(
    name="memory",
    sources=(USER_SIGNALS, WRITE_PLANS),
    table=Table("memory-rows", USER, (
        UserLearningProfile, State, *(DOCUMENTS[item.kind.name] for item in REVISED_KINDS), Mood,
    )),
    outputs=(PROFILES, STATES, *REVISED_TOPICS.values(), MOODS, REVISIONS, AFFECTS, LINKS, THREADS,
             HISTORY, DEAD_LETTERS),
    makes=("profiles", "revisions", "affects", "links", "threads"),
)  # fmt: skip
AGENTS: tuple[Agent, ...] = (SESSION_AGENT, MEMORY_AGENT)
MAPPING_AGENT = Agent(
    name="mapping",
    sources=(),
    table=Table("mapping", "topic", ()),
    outputs=(TURNS, RECURSIONS, USER_SIGNALS, WRITE_PLANS, DEAD_LETTERS),
    makes=(),
)
"""Maps a platform's events to records. A mapping file names its sources, which are not topics of
Turnfold."""


# --- generations ------------------------------------------------------------------------------


def name_in(topic: Topic, generation: str | None) -> str:
    """A topic's name in a generation, which shares the input topics and has its own others."""
    if generation is None or topic.direction == "input":
        return topic.name
    return f"{topic.name}.{generation}"


def own_plans(generation: str) -> str:
    """Topic of the plans of a generation's extractor, separate from the live memory."""
    return f"{WRITE_PLANS.name}.{generation}"


def topic_of(record: Record) -> Topic:
    """Topic of an input record."""
    return topic_named(kind_of(record).topic)


def topic_named(name: str) -> Topic:
    """Topic by its name. Raises KeyError."""
    return _BY_NAME[name]


_BY_NAME = {topic.name: topic for topic in TOPICS}
