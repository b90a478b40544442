"""What a worker's group is told of the offsets, though a request fails or is cut off."""

import asyncio
from collections.abc import Mapping

import pytest
from aiokafka.structs import TopicPartition

from streams.kafka.transport import consumer as module
from streams.kafka.transport.consumer import Consumer

AT = TopicPartition("turns", 0)


class Group:
    """Takes offsets after so many refusals; `hangs` once before."""

    def __init__(self, refusals: int, hangs: bool = False) -> None:
        self.refusals, self.hangs = refusals, hangs
        self.offsets: dict[TopicPartition, int] = {}

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
    made._report = asyncio.Lock()
    return made


async def test_offsets_of_a_request_that_is_cut_off_are_told_at_the_end() -> None:
    group = Group(0, hangs=True)
    ends = worker(group, 7)
    telling = asyncio.create_task(ends.report_offsets())
    await asyncio.sleep(0)
    telling.cancel()
    await asyncio.wait({telling})
    await ends._report_last_offsets()
    assert group.offsets == {AT: 7}


@pytest.mark.parametrize("refusals", [1, 2])
def test_offsets_that_a_group_refuses_for_a_moment_are_told_again(
    refusals: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "OFFSETS_EVERY", 0.0)
    group = Group(refusals)
    asyncio.run(worker(group, 7)._report_last_offsets())
    assert group.offsets == {AT: 7}


@pytest.mark.parametrize("is_sending", [False, True], ids=["refused", "being sent"])
async def test_offsets_refused_before_a_rebalance_are_not_told_after_it(is_sending: bool) -> None:
    """Another member may have had the partition meanwhile, and committed later ones: the group
    takes whatever a member says."""
    group = Group(2 - is_sending, hangs=is_sending)
    loses = worker(group, 20)
    telling = asyncio.create_task(loses.report_offsets())
    await asyncio.sleep(0)
    if is_sending:
        asyncio.get_running_loop().call_later(0.01, telling.cancel)
    await loses.end_reports()
    await loses.report_offsets()  # the partition is assigned again
    assert group.offsets == {}
