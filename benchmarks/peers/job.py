"""The peer job: decode a turn, update its session's context, emit it, write the changelog.

Nothing here knows who runs it. A context is a SessionContext
(docs/concepts.md, Documents): topic, ten recent intents, artifact, last message, time.
"""

import random
from collections.abc import Iterator

import msgspec

PARTITIONS = 4
SESSIONS = 20_000
BYTES = 770
INTENTS = ("ask", "plan", "fix", "explain", "review", "search", "buy", "cancel")
WORDS = ("river", "table", "tomorrow", "because", "window", "python", "train", "quiet", "seven",
         "orange", "please", "maybe", "folder", "number", "garden", "answer")  # fmt: skip


class Turn(msgspec.Struct):
    """The fields the job reads; the others are skipped by the decoder."""

    event_id: str
    session_id: str
    occurred_at: str
    user_input: str
    intent: str | None = None
    topic: str | None = None
    artifact: str | None = None


class Context(msgspec.Struct):
    """A session's context, and its row in the table."""

    session_id: str
    current_topic: str | None = None
    recent_intents: list[str] = []
    last_artifact: str | None = None
    last_user_message: str = ""
    updated_at: str = ""


decode = msgspec.json.Decoder(Turn).decode
decode_row = msgspec.json.Decoder(Context).decode
encode = msgspec.json.Encoder().encode


def apply(context: Context | None, turn: Turn) -> Context:
    """The session's next context; the one given stays as it is."""
    if context is None:
        context = Context(turn.session_id)
    intents = context.recent_intents
    if turn.intent is not None:
        intents = [*intents[-9:], turn.intent]
    return Context(
        turn.session_id,
        turn.topic or context.current_topic,
        intents,
        turn.artifact or context.last_artifact,
        turn.user_input,
        max(context.updated_at, turn.occurred_at),
    )


def turns(count: int, seed: int = 1) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of `count` turns of about 770 bytes."""
    chance = random.Random(seed)
    for number in range(count):
        session = f"session-{chance.randrange(SESSIONS)}"
        text = " ".join(chance.choices(WORDS, k=25))
        turn = {
            "type": "turn", "tenant": "default", "schema_version": 1, "source": "chat",
            "event_id": f"event-{number:09d}", "session_id": session, "task_id": f"task-{number}",
            "user_id": f"user-{chance.randrange(5_000)}", "client_id": "web", "status": "done",
            "occurred_at": f"2026-01-01T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:"
                           f"{number % 60:02d}.{number % 1000:03d}Z",
            "intent": chance.choice(INTENTS), "topic": chance.choice(WORDS), "artifact": None,
            "user_input": text, "agent_answer": "",
        }  # fmt: skip
        missing = BYTES - len(encode(turn))
        turn["agent_answer"] = " ".join(chance.choices(WORDS, k=60))[: max(missing, 0)]
        yield f"default/{session}".encode(), encode(turn)
