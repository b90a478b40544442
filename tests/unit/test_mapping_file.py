"""A mapping file is read strictly: a mistake is named with its line, its path and what to do."""

import asyncio
import time
from pathlib import Path

import pytest

from streams.errors import ConfigurationError, Unreachable
from streams.kafka.agents.mapped_topics import changelogs
from streams.kafka.client.settings import KafkaSettings
from streams.mapping.definition import load
from streams.mapping.mapper import Mapper
from streams.topology import TOPICS
from tests.contract.test_faults_of_files import NEXT_STEP

GOOD = """\
version: 1
sources:
  chat.messages:
    files: ["chat-*.ndjson"]
    records:
      - type: turn
        when: role == 'user'
        fields:
          event_id: id
          session_id: conversation.id
          occurred_at: {from: sent, time: epoch_ms}
"""


def refused(tmp_path: Path, old: str, new: str) -> str:
    """What is said of the good file with one part changed."""
    assert old in GOOD
    file = tmp_path / "chat.yaml"
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(ConfigurationError) as error:
        load(file)
    assert NEXT_STEP.search(str(error.value)), error.value
    return str(error.value).replace(str(file), "FILE")


def test_a_good_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "chat.yaml"
    file.write_text(GOOD)
    (rule,) = load(file).sources["chat.messages"].records
    assert (rule.type, rule.fields["event_id"].from_) == ("turn", "id")


AT = 'sources."chat.messages"'
WRONG = [
    ("version: 1", "version: 2", "line 1: version: Input should be 1"),
    ("version: 1", "", "line 2: version: Field required; docs/mapping.md has an example"),
    ("version: 1", "version: one", "line 1: version: Input should be 1"),
    ("files:", "fles:", f"line 4: {AT}.fles: is not known here"),
    ('files: ["chat-*.ndjson"]', "files: x", f"line 4: {AT}.files: Input should be a valid list"),
    ("role == 'user'", "role ==", f"line 7: {AT}.records[0].when: `role ==` is no JMESPath"),
    ("role == 'user'", "rolle(x)", "JMESPath has no function rolle()"),
    ("role == 'user'", "kind && !a.b", "JMESPath reads !a.b as (!a).b; write !(a.b)"),
    ("role == 'user'", "length(a, b)", "length() takes 1 arguments, not 2"),
    ("type: turn", "type: trun", f"line 6: {AT}.records[0].type: 'trun' is no type; use one of"),
    ("event_id: id", "evnt_id: id", "line 9: "),
    ("event_id: id", "evnt_id: id", "a turn has no such field; docs/records.md lists them"),
    ("event_id: id\n          ", "", "fields: event_id is missing: a turn needs it"),
    ("event_id: id", "event_id: {}", "needs one of `from`, `value` and `message`"),
    ("event_id: id", "event_id: {from: id, value: 1}", "has `from` and `value`; keep one; a"),
    ("event_id: id", "event_id: {value: 1, as: text}", "go with `from`"),
    ("event_id: id", "event_id: {from: id, as: number}", "event_id.as: Input should be 'text'"),
    ("event_id: id", "event_id: {from: id, time: epoch_s}", "`time` is for occurred_at and"),
    ("event_id: id", "event_id: id\n          event_id: other", "line 10: "),
    ("event_id: id", "event_id: id\n          event_id: other", "stands here twice"),
    ("event_id: id", "event_id: 5", "event_id: Input should be"),
    ("epoch_ms", "epoch_days", "time: 'epoch_days' is unknown; use one of rfc3339, epoch_s,"),
    ("epoch_ms", "'%Y-%m-%d %H:%M'", "has no zone; add `zone`, such as Europe/Berlin or UTC"),
    ("time: epoch_ms", "time: '%Y', zone: Mars/One", "'Mars/One' is no zone of the IANA database"),
    ("time: epoch_ms", "zone: UTC", "zone: rfc3339 has its own; remove it"),
    ("epoch_ms", "'%Y %Q', zone: UTC", "is no format that strptime can read"),
    ("chat.messages", "chat messages", "is no name of a topic"),
    ("    records:", "    deletes: map\n    records:", "deletes: is for format debezium only"),
    ("    records:", "    format: avro\n    records:", "format: Input should be"),
    ("    records:", "   records:", "line 5: "),
    ("when: role == 'user'", "when: !!python/name:os.system x", "is not allowed"),
]  # fmt: skip


