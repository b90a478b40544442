"""Records of tenants beyond their quota are folded later: each once, each tenant's in their order.

The decisions of a lane (`Passes`) over logs that a test makes; the lane itself, on a broker, is in
tests/kafka/test_quotas_of_workers.py.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from streams.kafka.agents.user_signal import SET_ASIDE, is_repeated
from streams.kafka.transport.batch_buffer import Chunk, ChunkQueue
from streams.kafka.transport.fair_reading import Passes
from streams.kafka.transport.marker import Marker, decode
from streams.kafka.transport.throttled_tenants import Ahead, SetAside
from streams.quota import Quota

TOPICS = ("turns", "recursions")
HOLE = "nobody"
"""Stands for offsets that no reader sees: control records, what was aborted."""


class Record(NamedTuple):
    topic: str
    offset: int
    timestamp: int
    key: bytes
    serialized_value_size: int = 100


@dataclass
class Standing:
    offsets: dict[str, int]


class Log:
    """Two topics; `visible` says how far each goes by now."""

    def __init__(self, tenants: dict[str, list[str]]) -> None:
        self.records = {
            topic: [
                Record(topic, offset, offset // 10, f"{tenant}/s".encode())
                for offset, tenant in enumerate(some)
            ]
            for topic, some in tenants.items()
        }
        self.visible = dict.fromkeys(TOPICS, 0)
        self.position = dict.fromkeys(TOPICS, 0)

    # --- as the group's consumer has it

    def end(self, topic: Any) -> int:
        return self.visible[topic]

    def unfetched(self, topic: Any) -> int:
        return max(0, self.visible[topic] - self.position[topic])

    def fetch(self, topic: str, most: int) -> Chunk | None:
        """What a fetch gives; the position also passes what nobody sees."""
        start = self.position[topic]
        end = self.position[topic] = min(start + most, self.visible[topic])
        found = [
            one for one in self.records[topic][start:end] if not one.key.startswith(HOLE.encode())
        ]
        return Chunk(topic, 0, found, start, end, 0) if found else None


@dataclass
class Lane:
    """What `Passes` needs of a lane, over a log; `folded` is what a processor was given."""

    log: Log
    set_aside: SetAside | None
    batch: int
    answers: bool = False
    """Whether each marker is compared with what was folded."""
    seconds: dict[str, float] = field(default_factory=dict)
    """CPU seconds that a tenant's record takes; by default none."""
    marker: Marker = field(default_factory=lambda: Marker(dict.fromkeys(TOPICS, 0), {}, "log", 1))
    folded: list[Record] = field(default_factory=list)
    hops: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sources = {topic: topic for topic in TOPICS}
        self.source = self.log
        self.open()

    def open(self) -> None:
        """As after a kill: all that is known is the newest marker."""
        self.gathering = ChunkQueue(self.batch, 1_000_000)
        self.standing = Standing(dict(self.marker.offsets))
        self.passes = Passes(self, self.set_aside)  # type: ignore[arg-type]
        self.go_to(self.passes.begin(self.standing.offsets, self.marker.ahead))

    @property
    def is_idle(self) -> bool:
        return not self.gathering

    def go_to(self, offsets: dict[str, int]) -> None:
        self.gathering.clear()
        self.log.position = dict(offsets)

    def take(self, offsets: dict[str, int], most: int | None = None) -> Any:
        return self.gathering.take(offsets, most)

    def get_on(self, commits: bool) -> None:
        """One turn of the lane's loop: fetches, and writes a batch unless it is killed before."""
        self.passes.turn()
        if not self.gathering:
            for topic in TOPICS:
                chunk = self.log.fetch(topic, 7)
                wanted = None if chunk is None else self.passes.clipped(chunk)
                if wanted is not None:
                    self.gathering.put(wanted)
        if not self.gathering:
            return
        step = self.passes.step()
        if not commits:
            self.open()
            return
        self._check(step.offsets, step.ahead)
        for record in step.messages:
            self.folded.append(record)
            self._hop(record)
            if self.set_aside is not None:
                tenant = record.key.partition(b"/")[0].decode()
                self.set_aside.charge(record, self.seconds.get(tenant, 0.0))
        note = {} if step.ahead is None else step.ahead.to_note()
        self.marker = decode(Marker(step.offsets, note, "log", 1).encode())
        self.standing.offsets = step.offsets
        self.passes.committed(step.ahead)
        if self.answers:
            self._answers()

    def _check(self, offsets: dict[str, int], ahead: Ahead | None) -> None:
        before = self.marker.offsets
        assert all(offsets[topic] >= before[topic] for topic in TOPICS), "no offset goes back"
        if ahead is not None:
            assert all(offsets[topic] <= ahead.offsets[topic] for topic in TOPICS)

    def _hop(self, record: Record) -> None:
        source = f"{record.topic}/0" + (SET_ASIDE if self.passes.again else "")
        assert not is_repeated(source, record.offset, self.hops), "what is new is not repeated"
        self.hops[source] = record.offset

    def _answers(self) -> None:
        """What the marker says of each record is so: a server answers by it."""
        done = set(self.folded)
        for topic in TOPICS:
            for record in self.log.records[topic]:
                tenant = record.key.partition(b"/")[0].decode()
                if tenant != HOLE:
                    has = self.marker.has(topic, record.offset, tenant)
                    assert has == (record in done), (record, self.marker)


