"""`turnfold kafka topics`: topics that an installation needs, and whether existing ones fit."""

import shlex
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from streams.kafka.agents import agents
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_specs import (
    PARTITIONS,
    Difference,
    ExistingTopic,
    TopicSpec,
    differences,
    spec_of,
)
from streams.kafka.client.topics import check_lengths, look, replicas
from streams.topology import TOPICS

WITHIN = 30.0


class NeededTopic(NamedTuple):
    """A required topic; `existing` is None if it is missing."""

    name: str
    spec: TopicSpec
    existing: ExistingTopic | None
    wrong: list[Difference]
    replicas: int

    @property
    def state(self) -> str:
        """One of missing, wrong, ok."""
        return "missing" if self.existing is None else "wrong" if self.wrong else "ok"

    def commands(self, bootstrap: str) -> Iterator[str]:
        """Commands of Kafka's tools for an administrator that create or fix it."""
        tool = ["--bootstrap-server", bootstrap]
        if self.existing is None:
            settings = self.spec.settings(self.replicas)
            pairs = (("--config", f"{name}={value}") for name, value in settings.items())
            yield shlex.join([
                "kafka-topics.sh", *tool, "--create", "--topic", self.name,
                "--partitions", str(self.spec.partitions),
                "--replication-factor", str(self.replicas), *chain.from_iterable(pairs),
            ])  # fmt: skip
            return
        if any(difference.setting == PARTITIONS for difference in self.wrong):
            yield (
                f"# {self.name} has {self.existing.partitions} partitions, not "
                f"{self.spec.partitions}; no command of Kafka's changes that safely: "
                'docs/operations.md, "Changing the number of partitions"'
            )
        expected = self.spec.settings(self.existing.replicas)
        changes = [
            f"{difference.setting}={expected[difference.setting]}"
            for difference in self.wrong
            if difference.setting != PARTITIONS
        ]
        if changes:
            yield shlex.join([
                "kafka-configs.sh", *tool, "--alter", "--topic", self.name,
                "--add-config", ",".join(changes),
            ])  # fmt: skip


def specs_of(settings: KafkaSettings, app_id: str, generation: str | None) -> list[TopicSpec]:
    """Topics of the topology, of an app id and of a generation."""
    group = f"{app_id}.{generation}" if generation else app_id
    return [
        *(spec_of(topic, settings.partitions) for topic in TOPICS),
        *agents.changelogs(group, settings.partitions),
        *agents.own_specs(generation, settings.partitions),
    ]


async def topics(settings: KafkaSettings, app_id: str, generation: str | None) -> list[NeededTopic]:
    """All required topics. Raises as `connected`, and ConfigurationError if topic settings cannot
    be read."""
    specs = specs_of(settings, app_id, generation)
    async with connected(settings, WITHIN) as admin:
        check_lengths(admin, specs)
        present = set(await admin.list_topics())
        existing = await look(admin, [spec for spec in specs if spec.name in present])
        copies = await replicas(admin, settings.replication)
    return [
        NeededTopic(
            settings.on_broker(spec.name),
            spec,
            there := existing.get(spec.name),
            [] if there is None else list(differences(spec, there)),
            copies,
        )
        for spec in specs
    ]