NEVER = [
    # What no event can make right.
    ("version: 1", "version: true", "line 1: version: Input should be 1"),
    ("when: role == 'user'", "when: yes", "when: yes: write true or false; put the text into"),
    ("event_id: id", "event_id: {value: 7}", "event_id.value: Input should be a valid string"),
    ("event_id: id", "event_id: {value: fixed}", "is the same in every event: an id needs `from`"),
    ("event_id: id", "event_id: {message: topic}", "is the same in every event"),
    ("event_id: id", "event_id: {value: null}", "event_id.value: is nothing: a turn needs"),
    ("conversation.id", "{value: 0123}", "session_id.value: 0123: write the number in plain"),
    ("conversation.id", "{value: 123}", "session_id.value: Input should be a valid string"),
    ("conversation.id", "{from: s, default: 5}", "session_id.default: Input should be a valid"),
    ("{from: sent, time: epoch_ms}", "{value: 2026-01-01}", "occurred_at.value: "),
    ("{from: sent, time: epoch_ms}", "{from: sent, default: noon}", "occurred_at.default: "),
    ("event_id: id", "event_id: id\n          source: {from: s, default: 5}",
     'line 10: sources."chat.messages".records[0].fields.source.default: Input should be'),
    ("event_id: id", "event_id: id\n          source: {value: meta_request}",
     "source.value: says that every such event is to be withheld"),
    ("event_id: id", "event_id: id\n          source: {from: s, default: Meta-Request}",
     "source.default: says that every such event is to be withheld"),
    ("event_id: id", "event_id: id\n          metadata: {value: [1]}", "metadata.value: "),
    ("epoch_ms", "'%H:%M', zone: UTC", "'%H:%M' has no whole date: year, month and day"),
    ("epoch_ms", "'%d.%m. %H:%M', zone: UTC", "has no whole date"),
    ("epoch_ms", "'%Y-%m', zone: UTC", "has no whole date"),
    ("epoch_ms", "'%d.%m.%Q'", "'%d.%m.%Q' is no format that strptime can read"),
    # Fields that are there, but not here.
    ("event_id: id", "event_id: id\n          schema_version: {value: 2}",
     "schema_version: is not mapped: what a mapping makes is always of the newest version"),
    ("event_id: id", "event_id: id\n          type: {value: turn}",
     "fields.type: stands beside `fields`, not in them"),
    ("event_id: id", "event_id: id\n          final_answer: text",
     "final_answer: is an older name, which a mapping does not use; write agent_answer"),
    # What YAML or JMESPath reads otherwise than it was meant.
    ('["chat-*.ndjson"]', "[*.ndjson]", "line 4: expected alphabetic or numeric character, but "
     "found '.'; put the text into quotes: outside them * begins a reference in YAML"),
    ('["chat-*.ndjson"]', "[*all]", "line 4: `*all` is a reference, and none are read; write"),
    ("role == 'user'", "`true`", "cannot start any token; put the text into quotes"),
    ("role == 'user'", "!(deleted)", "is not allowed; put the text into quotes, if it is an"),
    ("role == 'user'", "kind: 'a'", "line 7: mapping values are not allowed here; put the text"),
    ("event_id: id", 'event_id: "sent-at"',
     "a name with other characters has double quotes, and YAML's around them: '\"sent-at\"'"),
    ("role == 'user'", "a\0b", "line 7: holds the character U+0000, which YAML does not allow"),
    ("role == 'user'", "[" * 2000 + "a" + "]" * 2000, "no YAML: RecursionError"),
    ("role == 'user'", "'" + "[" * 2000 + "a" + "]" * 2000 + "'",
     'line 7: sources."chat.messages".records[0].when: `[[[[[[[[[[[[[[[[[[[[…` is nested too deep'),
    ("role == 'user'", "'a[" + "9" * 5000 + "]'", "is no JMESPath expression"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), [*WRONG, *NEVER])
