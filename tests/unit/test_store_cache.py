"""What the store keeps at hand: bounded, whole, and what was longest not used goes first."""

from pathlib import Path

import pytest

from streams.files import store as stores
from streams.files.store import Store
from streams.folds.seen_ids import RUNS
from streams.folds.session_state import HEADER, Session
from streams.pipeline.entity import ENTITY, ROW, Entity, Where

SESSIONS = 100
TEXT = b"said" * 500
TURNS, SAID = RUNS.key("turns"), RUNS.key("text")


class Watched(Store):
    """A store that notes whom it read from disk."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.read: list[bytes] = []

    def _read(self, prefix: bytes) -> dict[str, bytes]:
        self.read.append(prefix)
        return super()._read(prefix)


def where(number: int) -> Where:
    return ("sessions", "default", f"s{number}")


def speak(store: Store, number: int, turn: int) -> None:
    """A turn of a session: its text, and how many it has had."""
    entity = store.entity(*where(number))
    assert entity.get(TURNS) == (b"%d" % turn if turn else None)
    entity.put(SAID, TEXT)
    entity.put(TURNS, b"%d" % (turn + 1))
    store.keep(entity)


def in_turn(store: Store, rounds: int) -> None:
    """All sessions speak, one after the other, again and again; ten to a commit."""
    for turn in range(rounds):
        for number in range(SESSIONS):
            speak(store, number, turn)
            if number % 10 == 9:
                store.commit({})


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> int:
    """A bound that four fifths of the sessions fit."""
    rows = {"i/text": TEXT, "i/turns": b"0"}
    one = stores.PACKED + len(Entity(*where(0), rows).pack())
    monkeypatch.setattr(stores, "CACHE_BYTES", SESSIONS * 4 // 5 * one)
    return stores.CACHE_BYTES


def test_sessions_that_have_room_are_read_once(tmp_path: Path) -> None:
    store = Watched(tmp_path)
    in_turn(store, 10)
    assert len(store.read) == SESSIONS
    store.close()


@pytest.mark.usefixtures("small")
def test_those_go_that_were_longest_not_used(tmp_path: Path) -> None:
    store = Watched(tmp_path)
    in_turn(store, 1)
    store.read.clear()
    for number in reversed(range(SESSIONS)):
        speak(store, number, 1)
    assert len(store.read) == SESSIONS // 5
    store.close()


def test_no_more_is_held_than_the_bound_once_it_is_written(tmp_path: Path, small: int) -> None:
    store = Store(tmp_path)
    in_turn(store, 5)
    held = sum(stores.PACKED + len(packed) for packed in store._packed.values())
    assert 0 < held == store._packed_bytes <= small
    assert not store._used
    store.close()


def test_what_is_not_written_yet_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "CACHE_BYTES", 0)
    store = Store(tmp_path)
    speak(store, 0, 0)
    batch = store.prepare({})
    speak(store, 1, 0)  # while a thread writes
    store.write(batch)
    store.written()
    assert set(store._used) == {where(1)}
    speak(store, 1, 1)
    store.commit({})
    assert not store._used and not store._packed and store._packed_bytes == 0
    speak(store, 0, 1)
    speak(store, 1, 2)
    store.close()


def test_an_entity_is_packed_as_it_is_on_disk(tmp_path: Path) -> None:
    store = Store(tmp_path)
    in_turn(store, 2)
    entity = store.entity(*where(0))
    entity.put(HEADER, Session(seq=7))
    entity.put(RUNS.key("gone"), b"x")
    store.keep(entity)
    entity.put(RUNS.key("never"), b"y")
    entity.rollback()
    entity.delete(TURNS)
    entity.delete(RUNS.key("gone"))
    store.keep(entity)
    store.commit({})
    on_disk = store.committed(*where(0))
    assert on_disk.get(HEADER) == Session(seq=7)
    at_hand = store.entity(*where(0))
    assert at_hand is not entity
    assert list(at_hand.scan("")) == list(on_disk.scan(""))
    assert {name for name, _ in at_hand.scan("")} == {"h", "i/text"}
    store.close()


def test_what_was_erased_is_not_at_hand(tmp_path: Path) -> None:
    store = Store(tmp_path)
    in_turn(store, 1)
    store.erase(*where(0))
    assert list(store.entity(*where(0)).scan("")) == []
    store.close()


def test_a_reader_knows_how_large_an_entity_is(tmp_path: Path) -> None:
    store = Store(tmp_path)
    in_turn(store, 1)
    rows = len(TEXT) + len(b"1")
    assert store.committed(*where(0)).encoded_size() == ENTITY + 2 * ROW + rows
    store.close()
