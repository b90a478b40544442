"""Two installations on one cluster, one of them with a prefix, do not meet."""

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocolMemberMetadata

from sinks.digest import digest
from sinks.history import connect
from streams.broker import Broker
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.tools.repartition_plan import _has_other_inputs
from tests.command import environment, folded, start, turn, turnfold
from tests.kafka.counting import PARTITIONS, read_all
from tests.kafka.installation import Installation, installed
from tests.kafka.mapped_topics import await_ready, create, send
from tests.kafka.working import TOO_LONG
from tests.mapped import foreign, write_mapping
from tests.planned import CONVERSATIONS
from tests.waiting import until

pytestmark = pytest.mark.nightly
PREFIX = "acme.chat-"


@pytest.fixture(scope="module")
def shared() -> Iterator[Broker]:
    """A cluster of its own, of which every topic and group is looked at."""
    with Broker.start(short_lived=True) as started:
        yield started


def names(broker: Broker, without: str = "another.") -> tuple[set[str], set[str]]:
    """All topics and groups of the cluster, by a client without a prefix; without those of the
    other test."""

    async def ask() -> tuple[set[str], set[str]]:
        async with connected(KafkaSettings.plain(broker.bootstrap)) as admin:
            topics = set(await admin.list_topics())
            groups = {name for name, *_ in await admin.list_consumer_groups()}
            topics = {name for name in topics if not name.startswith(("__", without))}
            return topics, {name for name in groups if not name.startswith(without)}

    return asyncio.run(ask())


def subscribed(broker: Broker, group: str) -> set[str]:
    """What the broker takes a group's members to read: offsets of other topics it forgets."""

    async def ask() -> set[str]:
        async with connected(KafkaSettings.plain(broker.bootstrap)) as admin:
            (reply,) = await admin.describe_consumer_groups([group])
            ((_, _, _, _, _, members, *_),) = reply.groups
            told = [ConsumerProtocolMemberMetadata.decode(member[3]) for member in members]
            return {topic for one in told for topic in one.subscription}

    return asyncio.run(ask())


def turns(folder: Path) -> Path:
    """The sample's turns: of one topic, so that all come in the same order each time."""
    file = folder / "turns.ndjson"
    lines = CONVERSATIONS.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if json.loads(line)["type"] == "turn"))
    return file


def test_dev_and_its_parts_have_the_prefix(shared: Broker, tmp_path: Path) -> None:
    prefix = "another.dev-"
    running = start(
        "dev", "--history", tmp_path / "memory", "--http-port", "0",
        "--bootstrap", shared.bootstrap,
        "--topic-prefix", prefix,
    )  # fmt: skip
    try:
        produce = f"turnfold kafka produce FILE.ndjson --bootstrap {shared.bootstrap} "
        lines = iter(running.stderr.readline, b"") if running.stderr else iter(())
        assert any(f"{produce}--topic-prefix {prefix}" in line.decode() for line in lines)
        groups = {f"{prefix}turnfold", f"{prefix}sink"}
        until(lambda: groups <= names(shared, without="nothing")[1])
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=TOO_LONG)
        assert running.returncode == 0
    finally:
        running.kill()
        running.communicate()
    found, _ = names(shared, without="nothing")
    assert f"{prefix}turns" in found and f"{prefix}turnfold-memory-rows-changelog" in found


def test_repartition_leaves_an_installation_with_a_longer_prefix_alone() -> None:
    others = ["eu.turns", "eu.turnfold-session-rows-changelog"]
    ours = ["turns", "turnfold-session-rows-changelog", "old-session-rows-changelog"]
    assert _has_other_inputs(others[1], [*others, *ours])
    assert not any(_has_other_inputs(one, [*others, *ours]) for one in ours)


def test_a_history_is_of_one_installation(shared: Broker, tmp_path: Path) -> None:
    """Offsets of other topics would say that its rows are written."""
    env = [
        environment(TURNFOLD_KAFKA_BOOTSTRAP=shared.bootstrap, TURNFOLD_KAFKA_TOPIC_PREFIX=prefix)
        for prefix in ("another.one-", "another.two-")
    ]
    sink: list[str | Path] = ["kafka", "sink", "--history", tmp_path / "history", "--once"]
    assert turnfold(*sink, env=env[0]).code == 0
    refused = turnfold(*sink, env=env[1])
    assert refused.code == 3
    assert "topic prefix another.one-" in refused.err and "topic prefix another.two-" in refused.err
    replay: list[str | Path] = ["admin", "dlq", "replay", "--history", tmp_path / "history"]
    assert turnfold(*replay, env=env[0]).code == 0
    elsewhere = turnfold(*replay, env=env[1])
    assert elsewhere.code == 3 and "--elsewhere" in elsewhere.err
    assert turnfold(*replay, "--elsewhere", env=env[1]).code == 0


