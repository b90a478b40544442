"""Each process does its work with the ACLs that docs/shared-clusters.md lists, and with none else;
with one less it ends, and says what is missing.

The topics have a prefix, and no ACL is without it: so this also shows that no process touches a
topic, group or transactional id of another installation.
"""

import asyncio
import json
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from streams.broker import Broker
from streams.kafka.agents.agents import changelogs
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.kafka.tools import acls
from streams.kafka.tools.acls import Acl
from tests.command import Done, turnfold
from tests.kafka.acls import grant, without
from tests.kafka.conftest import PASSWORD
from tests.kafka.installation import Installation, installed
from tests.kafka.served import send_marked
from tests.llm.endpoint import Endpoint
from tests.planned import CONVERSATIONS
from tests.serving.serving import serving
from tests.waiting import WITHIN

pytestmark = pytest.mark.nightly
PREFIX = "guarded-"
GROUP = "reads-turns"


def login(user: str) -> dict[str, str]:
    return {
        "SECURITY_PROTOCOL": "SASL_PLAINTEXT", "SASL_MECHANISM": "PLAIN",
        "SASL_USERNAME": user, "SASL_PASSWORD": PASSWORD,
    }  # fmt: skip


def create_topics(broker: Broker, *apps: str) -> None:
    """As an administrator does."""
    settings = KafkaSettings(bootstrap=broker.bootstrap, topic_prefix=PREFIX)
    more = [one for app in apps for one in changelogs(app, settings.partitions)]
    asyncio.run(ensure_topics(settings, more=more))


def user(broker: Broker, name: str, given: Sequence[Acl], folder: Path) -> Installation:
    """What a process under that principal is told, after it was given these ACLs."""
    grant(broker, name, PREFIX, given)
    told = {"BOOTSTRAP": broker.bootstrap_of("SASL"), **login(name)}
    return Installation(broker, PREFIX, folder / name, **told)


