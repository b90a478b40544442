"""Edits and deletions by the mappings of docs/mapping.md and examples/mappings: memory is what the
messages that are left say now."""

import json
import re
from pathlib import Path
from random import Random

import pytest

from streams.extractors.registry import named
from streams.mapping.definition import load
from streams.mapping.envelopes import Message
from streams.mapping.mapper import SKIPPED, Mapped, Source
from streams.pipeline.decode import Dead
from tests.building import ROOT
from tests.property.test_guarantee_2_replaced import SAYINGS, holding
from tests.property.test_guarantee_2_rules import OPPOSITE, memory_of, told
from tests.property.world import Json
from tests.unit.test_record_processor import Files


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """The rules compile their patterns at the first turn, which is not a test's own time."""
    told(Files, OPPOSITE)


@pytest.fixture(params=["slack.events", "teams.messages", "discord.gateway"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    page = (ROOT / "docs" / "mapping.md").read_text("utf-8")
    mappings = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    mappings += [one.read_text("utf-8") for one in (ROOT / "examples" / "mappings").iterdir()]
    file = tmp_path / "platform.yaml"
    file.write_text(*[one for one in mappings if request.param in one])
    return Source(request.param, load(file))


class Slack:
    """Its events; an edit and a deletion name the version before."""

    def posted(self, number: int, text: str) -> Json:
        ts = f"{1_750_000_000 + 60 * number}.000100"
        return {"type": "message", "channel": "C1", "ts": ts, "user": "ann", "text": text}

    def edited(self, number: int, old: Json, text: str) -> Json:
        return self.posted(number, text) | {"subtype": "message_changed", "message": {
            "ts": self._now(old)["ts"], "user": "ann", "text": text,
            "edited": {"ts": self.posted(number, "")["ts"]},
        }, "previous_message": self._now(old)}  # fmt: skip

    def deleted(self, number: int, old: Json) -> Json:
        more = {"previous_message": self._now(old), "deleted_ts": self._now(old)["ts"]}
        return self.posted(number, "") | {"subtype": "message_deleted"} | more

    def _now(self, event: Json) -> Json:
        now: Json = event.get("message", event)
        return now


class Teams:
    """Its events; an edit and a deletion name the message alone."""

    def posted(self, number: int, text: str) -> Json:
        return {
            "id": f"{number}", "chatId": "C1", "messageType": "message", "body": {"content": text},
            "from": {"user": {"id": "ann"}}, "createdDateTime": self._at(number),
            "lastEditedDateTime": None, "deletedDateTime": None,
        }  # fmt: skip

    def edited(self, number: int, old: Json, text: str) -> Json:
        return old | {"lastEditedDateTime": self._at(number), "body": {"content": text}}

    def deleted(self, number: int, old: Json) -> Json:
        return old | {"deletedDateTime": self._at(number), "body": {"content": ""}}

    def _at(self, number: int) -> str:
        return f"2025-06-15T15:{number:02}:00Z"


class Discord:
    """Events of its gateway; an edit and a deletion name the message alone. The program between has
    added a deletion's author and time."""

    def posted(self, number: int, text: str) -> Json:
        return self._event(number, "MESSAGE_CREATE", {
            "type": 0, "tts": False, "timestamp": self._at(number), "pinned": False, "nonce": "17",
            "mentions": [], "mention_roles": [], "mention_everyone": False, "flags": 0,
            "member": {"roles": [], "nick": None, "mute": False, "deaf": False},
            "id": f"{1_383_000_000_000_000_000 + number}", "embeds": [], "edited_timestamp": None,
            "content": text, "components": [], "channel_id": "C1", "attachments": [],
            "author": {"username": "ann", "id": "ann", "global_name": "Ann", "avatar": None},
            "guild_id": "G1",
        })  # fmt: skip

    def edited(self, number: int, old: Json, text: str) -> Json:
        changed = {"content": text, "edited_timestamp": self._at(number)}
        return self._event(number, "MESSAGE_UPDATE", old["d"] | changed)

    def deleted(self, number: int, old: Json) -> Json:
        gone = {name: old["d"][name] for name in ("id", "channel_id", "guild_id")}
        added = {"author_id": "ann", "deleted_at": self._at(number)}
        return self._event(number, "MESSAGE_DELETE", gone) | added

    def _event(self, number: int, name: str, said: Json) -> Json:
        return {"op": 0, "s": number, "t": name, "d": said}

    def _at(self, number: int) -> str:
        return f"2025-06-15T15:{number:02}:00.123000+00:00"


Platform = Slack | Teams | Discord
PLATFORMS: dict[str, Platform] = {
    "slack.events": Slack(), "teams.messages": Teams(), "discord.gateway": Discord()
}  # fmt: skip


def events(draw: Random, by: Platform, count: int = 12) -> tuple[list[Json], list[Json]]:
    """Events of some messages, and plain ones of those that are left, at their last times."""
    sent: list[Json] = []
    left: list[tuple[Json, int, str]] = []
    for number in range(count):
        how, text = draw.random(), draw.choice(SAYINGS)
        old = left.pop(draw.randrange(len(left)))[0] if left and how < 0.6 else None
        if old is not None and how < 0.2:
            sent.append(by.deleted(number, old))
            continue
        sent.append(by.posted(number, text) if old is None else by.edited(number, old, text))
        left.append((sent[-1], number, text))
    return sent, [by.posted(number, text) for _, number, text in left]


def memory(source: Source, sent: list[Json]) -> Json:
    running = Files(named("rules"))
    for number, event in enumerate(sent):
        topic = source.topic
        line = source.map(json.dumps(event).encode(), (topic, 0, number), Message(topic)).line
        assert running.give(json.loads(line)).ending == "applied", line
    return memory_of(running.rows("users", "ann"))


@pytest.mark.parametrize("seed", range(12))
def test_memory_is_what_the_messages_that_are_left_say_now(source: Source, seed: int) -> None:
    draw = Random(seed)
    sent, now = events(draw, PLATFORMS[source.topic])
    held = memory(source, sent)
    assert memory(source, draw.sample(sent, len(sent))) == held
    assert holding(held) == holding(memory(source, now))


@pytest.mark.parametrize("source", ["discord.gateway"], indirect=True)
def test_what_discord_sends_besides_is_skipped_or_names_what_it_lacks(source: Source) -> None:
    """A preview of a link is no edit, what a bot says is no user's; a deletion as the gateway sends
    it has no author."""
    discord = Discord()
    posted = discord.posted(1, "I moved to Oslo. https://example.org")
    shown = discord.edited(2, posted, posted["d"]["content"])
    shown["d"]["edited_timestamp"] = None
    bot = discord.posted(3, "Noted.")
    bot["d"]["author"]["bot"] = True
    deleted = discord.deleted(4, posted)
    del deleted["author_id"], deleted["deleted_at"]

    def mapped(event: Json) -> Mapped:
        return source.map(json.dumps(event).encode(), (source.topic, 0, 0), Message(source.topic))

    assert mapped(posted).line
    for event in (shown, bot, {"op": 0, "s": 5, "t": "TYPING_START", "d": {"user_id": "ann"}}):
        assert mapped(event) is SKIPPED
    dead = mapped(deleted).found
    assert isinstance(dead, Dead) and "user_id" in dead.detail
