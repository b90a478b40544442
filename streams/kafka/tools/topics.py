"""`turnfold kafka topics`: the topics an installation needs, and whether existing ones fit."""

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
    Found,
    TopicSpec,
    differences,
    spec_of,
)
from streams.kafka.client.topics import check_lengths, look, replicas
from streams.topology import TOPICS

WITHIN = 30.0


class Needed(NamedTuple):
    """A topic that is needed; `there` is None where it is missing."""

    name: str
    spec: TopicSpec
    there: Found | None
    wrong: list[Difference]
    replicas: int

    @property
    def state(self) -> str:
        """In a word."""
        return "missing" if self.there is None else "wrong" if self.wrong else "ok"

    def commands(self, bootstrap: str) -> Iterator[str]:
        """What an administrator types, with Kafka's own tools, so that it will do."""
        tool = ["--bootstrap-server", bootstrap]
        if self.there is None:
            settings = self.spec.settings(self.replicas)
            pairs = (("--config", f"{name}={value}") for name, value in settings.items())
            yield shlex.join([
                "kafka-topics.sh", *tool, "--create", "--topic", self.name,
                "--partitions", str(self.spec.partitions),
                "--replication-factor", str(self.replicas), *chain.from_iterable(pairs),
            ])  # fmt: skip
            return
        if any(one.setting == PARTITIONS for one in self.wrong):
            yield (
                f"# {self.name} has {self.there.partitions} partitions, not "
                f"{self.spec.partitions}; no command of Kafka's changes that safely: "
                'docs/operations.md, "Changing the number of partitions"'
            )
        wanted = self.spec.settings(self.there.replicas)
        changes = [
            f"{one.setting}={wanted[one.setting]}"
            for one in self.wrong
            if one.setting != PARTITIONS
        ]
        if changes:
            yield shlex.join([
                "kafka-configs.sh", *tool, "--alter", "--topic", self.name,
                "--add-config", ",".join(changes),
            ])  # fmt: skip


def specs_of(settings: KafkaSettings, app_id: str, generation: str | None) -> list[TopicSpec]:
    """The topics of the topology, of an app id and of a generation."""
    group = f"{app_id}.{generation}" if generation else app_id
    return [
        *(spec_of(topic, settings.partitions) for topic in TOPICS),
        *agents.changelogs(group, settings.partitions),
        *agents.own_specs(generation, settings.partitions),
    ]


async def topics(settings: KafkaSettings, app_id: str, generation: str | None) -> list[Needed]:
    """Every topic that is needed. Raises as `connected`, and ConfigurationError where the settings
    of topics may not be read."""
    specs = specs_of(settings, app_id, generation)
    async with connected(settings, WITHIN) as admin:
        check_lengths(admin, specs)
        present = set(await admin.list_topics())
        found = await look(admin, [one for one in specs if one.name in present])
        copies = await replicas(admin, settings.replication)
    return [
        Needed(
            settings.on_broker(one.name),
            one,
            there := found.get(one.name),
            [] if there is None else list(differences(one, there)),
            copies,
        )
        for one in specs
    ]
