"""Rows of an older format: what becomes of each, in steps that may end anywhere."""

from pathlib import Path

import msgspec
import pytest

from streams.errors import ConfigurationError
from streams.folds import ends
from streams.folds.preferences import Preference
from streams.kafka.transport import marker
from streams.kafka.transport.disk_rows import DiskRows
from streams.kafka.transport.marker import Marker, Standing
from streams.kafka.transport.rows import MemoryRows
from streams.pipeline import row_formats
from streams.pipeline.entity import COLD, Entity, pack_cold
from streams.pipeline.row_formats import OLDEST, ROW_FORMAT, Reached, upgrade, upgraded

encode, decode = msgspec.msgpack.encode, msgspec.msgpack.decode

OLD = ["id", "food", "like", "ramen", "confirmed", 0.9, None, ["e1"], 1_700_000_000_000_000]
"""A preference as commits of format 4 wrote it, before it said when it was said last."""


def stored(count: int) -> MemoryRows:
    """So many users with an old preference, each with rows that stay as they are."""
    rows = MemoryRows()
    for number in range(count):
        where = f"u\0default\0user-{number}\0".encode()
        rows.put([(where + b"p/id", encode(OLD)), (where + b"u", encode([number, 0, 0]))])
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


def test_a_preference_says_when_it_was_said_last() -> None:
    made = upgraded("users", {"p/id": encode(OLD), "u": b"\x90"}, 4)
    row = msgspec.msgpack.decode(made["p/id"], type=Preference)
    assert row.said_at == row.updated_at == OLD[-1]
    assert made["u"] == b"\x90"
    told = encode([*OLD, 5])
    assert upgraded("users", {"p/id": told}, 4) == {"p/id": told}
    assert upgraded("sessions", {"p/id": b"\x90"}, 4) == {"p/id": b"\x90"}


def test_without_its_upgrade_whatever_ended_before_would_revoke_it() -> None:
    """The reason for format 5: the field's default was 1970."""
    before = msgspec.msgpack.decode(encode(OLD), type=Preference)
    after = msgspec.msgpack.decode(
        upgraded("users", {"p/id": encode(OLD)}, 4)["p/id"], type=Preference
    )
    earlier = ends.End(before.updated_at - 1, "p", 0, "", "", "", ())
    assert earlier.at > before.said_at
    assert earlier.at <= after.said_at


@pytest.mark.parametrize("compressed", [False, True])
def test_the_rows_of_one_that_is_cold_are_upgraded_too(
    compressed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def longer(table: str, rows: row_formats.Rows) -> row_formats.Changed:
        return {"h": rows["h"] + b"!", "gone": None}

    monkeypatch.setitem(row_formats.MIGRATIONS, 4, longer)
    packed = encode({"h": b"head", "gone": b"x", "kept": b"y"})
    cold = pack_cold(packed) if compressed else packed
    made = row_formats.upgraded("sessions", {COLD: cold}, 4)
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
    assert finish(whole, Reached(4)) == Reached(ROW_FORMAT)
    assert everything(whole) != before
    for steps in range(32):
        torn = stored(7)
        reached = finish(torn, Reached(4), steps)
        formats = ROW_FORMAT - 4
        assert reached.is_current == (steps >= formats * (14 // size + 1))
        for where, rows in everything(torn).items():  # who only reads sees the same at any time
            table = row_formats.TABLE_OF[where[:1]]
            assert upgraded(table, rows, reached.of(where)) == everything(whole)[where]
        assert finish(torn, reached) == Reached(ROW_FORMAT)
        assert everything(torn) == everything(whole)


def test_formats_are_passed_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def noted(format: int) -> row_formats.Migration:
        def migrate(table: str, rows: row_formats.Rows) -> row_formats.Changed:
            (value,) = rows.values()
            return {"u": value + str(format).encode()}

        return migrate

    monkeypatch.setattr(row_formats, "MIGRATIONS", {n: noted(n) for n in range(3, ROW_FORMAT)})
    monkeypatch.setattr(row_formats, "ENTITIES", 1)
    rows = MemoryRows()
    rows.put((f"u\0default\0{name}\0u".encode(), b"") for name in "abc")
    reached = finish(rows, Reached(3), 2)
    assert reached == Reached(4, "u\0default\0b")
    assert [reached.of(where) for where in rows.keys(b"")] == [4, 4, 3]
    assert finish(rows, reached).is_current
    assert {row for one in everything(rows).values() for row in one.values()} == {b"345"}


def test_a_marker_says_how_far_its_rows_are() -> None:
    for reached in (Reached(), Reached(4), Reached(5, "u\0default\0anna")):
        made = Marker({"turns": 3}, {}, "log", 4, reached)
        assert marker.decode(made.encode()) == made


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ('{"format": 7', "have format 7, this version reads 4 to 6: a newer version has written "),
        ('{"format": 7, "after": "u"', "a newer version has written them; use that version"),
        ('{"format": 3', "have format 3, this version reads 4 to 6; fold the topics anew"),
        ('{"format": 4, "after": "u"', "have format 4, this version reads 4 to 6; fold"),
        ('{"note": {}', "have format 2, this version reads 4 to 6; fold"),
    ],
)
def test_rows_of_other_formats_are_refused_with_what_to_do(kept: str, said: str) -> None:
    assert (OLDEST, ROW_FORMAT) == (4, 6)
    with pytest.raises(ConfigurationError) as refused:
        marker.decode(f'{kept}, "offsets": {{}}, "note": {{}}}}'.encode())
    assert said in str(refused.value)


def test_memory_and_rocksdb_have_keys_in_one_order(tmp_path: Path) -> None:
    names = ["a", "ab", "a b", "b", "B", "é", "a\x1f", "~"]
    kept = [(f"{table}\0{tenant}\0{name}\0u".encode(), b"x")
            for table in "su" for tenant in ("t", "t-2") for name in names]  # fmt: skip
    memory, disk = MemoryRows(), DiskRows(tmp_path / "lane")
    for rows in (memory, disk):
        rows.open()
        rows.put(kept)
        rows.commit(Standing())
    memory.put([(b"s\0t\0gone\0u", b"x"), (b"s\0t\0gone\0u", None)])
    every = list(memory.keys(b""))
    assert every == list(disk.keys(b"")) == sorted({key.rpartition(b"\0")[0] for key, _ in kept})
    for after in every:
        rest = every[every.index(after) + 1 :]
        assert list(memory.keys(after)) == list(disk.keys(after)) == rest
    disk.close()
