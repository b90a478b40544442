"""Tenants take turns by what their records take of the processor: nobody's items are lost or change
their order, and one who is new waits for few of another's."""

from collections import defaultdict
from random import Random
from threading import Thread

import pytest

from streams.serving.backends.tenant_turns import ALONE, LATELY, MOST_ACCOUNTS, UNKNOWN, TenantTurns
from tests.waiting import WITHIN

Item = tuple[str, int]
"""A tenant, and the number of its item."""


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def turns() -> TenantTurns[Item]:
    return TenantTurns(Clock())


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
        if act < 0.4:
            items = [(tenant, number * 10 + at) for at in range(chance.choice([1, 1, 3]))]
            queue.put(tenant, items)
            put[tenant] += items
        elif act < 0.5 and put[tenant]:
            item = chance.choice(put[tenant])
            if queue.withdraw(tenant, [item]):
                put[tenant].remove(item)
            else:
                assert item in taken[tenant]
        elif act < 0.7:
            queue.charge(tenant, 1, chance.choice([0.0, 0.001, 5.0]))
        elif (item_taken := queue.take(wait=False)) is not None:
            taken[item_taken[0]].append(item_taken)
    queue.end()
    while (item_taken := queue.take(wait=True)) is not None:
        taken[item_taken[0]].append(item_taken)
    assert put == {tenant: items for tenant, items in taken.items() if items or tenant in put}


def test_who_is_new_waits_for_one_of_another() -> None:
    queue = turns()
    queue.put("a", [("a", number) for number in range(1_000)])
    queue.take(wait=False)
    queue.charge("a", 1, 100.0)
    queue.put("b", [("b", 0)])
    assert [queue.take(wait=False) for _ in range(2)] == [("b", 0), ("a", 1)]


def test_a_tenant_that_waits_for_each_reply_is_charged_for_what_it_had() -> None:
    """Nothing of it waits between two of its requests, each of which takes 100 times as long."""
    queue, had = turns(), defaultdict[str, float](float)
    queue.put("cheap", [("cheap", number) for number in range(10_000)])
    queue.put("dear", [("dear", 0)])
    for number in range(1_000):
        item = queue.take(wait=False)
        assert item is not None
        seconds = 1.0 if item[0] == "dear" else 0.01
        queue.charge(item[0], 1, seconds)
        had[item[0]] += seconds
        if item[0] == "dear":
            queue.put("dear", [("dear", number)])
    assert abs(had["dear"] - had["cheap"]) <= 1.0 + 0.01


def test_what_they_have_had_is_equal_however_long_their_items_take() -> None:
    queue, had = turns(), defaultdict[str, float](float)
    for tenant in ("large", "small"):
        queue.put(tenant, [(tenant, number) for number in range(5_000)])
    for _ in range(2_020):
        item = queue.take(wait=False)
        assert item is not None
        seconds = 100.0 if item[0] == "large" else 1.0
        queue.charge(item[0], 1, seconds)
        had[item[0]] += seconds
    assert abs(had["large"] - had["small"]) <= 100


def test_what_a_record_takes_rises_at_once_and_falls_with_many() -> None:
    queue = turns()
    assert queue.seconds_of("a") == UNKNOWN
    for _ in range(40):
        queue.charge("a", LATELY, LATELY * 0.0001)
    assert queue.seconds_of("a") == pytest.approx(0.0001, rel=0.1)
    queue.charge("a", 1, 0.0064)
    assert queue.seconds_of("a") == pytest.approx(0.0002, rel=0.1), "one may be by chance"
    queue.charge("a", LATELY, LATELY * 0.01)
    assert queue.seconds_of("a") == 0.01
    queue.charge("a", LATELY, LATELY * 0.0001)
    assert queue.seconds_of("a") > 0.007


def test_a_tenant_is_alone_if_no_other_has_put_anything_for_a_while() -> None:
    clock = Clock()
    queue: TenantTurns[Item] = TenantTurns(clock)
    for tenant in "aba":
        queue.put(tenant, [(tenant, 0)])
        clock.now += ALONE
        assert not queue.is_alone
    clock.now += 1
    queue.put("a", [("a", 1)])
    assert queue.is_alone
    queue.put("b", [("b", 1)])
    assert not queue.is_alone


def test_the_accounts_of_tenants_that_are_gone_are_forgotten() -> None:
    queue = turns()
    queue.put("waits", [("waits", 0)])
    for number in range(3 * MOST_ACCOUNTS):
        queue.charge(f"t{number}", 1, 0.0)
    assert len(queue._accounts) <= MOST_ACCOUNTS
    assert queue.take(wait=False) == ("waits", 0)


def test_a_thread_waits_for_an_item_or_for_the_end() -> None:
    queue, taken = turns(), list[Item | None]()

    def take() -> None:
        taken.extend(queue.take(wait=True) for _ in range(2))

    thread = Thread(target=take)
    thread.start()
    queue.put("a", [("a", 1)])
    queue.end()
    thread.join(WITHIN)
    assert taken == [("a", 1), None]
