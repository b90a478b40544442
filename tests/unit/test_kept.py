"""What is kept of an owner in memory answers as the files do, also after they have changed."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from schemas.time import parse_time
from sinks import kept
from sinks.lookup import Lookup
from streams import chronicle, reading
from streams.apps import maintenance
from streams.files import local
from streams.sample import CONVERSATIONS
from tests.command import ndjson, turn

TENANT = "default"
TIMES = tuple(
    parse_time(text)
    for text in ("2026-03-02T12:00:00Z", "2026-03-10T00:00:00Z", "2030-01-01T00:00:00Z")
)


pytestmark = pytest.mark.long


@pytest.fixture
def history(tmp_path: Path) -> Iterator[Path]:
    local.run([str(CONVERSATIONS)], tmp_path / "h")
    yield tmp_path / "h"
    kept.forget()


def told(history: Path, user: str, at: int, known: int | None) -> object:
    given = (history, TENANT, user, at, known)
    return [
        chronicle.ended(*given), chronicle.moments(*given), chronicle.mastery(*given),
        chronicle.sessions(*given), chronicle.steps(history, TENANT, [user]),
        reading.known_of(*given),
    ]  # fmt: skip


def test_memory_answers_as_the_files_do(history: Path) -> None:
    early, middle, late = TIMES
    for user, at, known in (
        ("emma", early, None), ("emma", late, middle), ("lin", middle, early), ("yui", late, None),
        ("nobody", late, None), ("o'hara", late, late),
    ):  # fmt: skip
        plain = told(history, user, at, known)
        with chronicle.of_user(history, TENANT, user):
            assert told(history, user, at, known) == plain


def test_what_came_since_is_there(history: Path, tmp_path: Path) -> None:
    with chronicle.of_user(history, TENANT, "emma"):
        before = told(history, "emma", TIMES[-1], None)
    more = turn("late", user_id="emma", session_id="late", occurred_at="2026-04-01T00:00:00Z")
    local.run([str(ndjson(tmp_path / "more.ndjson", [more]))], history)
    with chronicle.of_user(history, TENANT, "emma"):
        after = told(history, "emma", TIMES[-1], None)
    assert before != after == told(history, "emma", TIMES[-1], None)


def test_who_is_forgotten_is_not_kept(history: Path) -> None:
    with chronicle.of_user(history, TENANT, "emma"):
        assert chronicle.sessions(history, TENANT, "emma", TIMES[-1])
    maintenance.forget(history, TENANT, "emma")
    assert not kept.owners(), "nothing of them stays in this process"
    with chronicle.of_user(history, TENANT, "emma"):
        assert not chronicle.sessions(history, TENANT, "emma", TIMES[-1])


def test_questions_side_by_side_do_not_meet(history: Path) -> None:
    expected = {at: told(history, "emma", at, None) for at in TIMES}
    wrong: list[object] = []

    def ask(at: int) -> None:
        try:
            with chronicle.of_user(history, TENANT, "emma"):
                if told(history, "emma", at, None) != expected[at]:
                    wrong.append(at)
        except Exception as error:
            wrong.append(error)

    asking = [Thread(target=ask, args=(at,)) for at in TIMES * 2]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    assert wrong == []


def test_a_column_that_is_not_kept_is_read_from_the_files(history: Path) -> None:
    with chronicle.of_user(history, TENANT, "emma"), Lookup(history, TENANT) as about:
        about.load("revisions", "owner_id = ?", "emma", columns=["reason"])
        assert about.db.execute("SELECT count(*) FROM revisions").fetchall()[0][0] > 0
        about.load("events", "user_id = ?", "emma")
        assert about.db.execute("SELECT user_input FROM events").fetchall()


def test_few_owners_are_kept(history: Path) -> None:
    for number in range(kept.MOST + 3):
        with chronicle.of_user(history, TENANT, f"user-{number}"):
            pass
    assert len(kept.owners()) == kept.MOST


def test_a_process_that_keeps_rows_ends_without_a_word(history: Path) -> None:
    """As a server does, which has frozen what it loaded."""
    code = (
        "import sys; from pathlib import Path; from streams import chronicle, gc_policy; "
        "gc_policy.set_for_server(); history = Path(sys.argv[1])\n"
        "with chronicle.of_user(history, 'default', 'emma'): pass\n"
        "from sinks import kept; assert kept.owners()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(history)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