def test_with_a_prefix_all_is_the_same_and_nothing_is_shared(
    shared: Broker, tmp_path: Path
) -> None:
    file = turns(tmp_path)
    with installed(shared, PREFIX, tmp_path / "acme") as acme:
        topics, groups = names(shared)
        assert topics and all(name.startswith(PREFIX) for name in topics)
        assert f"{PREFIX}turnfold-session-rows-changelog" in topics
        assert acme.run("kafka", "produce", file)["topics"].keys() == {"turns"}
        acme.await_read()
        assert subscribed(shared, f"{PREFIX}turnfold") == {
            PREFIX + name for name in ("turns", "recursions", "user-signals", "write-plans")
        }
        sunk = acme.run("kafka", "sink", "--history", acme.folder / "history", "--once")
        assert sunk["rows"] > 0
        topics, groups = names(shared)
        assert groups == {f"{PREFIX}turnfold", f"{PREFIX}sink"}
        assert all(name.startswith(PREFIX) for name in topics)
        with installed(shared, "", tmp_path / "plain") as plain:
            plain.run("kafka", "produce", file)
            plain.await_read()
            others = {one["group"] for one in plain.run("kafka", "lag")}
            assert others == {"turnfold"}
            plain.run("kafka", "sink", "--history", plain.folder / "history", "--once")
        both, _ = names(shared)
        assert {name for name in both if name.startswith(PREFIX)} == topics
        assert {PREFIX + name for name in both if not name.startswith(PREFIX)} == topics
        assert {one["group"] for one in acme.run("kafka", "lag")} == {"turnfold", "sink"}
    folded(file, history=tmp_path / "by-file")
    whole = digest(acme.folder / "history")
    assert whole == digest(plain.folder / "history")
    assert whole["memory"] == digest(tmp_path / "by-file")["memory"]
    with connect(acme.folder / "history") as db:
        topics_said = db.sql("SELECT DISTINCT src_topic FROM events").fetchall()
    assert topics_said == [("turns",)]


def test_a_topic_that_is_mapped_keeps_its_name(shared: Broker, tmp_path: Path) -> None:
    """It is the platform's, and beside an installation's prefix it has none."""
    topic, prefix, lanes = "another.chat.events", "another.three-", 2
    mapping = write_mapping(tmp_path / "chat.yaml", topic)
    installation = Installation(shared, prefix, tmp_path / "mapped")
    working = installation.working
    create(working, topic, lanes)
    records = [turn(f"e{number}", session_id=f"s{number % 3}") for number in range(20)]
    send(working, topic, [(None, foreign(record), ()) for record in records])
    sampled = turnfold("kafka", "map", mapping, "--sample", topic, env=installation.env)
    assert sampled.code == 0 and '"type":"turn"' in sampled.out, sampled.out + sampled.err
    working.start("--mapping", str(mapping), env=installation.env)
    try:
        await_ready(working, 2 * PARTITIONS + lanes)
        until(
            lambda: asyncio.run(read_all(shared.bootstrap, f"{prefix}turns")),
            lambda found: len(found) == len(records),
        )
        read = {one["topic"] for one in installation.run("kafka", "lag")}
        assert read >= {topic, "turns"}, read
        found, _ = names(shared, without="nothing")
        assert f"{prefix}turnfold-mapping-{topic}-changelog" in found
        assert f"{prefix}{topic}" not in found and topic in found
    finally:
        working.stop()


def test_an_installation_s_own_topic_is_not_mapped(shared: Broker, tmp_path: Path) -> None:
    """What a mapping made of it would be read by it, without end. Nothing is made on the broker."""
    mapping = write_mapping(tmp_path / "chat.yaml", "another.four-turns")
    env = Installation(shared, "another.four-", tmp_path / "own").env
    done = turnfold(
        "kafka", "worker", "--bootstrap", shared.bootstrap, "--mapping", mapping, env=env
    )
    assert done.code == 3
    assert "topic another.four-turns is this installation's own: its name begins with" in done.err
    assert "Traceback" not in done.err
    topics, _ = names(shared, without="nothing")
    assert not {name for name in topics if name.startswith("another.four-")}


def test_the_way_out_of_wrong_topics_names_the_prefix(shared: Broker, tmp_path: Path) -> None:
    """Without it the command would be another installation's."""
    prefix = "another.four-"
    installation = Installation(shared, prefix, tmp_path / "few")
    create(installation.working, f"{prefix}turns", 3)
    refused = turnfold("kafka", "worker", env=installation.env)
    assert refused.code == 3, refused.err
    assert f"topic {prefix}turns has 3" in refused.err
    assert f"`turnfold kafka repartition --to 4 --topic-prefix {prefix}`" in refused.err
    told = turnfold("kafka", "topics", "--commands", env=installation.env)
    assert f"# {prefix}turns has 3 partitions, not 4" in told.out
    long = environment(TURNFOLD_KAFKA_BOOTSTRAP=shared.bootstrap)
    refused = turnfold("kafka", "topics", "--topic-prefix", "x" * 231, env=long)
    assert refused.code == 3 and "Kafka allows 249" in refused.err
