"""Workers go on making plans as one of them was told once; each partition's marker keeps it."""

import json
from pathlib import Path

from tests.command import BY_DEFAULT, turn
from tests.kafka.counting import PARTITIONS
from tests.kafka.working import Working, alone, message
from tests.waiting import until


def say(working: Working, home: str, sessions: int = 8) -> None:
    """One turn in each of several sessions, which lie in all partitions."""
    said = [
        turn(f"{home}-{n}", session_id=f"s{n}", user_id=f"u{n}", user_input=f"I live in {home}.")
        for n in range(sessions)
    ]
    working.send(message(json.dumps(one).encode()) for one in said)
    working.await_done()


def chosen(working: Working, name: str = "rules") -> int:
    """In how many partitions the marker stores that extractor."""
    notes = working.notes()["session"]
    return sum(note.get("extractor", {}).get("name") == name for note in notes)


def test_a_worker_without_the_flag_continues_as_the_one_before(tmp_path: Path) -> None:
    with alone(tmp_path) as working:
        working.start(BY_DEFAULT)
        working.await_ready()
        until(lambda: chosen(working) == PARTITIONS, told=working.log)  # before any record has come
        working.kill()

        working.start(BY_DEFAULT)
        working.await_log("memory is made by rules, as before", PARTITIONS)
        say(working, "Oslo")
        assert working.counts()["extracted"] == 8
        working.kill()

        working.start("--extractor", "none")
        working.await_log("memory is made by none from now on, until now by rules", PARTITIONS)
        until(lambda: chosen(working, "none") == PARTITIONS, told=working.log)
        working.kill()

        working.start(BY_DEFAULT)
        working.await_ready()
        say(working, "Rome")
        assert working.counts()["extracted"] == 8
        assert "as before" not in working.log()
