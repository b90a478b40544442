"""What is kept of an owner in memory answers as the files do, also after they have changed."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from schemas.time import parse_time
from sinks import kept, maintenance
from sinks.errors import TooManyRowsError
from sinks.generation import find_tables
from sinks.kept import Source
from sinks.lookup import Lookup
from streams.apps import maintenance as erasing
from streams.chronicle import session, user
from streams.files import local
from streams.sample import CONVERSATIONS
from tests.command import ndjson, turn
from tests.waiting import WITHIN, until

TENANT = "default"
LATE = parse_time("2030-01-01T00:00:00Z")
TIMES = (parse_time("2026-03-02T12:00:00Z"), parse_time("2026-03-10T00:00:00Z"), LATE)


pytestmark = pytest.mark.nightly


@pytest.fixture
def history(tmp_path: Path) -> Iterator[Path]:
    kept.forget()
    local.run([str(CONVERSATIONS)], tmp_path / "h")
    yield tmp_path / "h"
    kept.forget()


def told(history: Path, name: str, at: int) -> object:
    return (
        user.past(history, TENANT, name, at, None), user.known_of(history, TENANT, name, at, None)
    )  # fmt: skip


def ask(history: Path, source: Source[int]) -> int:
    with Lookup(history, TENANT) as about:
        return kept.kept(about, source, "emma")


def anew(history: Path, name: str, at: int) -> object:
    kept.forget()
    return told(history, name, at)


def add(history: Path, folder: Path, event: str) -> None:
    more = turn(event, user_id="emma", session_id="late", occurred_at="2026-04-01T00:00:00Z")
    local.run([str(ndjson(folder / f"{event}.ndjson", [more]))], history)


def test_what_came_since_is_there(history: Path, tmp_path: Path) -> None:
    before = told(history, "emma", LATE)
    add(history, tmp_path, "late")
    after = told(history, "emma", LATE)
    assert before != after == anew(history, "emma", LATE)


def test_a_session_goes_on(history: Path, tmp_path: Path) -> None:
    def turns() -> tuple[int, int]:
        page = session.session(history, TENANT, "late", size=10)
        document, _ = session.then(history, TENANT, "late", LATE, None, ())
        return page["turn_count"], document["conversation_count"]

    add(history, tmp_path, "late")
    assert turns() == (1, 1)
    add(history, tmp_path, "later")
    assert turns() == (2, 2)


def test_only_new_files_are_read(history: Path, tmp_path: Path) -> None:
    read: list[int] = []

    def rows(about: Lookup, owner: str) -> list[tuple[str]]:
        found = about.rows("events", ("event_id",), "user_id = ?", owner)
        read.append(len(found))
        return found

    source = Source("counted", ("events",), rows, lambda _owner, _about, all: len(all))
    first = ask(history, source)
    assert ask(history, source) == first and read == [first]
    add(history, tmp_path, "late")
    assert ask(history, source) == first + 1 and read == [first, 1]


def test_compacted_files_are_read_again(history: Path, tmp_path: Path) -> None:
    add(history, tmp_path, "late")
    before = told(history, "emma", LATE)
    maintenance.compact(history, retention_hours=0)
    assert told(history, "emma", LATE) == before == anew(history, "emma", LATE)


def test_who_is_forgotten_is_not_kept(history: Path) -> None:
    assert user.past(history, TENANT, "emma", LATE, None)["sessions"]
    erasing.forget(history, TENANT, "emma")
    assert not kept.owners(), "nothing of them stays in this process"
    assert not user.past(history, TENANT, "emma", LATE, None)["sessions"]


def test_who_is_forgotten_while_rows_are_read_is_not_kept(history: Path) -> None:
    begun, forgotten = Event(), Event()

    def slowly(about: Lookup, owner: str) -> list[tuple[str]]:
        found = about.rows("events", ("event_id",), "user_id = ?", owner)
        begun.set()
        assert forgotten.wait(WITHIN)
        return found

    source = Source("slow", ("events",), slowly, lambda _owner, _about, all: len(all))
    asking = Thread(target=ask, args=(history, source))
    asking.start()
    assert begun.wait(WITHIN)
    erasing.forget(history, TENANT, "emma")
    forgotten.set()
    asking.join(WITHIN)
    assert not kept.owners()


def test_another_process_that_forgets_somebody_is_noticed(history: Path) -> None:
    assert user.past(history, TENANT, "emma", LATE, None)["sessions"]
    forgets = "from streams.cli import main; main()"
    command = [sys.executable, "-c", forgets, "forget", "emma", "--history", str(history), "--yes"]
    subprocess.run(command, check=True, capture_output=True)
    assert not user.past(history, TENANT, "emma", LATE, None)["sessions"]


def test_nobody_sees_what_is_kept_of_another_tenant(history: Path) -> None:
    assert user.past(history, TENANT, "emma", LATE, None)["moments"]
    assert user.past(history, "other", "emma", LATE, None)["counts"] == dict.fromkeys(
        ("ended", "moments", "mastery", "sessions"), 0
    )
    folder = find_tables(history)
    assert {key[:2] for key in kept.owners()} == {(folder, TENANT), (folder, "other")}


def test_questions_side_by_side_do_not_meet(history: Path) -> None:
    expected = {at: anew(history, "emma", at) for at in TIMES}
    kept.forget()
    wrong: list[object] = []

    def ask(at: int) -> None:
        try:
            if told(history, "emma", at) != expected[at]:
                wrong.append(at)
        except Exception as error:
            wrong.append(error)

    asking = [Thread(target=ask, args=(at,)) for at in TIMES * 2]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    assert wrong == []


def test_what_is_kept_is_bounded(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told(history, "emma", LATE)
    sizes = {key: one.size for key, one in kept._all.items()}
    largest = max(sizes.values())
    monkeypatch.setattr(kept, "MOST_OF_ONE", largest - 1)
    before = anew(history, "emma", LATE)
    assert max(one.size for one in kept._all.values()) < largest, "it is read for each question"
    assert told(history, "emma", LATE) == before
    monkeypatch.setattr(kept, "MOST_OF_ONE", largest)
    monkeypatch.setattr(kept, "MOST_BYTES", largest)
    for name in ("emma", "lin", "yui", "nobody"):
        told(history, name, LATE)
        assert sum(one.size for one in kept._all.values()) <= largest
    assert kept.owners()[-1][-1] == "nobody", "what was asked for last is kept"


def test_an_owner_with_too_many_rows_is_refused_and_not_kept(
    history: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_ROWS", 1)
    for asked in (
        lambda: user.past(history, TENANT, "emma", LATE, None),
        lambda: session.session(history, TENANT, "emma-move", size=9),
        lambda: session.then(history, TENANT, "emma-move", LATE, None, ()),
    ):
        with pytest.raises(TooManyRowsError, match="has more than 1 rows"):
            asked()
    assert not kept.owners()


def test_nothing_is_kept_for_long(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "SECONDS", 0.3)
    told(history, "emma", LATE)
    until(lambda: not kept.owners())


def test_a_process_that_keeps_rows_ends_without_a_word(history: Path) -> None:
    """As a server does, which has frozen what it loaded."""
    code = (
        "import sys; from pathlib import Path; from streams import gc_policy; "
        "from streams.chronicle import user; gc_policy.set_for_server()\n"
        f"user.past(Path(sys.argv[1]), 'default', 'emma', {LATE}, None)\n"
        "from sinks import kept; assert kept.owners()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(history)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
