"""The log of a served history: what it keeps, what it gives back, and what it lets go."""

import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams.files.inbox import Inbox, NoRoom


def everything(inbox: Inbox, after: int = 0) -> list[tuple[int, bytes]]:
    """Offset and record of all that waits."""
    return [
        (offset, record)
        for group in inbox.read(after)
        for offset, record in enumerate(group.records, group.first)
    ]


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_offsets_go_on_from_file_to_file_and_from_process_to_process(tmp_path: Path) -> None:
    first = Inbox(tmp_path, committed=0)
    assert first.append([b"a", b"b"]).last == 2
    assert first.rotate() == 2
    group = first.append([b"c"])
    assert (group.first, group.last) == (3, 3)
    second = Inbox(tmp_path, committed=1)
    assert everything(second, after=1) == [(2, b"b"), (3, b"c")]
    assert second.append([b"d"]).first == 4
    assert everything(second) == [(1, b"a"), (2, b"b"), (3, b"c"), (4, b"d")]


def test_groups_come_back_as_they_were_taken(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, committed=0)
    given = [inbox.append([b"a", b"b"]), inbox.append([b"c"])]
    found = list(inbox.read(0))
    assert [one.recorded_at for one in found] == sorted({one.recorded_at for one in given})
    assert everything(inbox) == [(1, b"a"), (2, b"b"), (3, b"c")]


def test_what_is_committed_is_removed_but_for_the_file_being_written(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, committed=0)
    inbox.append([b"a"])
    inbox.drop(1)
    assert len(files(tmp_path)) == 1, "it is being written"
    inbox.rotate()
    inbox.append([b"b"])
    inbox.drop(1)
    assert everything(inbox) == [(2, b"b")]
    assert len(files(tmp_path)) == 1
    inbox.rotate()
    inbox.drop(2)
    assert files(tmp_path) == []
    assert Inbox(tmp_path, committed=2).append([b"c"]).first == 3


def test_half_a_line_was_answered_to_nobody(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, committed=0)
    inbox.append([b"a", b"b"])
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    with file.open("ab") as torn:
        torn.write(b"1700000000000000 {half")
    found = Inbox(tmp_path, committed=0)
    assert everything(found) == [(1, b"a"), (2, b"b")]
    assert found.append([b"c"]).first == 3
    assert file.read_bytes() == whole


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    Inbox(tmp_path, committed=0).append([b"a"])
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@contextmanager
def no_room() -> Iterator[None]:
    """No file may grow beyond some bytes."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def test_a_full_disk_takes_nothing_and_loses_nothing(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, committed=0)
    inbox.append([b"a"])
    before = next(tmp_path.iterdir()).read_bytes()
    with no_room(), pytest.raises(NoRoom, match="make room"):
        inbox.append([b"b" * 50, b"c" * 50])
    assert next(tmp_path.iterdir()).read_bytes() == before, "no part of it stays"
    assert inbox.append([b"d"]).first == 2
    assert everything(Inbox(tmp_path, committed=0)) == [(1, b"a"), (2, b"d")]


def test_a_file_that_could_not_be_cut_ends_where_the_next_begins(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, committed=0)
    inbox.append([b"a"])
    inbox.rotate()
    with next(tmp_path.iterdir()).open("ab") as left:
        left.write(b"1 x\n1 y\n1 half")
    inbox.append([b"b"])
    assert everything(Inbox(tmp_path, committed=0)) == [(1, b"a"), (2, b"b")]


def test_guarantee_7_what_cannot_be_committed_does_not_gather_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.files.inbox.MOST_BYTES", 100)
    inbox = Inbox(tmp_path, committed=0)
    inbox.append([b"x" * 60])
    with pytest.raises(NoRoom, match="wait to be committed"):
        inbox.append([b"y" * 60])
    assert Inbox(tmp_path, committed=0).end == 1
    again = Inbox(tmp_path, committed=0)
    with pytest.raises(NoRoom):
        again.append([b"y" * 60])
    again.rotate()
    again.drop(1)
    assert again.append([b"y" * 60]).first == 2
