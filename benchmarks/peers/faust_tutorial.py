"""The peer job as Faust's tutorial would write it: Record, Table, topic.send."""

import sys
import tempfile

import faust

bootstrap, group, source, output, changelog, *rest = sys.argv[1:]
app = faust.App(
    group,
    broker=f"kafka://{bootstrap}",
    datadir=tempfile.mkdtemp(),
    topic_partitions=4,
    topic_replication_factor=1,
    topic_disable_leader=True,
    web_enabled=False,
    broker_session_timeout=10.0,  # the other peers' too
    processing_guarantee=rest[0] if rest else "at_least_once",
)


class Turn(faust.Record, serializer="json"):
    event_id: str
    session_id: str
    occurred_at: str
    user_input: str
    intent: str | None = None
    topic: str | None = None
    artifact: str | None = None


class Context(faust.Record, serializer="json"):
    session_id: str
    current_topic: str | None = None
    recent_intents: list[str] = []  # noqa: RUF012 - the way of a Faust record
    last_artifact: str | None = None
    last_user_message: str = ""
    updated_at: str = ""


turns = app.topic(source, key_type=bytes, value_type=Turn)
contexts = app.topic(output, key_type=str, value_type=Context)
table = app.Table("contexts", partitions=4)


@app.agent(turns)
async def update(stream: faust.StreamT[Turn]) -> None:
    async for turn in stream:
        old = table.get(turn.session_id) or Context(turn.session_id)
        context = Context(
            turn.session_id,
            turn.topic or old.current_topic,
            [*old.recent_intents[-9:], turn.intent],
            turn.artifact or old.last_artifact,
            turn.user_input,
            max(old.updated_at, turn.occurred_at),
        )
        table[turn.session_id] = context
        await contexts.send(key=turn.session_id, value=context)


if __name__ == "__main__":
    faust.Worker(app, loglevel="ERROR").execute_from_commandline()
