"""What a worker's group is told of the offsets, though a request fails or is cut off."""

import asyncio
from collections.abc import Mapping

import pytest
from aiokafka.structs import TopicPartition

from streams.kafka.transport import consumer as module
from streams.kafka.transport.consumer import Consumer

AT = TopicPartition("turns", 0)


class Group:
    """Takes offsets after so many refusals; `hangs` once before. `assigned`: the member's
    partitions."""

    def __init__(self, refusals: int, hangs: bool = False) -> None:
        self.refusals, self.hangs = refusals, hangs
        self.offsets: dict[TopicPartition, int] = {}
        self.assigned = {AT}

    def assignment(self) -> set[TopicPartition]:
        return self.assigned

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> bool:
        if self.hangs:
            self.hangs = False
            await asyncio.sleep(60)
        self.refusals -= 1
        if self.refusals >= 0:
            return False
        self.offsets.update(offsets)
        return True


def worker(group: Group, offset: int) -> Consumer:
    made = Consumer.__new__(Consumer)
    made._unreported, made.source = {AT: offset}, group  # type: ignore[assignment]
    made.kafka = group  # type: ignore[assignment]
    return made


def test_offsets_of_a_request_that_is_cut_off_are_told_at_the_end() -> None:
    async def run() -> dict[TopicPartition, int]:
        group = Group(0, hangs=True)
        ends = worker(group, 7)
        telling = asyncio.create_task(ends.report_offsets())
        await asyncio.sleep(0)
        telling.cancel()
        await asyncio.wait({telling})
        await ends._report_last_offsets()
        return group.offsets

    assert asyncio.run(run()) == {AT: 7}


@pytest.mark.parametrize("refusals", [1, 2])
def test_offsets_that_a_group_refuses_for_a_moment_are_told_again(
    refusals: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "OFFSETS_EVERY", 0.0)
    group = Group(refusals)
    asyncio.run(worker(group, 7)._report_last_offsets())
    assert group.offsets == {AT: 7}


def test_offsets_that_were_refused_are_not_told_once_another_member_has_the_partition() -> None:
    """It may have committed later ones, and the group takes whatever a member says."""

    async def run() -> dict[TopicPartition, int]:
        group = Group(1)
        loses = worker(group, 20)
        await loses.report_offsets()
        group.assigned = set()
        await loses.report_offsets()
        group.assigned = {AT}  # it comes back: the other's offset stands
        await loses.report_offsets()
        return group.offsets

    assert asyncio.run(run()) == {}
