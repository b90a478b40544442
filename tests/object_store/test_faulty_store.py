"""The store that fails does each of its faults, whatever it is asked."""

import random
from collections import Counter

from tests.object_store.faulty_store import FAULTS, TORN, often

ENOUGH = 12 * 2 * (len(FAULTS) + 1)
"""Requests at one in twelve."""


def test_each_fault_occurs_whatever_the_order_of_the_requests() -> None:
    """A torn upload only where something is uploaded."""
    for seed in range(200):
        dice, plan = random.Random(-seed), often(1 / 12, seed)
        bodies = [b"" if dice.random() < seed / 210 else b"rows" for _ in range(ENOUGH)]
        bodies.append(b"rows")
        faults = [plan("PUT" if body else "GET", "/bucket/name", body) for body in bodies]
        assert set(faults) == {"none", *FAULTS}, seed
        torn = {body for body, fault in zip(bodies, faults, strict=True) if fault == TORN}
        assert torn == {b"rows"}, seed


def test_the_share_is_as_asked_and_the_kinds_are_equally_many() -> None:
    plan = often(1 / 12)
    counts = Counter(plan("PUT", "/bucket/name", b"rows") for _ in range(72_000))
    assert all(900 < counts[fault] < 1_100 for fault in FAULTS), counts