tenants = st.lists(
    st.sampled_from(["noisy", "noisy", "noisy", "quiet", "other", HOLE]), min_size=10, max_size=120
)


@settings(max_examples=300, deadline=None)
@given(
    logs=st.fixed_dictionaries(dict.fromkeys(TOPICS, tenants)),
    quota=st.builds(Quota, st.integers(1, 12), st.sampled_from([0, 300])),
    batch=st.integers(1, 40),
    moves=st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 9)), max_size=60
    ),
)
def test_each_record_is_folded_once_and_a_tenants_in_their_order(
    logs: dict[str, list[str]], quota: Quota, batch: int, moves: list[tuple[int, int, int]]
) -> None:
    log = Log(logs)
    lane = Lane(log, SetAside(quota, {"other": Quota()}), batch, answers=True)
    ahead = False
    for turns, recursions, kill in [*moves, *[(1_000, 1_000, 9)] * 2_000]:
        for topic, more in zip(TOPICS, (turns, recursions), strict=True):
            log.visible[topic] = min(log.visible[topic] + more, len(logs[topic]))
        lane.get_on(commits=kill > 1)
        ahead = ahead or lane.marker.ahead is not None
        if len(lane.folded) == sum(name != HOLE for some in logs.values() for name in some):
            break
    event(f"somebody was behind: {ahead}")
    wanted = [one for some in log.records.values() for one in some if one.key != b"nobody/s"]
    assert sorted(lane.folded) == sorted(wanted)
    order: defaultdict[tuple[str, bytes], list[int]] = defaultdict(list)
    for record in lane.folded:
        order[record.topic, record.key].append(record.offset)
    assert all(offsets == sorted(offsets) for offsets in order.values())


def fill(log: Log) -> None:
    log.visible = {topic: len(log.records[topic]) for topic in TOPICS}


@pytest.mark.component
def test_a_tenant_within_its_quota_is_not_behind_others_many() -> None:
    """By count: so many records of the noisy tenant are folded before the last of the log."""
    many = {"turns": [*["noisy"] * 20_000, "quiet"], "recursions": []}
    before = {}
    for quota in (0, 100):
        log = Log(many)
        lane = Lane(log, SetAside(Quota(quota), {}), 4_000)
        fill(log)
        while not any(one.key == b"quiet/s" for one in lane.folded):
            lane.get_on(commits=True)
        before[quota] = sum(one.key == b"noisy/s" for one in lane.folded)
    # 200 at once, and 100 in each of the two seconds that the log took
    assert before == {0: 20_000, 100: before[100]}
    assert 200 <= before[100] <= 400 + 8 * 500


def test_a_tenant_whose_records_take_long_is_behind() -> None:
    before = {}
    for seconds in (0.0, 0.1):
        log = Log({"turns": [*["noisy"] * 2_000, "quiet"], "recursions": []})
        lane = Lane(log, SetAside(Quota(1_000), {}), 100, seconds={"noisy": seconds})
        fill(log)
        while not any(one.key == b"quiet/s" for one in lane.folded):
            lane.get_on(commits=True)
        before[seconds] = len(lane.folded) - 1
    # one batch, and half of what is folded in between
    assert before[0.0] == 2_000 and 100 <= before[0.1] <= 1_100


def test_who_is_behind_gets_on_though_others_never_rest() -> None:
    """Some of its records are folded after each few batches of the others'."""
    log = Log({"turns": ["noisy"] * 3_000 + ["quiet"] * 60_000, "recursions": []})
    lane = Lane(log, SetAside(Quota(10), {"quiet": Quota()}), 100)
    fill(log)
    while lane.marker.offsets["turns"] < 3_000:
        lane.get_on(commits=True)
    assert sum(one.key == b"quiet/s" for one in lane.folded) < 60_000
    assert sum(one.key == b"noisy/s" for one in lane.folded) == 3_000


def test_a_lane_without_quotas_folds_what_was_set_aside_before() -> None:
    log = Log({"turns": ["noisy"] * 500 + ["quiet"], "recursions": ["noisy"] * 50})
    lane = Lane(log, SetAside(Quota(1), {}), 100)
    fill(log)
    while lane.marker.ahead is None:
        lane.get_on(commits=True)
    lane.set_aside = None
    lane.open()
    for _ in range(1_000):
        lane.get_on(commits=True)
    assert len(lane.folded) == len(set(lane.folded)) == 551
    assert lane.marker.ahead is None
