"""Rows on disk: a store closed and opened again at any point goes on as if nothing had been."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.events import RECORD_TYPES
from streams.files.database import BLOCK_CACHE
from streams.files.fold_batch import Applier
from streams.files.store import Store
from streams.folds.constants import Rules
from streams.pipeline.interfaces import StoreError
from tests.property.strategies import events, write_plans
from tests.property.test_guarantee_2_rules import final
from tests.property.world import Json, World, fact, plan, turn, world


def reopened(path: Path, records: list[Json]) -> World:
    """The records one by one, each followed by a commit and a store that has cached nothing."""
    made = World(Store(path))
    for record in records:
        made.say(record)
        made.documents()
        made.store.commit({})
        made.store.close()
        made.store = Store(path)
        made.applier = Applier(made.store, Rules())
    return made


@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_rows_survive_the_disk_at_any_point(data: st.DataObject) -> None:
    records = data.draw(events()) + data.draw(write_plans(most=3))
    records = data.draw(st.permutations(records))
    plans = [one for one in records if one["type"] == "write_plan"]
    records = [one for one in records if one not in plans] + plans
    with TemporaryDirectory() as folder:
        made = reopened(Path(folder), records)
        once = world(*records)
        assert made.rows == once.rows
        for table, tenant, key in once.store.entities:
            stored, kept = (one.rows_of(table, key, tenant) for one in (made, once))
            assert dict(stored.scan("")) == dict(kept.scan(""))
        assert final(made, once.store.entities) == final(once)
        made.store.close()


def test_rows_that_cannot_be_read_are_no_missing_rows(tmp_path: Path) -> None:
    made = World(Store(tmp_path))
    made.say(*(turn(f"e{n}", n, session_id=f"s{n}", user_id="u1") for n in range(300)))
    made.store.commit({})
    made.store._db.flush()
    made.store.close()
    files = list(tmp_path.glob("*.sst"))
    assert files
    for file in files:
        content = bytearray(file.read_bytes())
        content[3000:-3000] = bytes(len(content) - 6000)  # all but the first block and the index
        file.write_bytes(content)
    made = World(Store(tmp_path))
    with pytest.raises(StoreError, match="cannot be read"):
        made.say(*(turn(f"f{n}", n, session_id=f"s{n}", user_id="u1") for n in range(300)))
    assert not made.rows["dead_letters"]
    made.store.close()


def test_every_kind_of_record_is_drawn() -> None:
    """The strategies above would prove little if one of them drew nothing."""
    drawn: set[str] = set()

    @settings(max_examples=60, database=None, derandomize=True)
    @given(events(), write_plans())
    def look(said: list[Json], plans: list[Json]) -> None:
        drawn.update(one["type"] for one in (*said, *plans))

    look()
    assert drawn == set(RECORD_TYPES)


@pytest.mark.parametrize(
    "record",
    [
        plan("p1", 0, fact("f1", "big", payload={"n": 2**70})),
        turn("e1", 0, artifacts_metadata={"n": 2**70}),
        turn("e1", 0, summary={"content": "", "n": 2**70}),
    ],
    ids=["payload", "artifacts_metadata", "summary"],
)
def test_a_large_integer_does_not_stop_the_stream(tmp_path: Path, record: Json) -> None:
    made = World(Store(tmp_path / "store"))
    assert made.say(record) in (["applied"], ["dead"])
    made.store.commit({})


def test_a_store_that_exists_is_read_as_one_that_is_new(tmp_path: Path) -> None:
    """rocksdict would open it with an index in one piece and a cache too small to hold that."""
    for _ in range(2):
        Store(tmp_path).close()
        log = (tmp_path / "LOG").read_text()
        assert re.findall(r"capacity : (\d+)", log) == [str(BLOCK_CACHE)]
        assert re.findall(r"\bindex_type: (\d)", log) == ["2"]  # two levels
