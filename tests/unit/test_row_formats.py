"""Rows of an older format: what becomes of each, in steps that may end anywhere."""

from pathlib import Path

import msgspec
import pytest

from streams.errors import ConfigurationError
from streams.kafka.transport import marker
from streams.kafka.transport.disk_rows import DiskRows
from streams.kafka.transport.marker import Marker, TablePosition
from streams.kafka.transport.rows import MemoryRows
from streams.pipeline import row_formats
from streams.pipeline.entity import COLD, Entity, pack_cold
from streams.pipeline.row_formats import Reached, upgrade, upgraded
from tests.next_format import NEXT, TODAY, register

encode = msgspec.msgpack.encode

PREFERENCE = ["id", "food", "like", "ramen", "confirmed", 0.9, None, ["e1"], 1, 1]


@pytest.fixture(autouse=True)
def next_version(monkeypatch: pytest.MonkeyPatch) -> None:
    register(monkeypatch)


def stored(count: int) -> MemoryRows:
    """So many users with a preference, each with rows that stay as they are."""
    rows = MemoryRows()
    for number in range(count):
        where = f"u\0default\0user-{number}\0".encode()
        rows.put([(where + b"p/id", encode(PREFERENCE)), (where + b"u", encode([number, 0, 0]))])
        rows.put([(f"s\0default\0p/{number}\0h".encode(), encode([1]))])
    return rows


def everything(rows: MemoryRows) -> dict[bytes, dict[str, bytes]]:
    return {where: rows.read(where) for where in rows.keys(b"")}


def finish(rows: MemoryRows, reached: Reached, steps: int | None = None) -> Reached:
    """Upgrades, for so many steps at most; where it stands then."""
    for number, step in enumerate(upgrade(reached, rows.keys, rows.read)):
        if number == steps:
            break
        rows.put(step.rows)
        reached = step.reached
    return reached


@pytest.mark.parametrize("compressed", [False, True])
def test_the_rows_of_one_that_is_cold_are_upgraded_too(
    compressed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def longer(table: str, rows: row_formats.Rows) -> row_formats.Changed:
        return {"h": rows["h"] + b"!", "gone": None}

    monkeypatch.setitem(row_formats.MIGRATIONS, TODAY, longer)
    packed = encode({"h": b"head", "gone": b"x", "kept": b"y"})
    cold = pack_cold(packed) if compressed else packed
    made = row_formats.upgraded("sessions", {COLD: cold}, TODAY)
    assert list(made) == [COLD]
    assert (made[COLD][0] == 0x78) == compressed
    entity = Entity("sessions", "default", "s", made)
    assert {name: entity._rows[name] for name in entity.names("")} == {"h": b"head!", "kept": b"y"}


@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_ended_after_any_step_the_next_one_goes_on(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_formats, "ENTITIES", size)
    whole = stored(7)
    before = everything(whole)
    assert finish(whole, Reached(TODAY)) == Reached(NEXT)
    assert everything(whole) != before
    for steps in range(15):
        torn = stored(7)
        reached = finish(torn, Reached(TODAY), steps)
        assert reached.is_current == (steps > 14 // size)
        for where, rows in everything(torn).items():  # who only reads sees the same at any time
            table = row_formats.TABLE_OF[where[:1]]
            assert upgraded(table, rows, reached.of(where)) == everything(whole)[where]
        assert finish(torn, reached) == Reached(NEXT)
        assert everything(torn) == everything(whole)


def test_formats_are_passed_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def noted(format: int) -> row_formats.Migration:
        def migrate(table: str, rows: row_formats.Rows) -> row_formats.Changed:
            (value,) = rows.values()
            return {"u": value + str(format).encode()}

        return migrate

    monkeypatch.setattr(row_formats, "MIGRATIONS", {n: noted(n) for n in (0, 1)})
    monkeypatch.setattr(row_formats, "ENTITIES", 1)
    rows = MemoryRows()
    rows.put((f"u\0default\0{name}\0u".encode(), b"") for name in "abc")
    reached = finish(rows, Reached(0), 2)
    assert reached == Reached(1, "u\0default\0b")
    assert [reached.of(where) for where in rows.keys(b"")] == [1, 1, 0]
    assert finish(rows, reached).is_current
    assert {row for one in everything(rows).values() for row in one.values()} == {b"01"}


def test_a_marker_says_how_far_its_rows_are() -> None:
    for reached in (Reached(TODAY), Reached(NEXT), Reached(NEXT, "u\0default\0anna")):
        made = Marker({"turns": 3}, {}, "log", 4, reached)
        assert marker.decode(made.encode()) == made


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ('{"format": 3', "have format 3, this version reads 1 to 2: a newer version has written "),
        ('{"format": 3, "after": "u"', "a newer version has written them; use that version"),
        ('{"format": 0', "have format 0, this version reads 1 to 2; fold the topics again"),
        ('{"format": 1, "after": "u"', "have format 1, this version reads 1 to 2; fold"),
    ],
)
def test_rows_of_other_formats_are_refused_with_what_to_do(kept: str, said: str) -> None:
    value = f'{kept}, "offsets": {{}}, "note": {{}}, "partitions": 4}}'
    with pytest.raises(ConfigurationError) as refused:
        marker.decode(value.encode())
    assert said in str(refused.value)


def test_memory_and_rocksdb_have_keys_in_one_order(tmp_path: Path) -> None:
    names = ["a", "ab", "a b", "b", "B", "é", "a\x1f", "~"]
    kept = [(f"{table}\0{tenant}\0{name}\0u".encode(), b"x")
            for table in "su" for tenant in ("t", "t-2") for name in names]  # fmt: skip
    memory, disk = MemoryRows(), DiskRows(tmp_path / "lane")
    for rows in (memory, disk):
        rows.open()
        rows.put(kept)
        rows.commit(TablePosition())
    memory.put([(b"s\0t\0gone\0u", b"x"), (b"s\0t\0gone\0u", None)])
    every = list(memory.keys(b""))
    assert every == list(disk.keys(b"")) == sorted({key.rpartition(b"\0")[0] for key, _ in kept})
    for after in every:
        rest = every[every.index(after) + 1 :]
        assert list(memory.keys(after)) == list(disk.keys(after)) == rest
    disk.close()
