"""Tenants take turns: nobody's items are lost or change their order, and one who is new waits for
few of another's."""

from collections import defaultdict
from random import Random
from threading import Thread

import pytest

from streams.serving.backends.turns import TenantTurns
from tests.waiting import WITHIN

Item = tuple[str, int, float]
"""A tenant, the number of its item, and what it costs."""


def turns() -> TenantTurns[Item]:
    return TenantTurns(lambda item: item[2])


@pytest.mark.parametrize("seed", range(50))
def test_nothing_is_lost_and_each_tenants_items_keep_their_order(seed: int) -> None:
    chance = Random(seed)
    queue, put, taken = (
        turns(),
        defaultdict[str, list[Item]](list),
        defaultdict[str, list[Item]](list),
    )
    for number in range(200):
        tenant = chance.choice("abc")
        act = chance.random()
        if act < 0.5:
            item = (tenant, number, chance.choice([0.0, 1.0, 50.0]))
            queue.put(tenant, item)
            put[tenant].append(item)
        elif act < 0.6 and put[tenant]:
            item = chance.choice(put[tenant])
            if queue.withdraw(tenant, item):
                put[tenant].remove(item)
            else:
                assert item in taken[tenant]
        elif (next_one := queue.take(wait=False)) is not None:
            taken[next_one[0]].append(next_one)
    queue.end()
    while (next_one := queue.take(wait=True)) is not None:
        taken[next_one[0]].append(next_one)
    assert put == {tenant: items for tenant, items in taken.items() if items or tenant in put}


def test_who_is_new_waits_for_one_of_another() -> None:
    queue = turns()
    for number in range(1_000):
        queue.put("a", ("a", number, 100.0))
    queue.take(wait=False)
    queue.put("b", ("b", 0, 1.0))
    taken = [queue.take(wait=False) for _ in range(2)]
    assert ("b", 0, 1.0) in taken


def test_what_they_have_had_is_equal_however_large_their_items_are() -> None:
    queue, had = turns(), defaultdict[str, float](float)
    for number in range(10_000):
        queue.put("large", ("large", number, 100.0))
        queue.put("small", ("small", number, 1.0))
    for _ in range(2_020):
        item = queue.take(wait=False)
        assert item is not None
        had[item[0]] += item[2]
    assert abs(had["large"] - had["small"]) <= 100


def test_a_thread_waits_for_an_item_or_for_the_end() -> None:
    queue, taken = turns(), list[Item | None]()

    def take() -> None:
        taken.extend(queue.take(wait=True) for _ in range(2))

    thread = Thread(target=take)
    thread.start()
    queue.put("a", ("a", 1, 1.0))
    queue.end()
    thread.join(WITHIN)
    assert taken == [("a", 1, 1.0), None]