@pytest.fixture(scope="module")
def running(guarded: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A worker under its own principal, which has read what `produce` has sent under its own."""
    folder = tmp_path_factory.mktemp("acls")
    create_topics(guarded, "turnfold")
    grant(guarded, "worker", PREFIX, acls.worker())
    told = {"BOOTSTRAP": guarded.bootstrap_of("SASL"), **login("worker")}
    with installed(guarded, PREFIX, folder / "worker", **told) as made:
        lines = folder / "lines.ndjson"
        lines.write_text(CONVERSATIONS.read_text() + "no record\n")
        assert user(guarded, "produce", acls.PRODUCE, folder).run("kafka", "produce", lines)["sent"]
        admin = Installation(guarded, PREFIX, folder / "admin")
        admin.await_read()
        yield made


def test_worker_and_produce(running: Installation) -> None:
    worker = running.working.workers[-1]
    assert worker.poll() is None
    assert "ACL" not in running.working.log()


def test_sink(running: Installation, guarded: Broker, tmp_path: Path) -> None:
    sink = user(guarded, "sink", acls.SINK, tmp_path)
    assert sink.run("kafka", "sink", "--history", tmp_path / "history", "--once")["rows"] > 0


def test_replay(running: Installation, guarded: Broker, tmp_path: Path) -> None:
    replay = user(guarded, "replay", acls.REPLAY, tmp_path)
    assert replay.run("admin", "dlq", "replay", "--from-topic", "--reason", "bad_json")["sent"] == 1


def test_lag(running: Installation, guarded: Broker, tmp_path: Path) -> None:
    found = user(guarded, "lag", acls.LAG, tmp_path).run("kafka", "lag")
    assert {one["topic"] for one in found if one["group"] == "turnfold"} >= {"turns"}


def test_topics(running: Installation, guarded: Broker, tmp_path: Path) -> None:
    found = user(guarded, "topics", acls.topics(), tmp_path).run("kafka", "topics")
    assert {one["state"] for one in found} == {"ok"}
    assert all(one["name"] == PREFIX + one["topic"] for one in found)


def test_doctor(running: Installation, guarded: Broker, tmp_path: Path) -> None:
    made = user(guarded, "doctor", acls.doctor(), tmp_path)
    done = turnfold("admin", "doctor", "-o", "json", env=made.env)
    found = {one["check"]: one["status"] for one in done.json()["findings"]}
    assert {found.get(name) for name in ("broker", "topics", "memory", "clock")} == {"ok"}, done


def test_a_doctor_with_one_less_says_what_is_missing(
    running: Installation, guarded: Broker, tmp_path: Path
) -> None:
    given = [one for one in acls.doctor() if one.operations != ("Read",)]
    made = user(guarded, "doctor-without", given, tmp_path)
    done = turnfold("admin", "doctor", "-o", "json", env=made.env)
    assert done.code == 2, done
    said = [one["found"] for one in done.json()["findings"] if one["status"] == "wrong"]
    rows = [f"{PREFIX}turnfold-{of}-rows-changelog" for of in ("session", "memory")]
    assert any("Read" in one and any(name in one for name in rows) for one in said), said


def test_serve(running: Installation, guarded: Broker, tmp_path: Path) -> None:
    made = user(guarded, "serve", acls.serve(), tmp_path)
    with serving("--bootstrap", guarded.bootstrap_of("SASL"), env=made.env) as server:
        server.until("/readyz", 200)
        assert server.session("emma-move").status_code == 200
        turn = {"type": "turn", "event_id": "acl-1", "session_id": "acl", "user_id": "u",
                "user_input": "hello", "occurred_at": "2026-03-02T09:00:00Z"}  # fmt: skip
        assert server.endings([turn]) == ["applied"]
        send_marked(KafkaSettings(bootstrap=guarded.bootstrap, topic_prefix=PREFIX), "marked")
        hello = {"role": "user", "content": "hello"}
        said = {"user_id": "u", "session_id": "marked", "messages": [hello]}
        reply = server.client.post("/v1/messages", json=said, headers={"prefer": "wait=60"})
        assert reply.status_code == 200, reply.text
        (turn_said,) = reply.json()["turns"]
        reply = server.client.delete(f"/v1/messages/{turn_said['id']}?session_id=marked")
        assert reply.status_code == 200, reply.text


def test_extract(running: Installation, guarded: Broker, tmp_path: Path) -> None:
    made = user(guarded, "extract", acls.extract(GROUP), tmp_path)
    with Endpoint() as asked:
        counts = json.loads(extract(made, asked).out)
    assert counts["turns"] > 0


def extract(made: Installation, asked: Endpoint) -> Done:
    env = made.env | {"TURNFOLD_LLM_BASE_URL": asked.url, "TURNFOLD_LLM_MODEL": "test"}
    return turnfold(
        "kafka",
        "extract",
        "--bootstrap",
        made.env["TURNFOLD_KAFKA_BOOTSTRAP"],
        "--group",
        GROUP,
        "--once",
        "-o",
        "json",
        env=env,
    )


def test_reset(guarded: Broker, tmp_path: Path) -> None:
    create_topics(guarded, "left")
    reset = user(guarded, "reset", acls.reset("left"), tmp_path)
    assert reset.run("kafka", "reset", "left", "--yes")["topics"]


def test_an_operator_repartitions_and_drops_a_generation(guarded: Broker, tmp_path: Path) -> None:
    """With everything of the prefix, and nothing else; `repartition` sees no other installation."""
    prefix = "operated-"
    grant(guarded, "operator", prefix, acls.ALL)
    told = {"BOOTSTRAP": guarded.bootstrap_of("SASL"), **login("operator")}
    with installed(guarded, prefix, tmp_path / "operator", **told) as made:
        made.run("kafka", "produce", CONVERSATIONS)
        made.await_read()
        beside = made.working.start("--generation", "next", env=made.env)
        made.working.await_ready()
        for worker in made.working.workers:
            worker.send_signal(signal.SIGINT)
            assert worker.wait(WITHIN) == 0
        removed = made.run("kafka", "reset", "turnfold", "--generation", "next", "--yes")
        assert beside.returncode == 0
        assert {one["name"] for one in removed["groups"]} == {"turnfold.next"}
        assert "sessions.next" in {one["name"] for one in removed["topics"]}
        made.run("kafka", "sink", "--history", tmp_path / "history", "--once")
        done = turnfold("kafka", "repartition", "--yes", "--to", "6", env=made.env)
        assert done.code == 0, done.err
        topics = made.run("kafka", "topics", "--partitions", "6")
        assert {one["state"] for one in topics} == {"ok"}
        made.working.start("--partitions", "6", env=made.env)
        made.working.await_log(": restored ", times=12)


# --- with one less ------------------------------------------------------------------------------

COMMANDS: dict[str, tuple[Sequence[Acl], tuple[str, str, str], list[str]]] = {
    # by user: what a process needs, which of it is missing, the command
    "worker": (acls.worker("another"), ("transactional id", "another-*", "Write"),
               ["kafka", "worker", "--app-id", "another"]),
    "sink": (acls.SINK, ("group", "sink", "Read"),
             ["kafka", "sink", "--history", "{folder}/h", "--once"]),
    "produce": (acls.PRODUCE, ("topic", "turns", "Write"),
                ["kafka", "produce", str(CONVERSATIONS)]),
    "replay": (acls.REPLAY, ("topic", "dead-letters", "Read"),
               ["admin", "dlq", "replay", "--from-topic"]),
    "lag": (acls.LAG, ("group", "*", "Describe"), ["kafka", "lag", "--group", "turnfold"]),
    "extract": (acls.extract("another"), ("group", "another", "Read"),
                ["kafka", "extract", "--bootstrap", "{bootstrap}", "--group", "another", "--once",
                 "--model", "m", "--base-url", "http://127.0.0.1:1/v1"]),
    "topics": (acls.topics(), ("topic", "moods", "DescribeConfigs"), ["kafka", "topics"]),
    "reset": (acls.reset("kept"), ("topic", "kept-session-rows-changelog", "Delete"),
              ["kafka", "reset", "kept", "--yes"]),
    "serve": (acls.serve(), ("topic", "turnfold-memory-rows-changelog", "Read"),
              ["serve", "--port", "0"]),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_with_one_less_it_ends_and_names_operation_and_resource(
    name: str, running: Installation, guarded: Broker, tmp_path: Path
) -> None:
    create_topics(guarded, "another", "kept")
    needed, (resource, named, operation), command = COMMANDS[name]
    left = without(needed, resource, named, operation)
    assert all((one.resource, one.names) != (resource, (named,)) or operation not in one.operations
               for one in left)  # fmt: skip
    made = user(guarded, f"{name}-without", left, tmp_path)
    given = {"folder": tmp_path, "bootstrap": made.env["TURNFOLD_KAFKA_BOOTSTRAP"]}
    done = turnfold(*[part.format(**given) for part in command], env=made.env, timeout=90)
    assert done.code == 3, done.err[-3000:]
    kind = "consumer group" if resource == "group" else resource
    assert f"{operation} on {kind} {PREFIX}{named.removesuffix('*')}" in done.err, done.err[-3000:]
    assert "missing ACL" in done.err


def test_who_may_not_create_is_told_what_to_create(guarded: Broker, tmp_path: Path) -> None:
    env = user(guarded, "lag-without", [], tmp_path).env
    done = turnfold("kafka", "worker", "--topic-prefix", "nobody-made-", env=env)
    assert done.code == 3
    for name in ("turns", "history", "turnfold-session-rows-changelog"):
        assert f"nobody-made-{name} (4 partitions)" in done.err
    assert "Create" in done.err and "turnfold kafka topics --commands" in done.err
