"""Memory made anew from the topics, beside the live one: workers and a sink of a generation."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from sinks.digest import digest
from streams.kafka.client.topic_names import changelog_name, own_topics
from streams.kafka.transport.marker import MARKER_KEY
from streams.kafka.transport.marker import decode as decode_marker
from streams.topology import AGENTS, HISTORY, USER_SIGNALS, WRITE_PLANS
from streams.topology import STATES as STATE_TOPIC
from tests.command import files_holding, folded, rows, turn, turnfold
from tests.kafka.working import TOO_LONG, Working, message
from tests.planned import CONVERSATIONS

SAID = (
    turn("said-1", user_id="ann", user_input="I live in Oslo."),
    turn("said-2", user_id="ann", user_input="I don't live in Oslo any more, I live in Bergen.",
         occurred_at="2026-02-01T00:00:00Z"),
)  # fmt: skip
QUIZ = {
    "type": "signal", "signal_id": "quiz-1", "scope": "user", "user_id": "ann", "topic": "fjords",
    "occurred_at": "2026-02-02T00:00:00Z", "metadata": {"correct_rate": 1.0},
}  # fmt: skip
STATES = "SELECT body_text FROM state_current WHERE owner_id = 'ann' AND kind = 'fact'"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The sample, two turns in which a rule finds something, and a posted signal."""
    file = tmp_path / "log.ndjson"
    said = "".join(json.dumps(one) + "\n" for one in (*SAID, QUIZ))
    file.write_text(CONVERSATIONS.read_text() + said)
    return file


def await_generation(working: Working, name: str, read: int) -> Counter[str]:
    """Until the generation's lanes have read so many records, and all that they cause."""
    deadline = time.monotonic() + TOO_LONG
    changelogs = [changelog_name(f"turnfold.{name}", agent) for agent in AGENTS]
    steady = 0
    before: Counter[str] = Counter()
    while True:
        newest = {
            (topic, one.partition): decode_marker(one.value).note["counts"]
            for topic in changelogs
            for one in working.read(topic)
            if one.key == MARKER_KEY
        }
        counts = sum((Counter(one) for one in newest.values()), Counter())
        steady = steady + 1 if counts == before and counts["read"] >= read else 0
        if steady == 3:
            return counts
        assert time.monotonic() < deadline, f"{counts}\n{working.log()[-3000:]}"
        before = counts
        time.sleep(0.5)


def written(working: Working, history: Path, *more: str) -> None:
    turnfold("kafka", "sink", *working.at, "--history", history, "--once", *more)


@pytest.mark.component
def test_a_generation_is_made_from_the_topics_and_goes_live(
    working: Working, tmp_path: Path, log: Path
) -> None:
    history = tmp_path / "history"
    working.start("--extractor", "rules")
    working.await_ready()
    lines = [line for line in log.read_bytes().split(b"\n") if line.strip()]
    working.send(message(line) for line in lines)
    working.await_done()
    extracted = working.counts()["extracted"]
    assert extracted >= len(SAID)
    plans_sent = len(working.read("write-plans"))
    written(working, history)

    working.start("--generation", "bare", "--extractor", "none", "--instance", "bare")
    bare = await_generation(working, "bare", len(lines) + extracted)
    assert bare["left_out"] == extracted
    assert "extracted" not in bare
    working.start("--generation", "again", "--extractor", "rules", "--instance", "again")
    again = await_generation(working, "again", len(lines) + 2 * extracted)
    assert again["left_out"] == again["extracted"] == extracted
    assert bare["hops_left_out"] > 0
    for name in ("bare", "again"):
        written(working, history, "--generation", name)

    # each is what the file runner makes of the same log under the same rules
    folded(log, history=tmp_path / "without")
    folded(log, "--extractor", "rules", history=tmp_path / "with")
    assert digest(history / "generations/bare")["memory"] == digest(tmp_path / "without")["memory"]
    assert digest(history / "generations/again")["memory"] == digest(tmp_path / "with")["memory"]

    # the live memory has seen nothing of it
    assert len(working.read("write-plans")) == plans_sent
    assert digest(history)["memory"] == digest(tmp_path / "with")["memory"]
    own = dict(own_topics("again"))
    for topic in (STATE_TOPIC, HISTORY, USER_SIGNALS, WRITE_PLANS):
        assert working.read(own[topic])

    assert [text for (text,) in rows(history, STATES)] == ["Lives in Bergen."]
    turnfold("generation", "promote", "--history", history, "bare")
    assert rows(history, STATES) == []
    written(working, history)  # the live sink goes on in its own tables
    turnfold("generation", "rollback", "--history", history)
    assert [text for (text,) in rows(history, STATES)] == ["Lives in Bergen."]

    turnfold("generation", "promote", "--history", history, "again")
    done = turnfold("forget", "ann", "--history", history, "--yes", "-o", "json")
    assert done.code == 0, done.err
    for folder in (history, *(history / "generations").iterdir()):
        assert files_holding(folder, "Oslo") == []
        assert files_holding(folder, "fjords") == []


def test_a_generation_is_no_word_for_another(tmp_path: Path) -> None:
    for name in ("root", "live", "previous"):
        for words in (("kafka", "worker"), ("kafka", "sink", "--history", tmp_path / "h")):
            done = turnfold(*words, "--bootstrap", "127.0.0.1:1", "--generation", name)
            assert done.code in (2, 3)
            assert "reserved; choose another name" in done.err
    assert not (tmp_path / "h").exists()