def test_a_wrong_file_is_refused_with_line_and_path(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert said in refused(tmp_path, old, new)


def test_a_rule_that_no_event_reaches_is_refused(tmp_path: Path) -> None:
    rule = GOOD[GOOD.index("      - type") :].replace("        when: role == 'user'\n", "")
    said = refused(tmp_path, "      - type", rule + "      - type")
    assert "records[1]: is never reached: the rule before it has no `when`" in said


@pytest.mark.parametrize("text", ["", "# nothing\n", "a: [", "\x00", "- 1", "text", "&a [*a]"])
def test_what_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "chat.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=r"chat\.yaml"):
        load(file)


def test_a_file_of_references_is_refused_at_once(tmp_path: Path) -> None:
    """Of nine anchors each of which names the one before nine times, a value of 9**9 parts."""
    file = tmp_path / "chat.yaml"
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    file.write_text("\n".join(lines))
    began = time.monotonic()
    with pytest.raises(ConfigurationError, match=r"line 2: `\*a0` is a reference, and none are"):
        load(file)
    assert time.monotonic() - began < 2


NOT_A_PLATFORM_S = [
    *((topic.name, "Turnfold's own") for topic in TOPICS),
    ("turnfold-session-rows-changelog", "a worker's own, a changelog"),
    ("turnfold-mapping-chat.messages-changelog", "a worker's own, a changelog"),
    ("__consumer_offsets", "Kafka itself"),
]


@pytest.mark.parametrize(("topic", "whose"), NOT_A_PLATFORM_S)
def test_a_topic_that_turnfold_writes_is_no_source(tmp_path: Path, topic: str, whose: str) -> None:
    said = refused(tmp_path, "chat.messages", topic)
    assert f"is a topic of {whose}" in said
    assert "line 3: sources." in said


@pytest.mark.parametrize(
    "topic", ["chat", "turns-of-phrase", "my.turns", "changelog", "sessions.created"]
)
def test_other_topics_are_sources(tmp_path: Path, topic: str) -> None:
    file = tmp_path / "chat.yaml"
    file.write_text(GOOD.replace("chat.messages", topic))
    assert list(load(file).sources) == [topic]


def test_a_source_with_the_installation_s_prefix_is_refused_before_a_broker_is_asked(
    tmp_path: Path,
) -> None:
    file = tmp_path / "chat.yaml"
    file.write_text(GOOD.replace("chat.messages", "acme.turns"))
    settings = KafkaSettings.plain("127.0.0.1:9").model_copy(update={"topic_prefix": "acme."})
    with pytest.raises(ConfigurationError, match=r"topic acme\.turns is this installation's own"):
        asyncio.run(changelogs(settings, "turnfold", Mapper(file)))


@pytest.mark.parametrize("topic", [f"{topic.name}.created" for topic in TOPICS])
def test_a_name_that_a_generation_may_have_is_read_by_a_worker_with_a_prefix_alone(
    tmp_path: Path, topic: str
) -> None:
    file = tmp_path / "chat.yaml"
    file.write_text(GOOD.replace("chat.messages", topic))
    settings = KafkaSettings.plain("127.0.0.1:9")
    with pytest.raises(ConfigurationError, match=f"{topic} has a name that a generation's"):
        asyncio.run(changelogs(settings, "turnfold", Mapper(file)))
    prefixed = settings.model_copy(update={"topic_prefix": "acme."})
    with pytest.raises(Unreachable):  # so the broker is asked
        asyncio.run(changelogs(prefixed, "turnfold", Mapper(file)))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        load(tmp_path / "none.yaml")


def test_files_go_to_the_source_whose_pattern_fits(tmp_path: Path) -> None:
    file = tmp_path / "chat.yaml"
    file.write_text(GOOD)
    mapper = Mapper(file)
    assert mapper.for_file("/data/chat-1.ndjson") is mapper.sources["chat.messages"]
    with pytest.raises(ConfigurationError, match=r"no source takes other\.ndjson"):
        mapper.for_file("other.ndjson")


def test_a_mapping_of_one_source_without_patterns_takes_every_file(tmp_path: Path) -> None:
    file = tmp_path / "chat.yaml"
    file.write_text(GOOD.replace('    files: ["chat-*.ndjson"]\n', ""))
    mapper = Mapper(file)
    assert mapper.for_file("anything") is mapper.sources["chat.messages"]
