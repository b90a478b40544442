"""Every name in a request gets the prefix, and loses it in the answer."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import aiokafka.protocol
from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)
from aiokafka.protocol.admin import DescribeConfigsResponse_v2, ListGroupsResponse_v2
from aiokafka.protocol.fetch import FetchRequest_v4
from aiokafka.protocol.group import JoinGroupRequest_v5, SyncGroupResponse_v3
from aiokafka.protocol.metadata import MetadataResponse_v5
from aiokafka.protocol.struct import Struct
from aiokafka.protocol.types import Array, Schema, String

from streams.kafka.client.name_prefix import MEMBERSHIPS, NAMES, Names, incoming, outgoing

PREFIX = Names("acme.", frozenset(["chat"]))
NO_NAMES = frozenset((
    "batch_index_error_message", "client_host", "client_id", "cluster_id", "config_key",
    "config_name", "config_names", "config_value", "consumer_id", "enabled_mechanisms",
    "entity_name", "entity_type", "error_message", "group_instance_id", "group_protocol", "host",
    "key", "leader_id", "match", "mechanism", "member_id", "message_set", "messages", "metadata",
    "principal", "protocol", "protocol_name", "protocol_type", "rack", "rack_id", "sasl_auth_bytes",
    "state", "user_data", "value",
))  # fmt: skip
"""Texts and bytes of Kafka's protocol that are not what a topic, group or transaction is called."""


def texts(kind: Any, field: str) -> Iterator[str]:
    """The names of all fields of text or bytes."""
    if isinstance(kind, Schema):
        for name, inner in zip(kind.names, kind.fields, strict=True):
            yield from texts(inner, name)
    elif isinstance(kind, Array):
        yield from texts(kind.array_of, field)
    elif isinstance(kind, String) or "Bytes" in getattr(kind, "__name__", type(kind).__name__):
        yield field


def test_every_text_of_the_protocol_is_known_to_be_a_name_or_none() -> None:
    """A newer aiokafka may say something by another field."""
    found = set[str]()
    for module in pkgutil.iter_modules(aiokafka.protocol.__path__):
        content = vars(importlib.import_module(f"aiokafka.protocol.{module.name}"))
        for one in content.values():
            if inspect.isclass(one) and issubclass(one, Struct):
                found.update(texts(vars(one).get("SCHEMA", Schema()), ""))
    assert found - NO_NAMES == NAMES | MEMBERSHIPS


def test_a_request_names_what_is_on_the_broker() -> None:
    asked = FetchRequest_v4(-1, 100, 1, 1024, 1, [("turns", [(0, 5, 1024)])])
    outgoing(asked, PREFIX)
    assert asked.topics == [("acme.turns", [(0, 5, 1024)])]
    assert FetchRequest_v4.decode(asked.encode()).topics == [("acme.turns", [(0, 5, 1024)])]


def test_what_is_another_installation_s_is_not_seen() -> None:
    topics: list[Any] = [(0, name, False, []) for name in ("acme.turns", "turns", "other.turns")]
    answer = MetadataResponse_v5(0, [(1, "h", 1, None)], "cluster", 1, topics)
    incoming(answer, PREFIX)
    assert answer.topics == [(0, "turns", False, [])]
    assert answer.brokers == [(1, "h", 1, None)]
    groups = ListGroupsResponse_v2(0, 0, [("acme.sink", "consumer"), ("sink", "consumer")])
    incoming(groups, PREFIX)
    assert groups.groups == [("sink", "consumer")]


def test_a_topic_of_others_that_is_asked_for_keeps_its_name() -> None:
    asked = FetchRequest_v4(-1, 100, 1, 1024, 1, [("chat", []), ("turns", [])])
    outgoing(asked, PREFIX)
    assert asked.topics == [("chat", []), ("acme.turns", [])]
    topics: list[Any] = [(0, name, False, []) for name in ("acme.turns", "chat", "chats")]
    answer = MetadataResponse_v5(0, [], "cluster", 1, topics)
    incoming(answer, PREFIX)
    assert [one[1] for one in answer.topics] == ["turns", "chat"]


def test_settings_of_a_broker_are_no_topic_s() -> None:
    entry: Any = ("retention.ms", "1", False, 1, False, [])
    resources = [(0, None, 2, "acme.turns", [entry]), (0, None, 4, "1", [entry])]
    answer = DescribeConfigsResponse_v2(0, resources)
    incoming(answer, PREFIX)
    assert [one[3] for one in answer.resources] == ["turns", "1"]


def test_members_tell_each_other_topics_by_their_names_on_the_broker() -> None:
    metadata = ConsumerProtocolMemberMetadata(0, ["turns"], b"more").encode()
    asked = JoinGroupRequest_v5(
        "turnfold", 1, 1, "", "w-1", "consumer", [("range", metadata), ("other", b"")]
    )
    outgoing(asked, PREFIX)
    assert (asked.group, asked.group_instance_id) == ("acme.turnfold", "w-1")
    told = ConsumerProtocolMemberMetadata.decode(asked.group_protocols[0][1])
    assert (told.subscription, told.user_data) == (["acme.turns"], b"more")
    assert asked.group_protocols[1] == ("other", b"")
    assigned = ConsumerProtocolMemberAssignment(0, [("acme.turns", [1, 2])], b"").encode()
    answer = SyncGroupResponse_v3(0, 0, assigned)
    incoming(answer, PREFIX)
    found = ConsumerProtocolMemberAssignment.decode(answer.member_assignment)
    assert found.assignment == [("turns", [1, 2])]
