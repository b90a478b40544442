"""A history goes on making plans as it was told once, and says so."""

import json
from pathlib import Path
from typing import Any

import pytest

from streams.extractors.rules import VERSION
from streams.files.extractor_choice import FILE
from tests.command import Done, ndjson, rows, turn, turnfold
from tests.serving.serving import serving

pytestmark = pytest.mark.nightly

HOMES = ("Oslo", "Rome", "York", "Bergen", "Porto", "Kyoto")
STICKY = "memory is made by rules (chosen on "


class Told:
    """One history, told of another home by each run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.history = folder / "history"
        self.count = 0

    def run(self, *words: str) -> Done:
        self.count += 1
        said = turn(f"e{self.count}", user_input=f"I live in {HOMES[self.count - 1]}.")
        file = ndjson(self.folder / f"{self.count}.ndjson", [said])
        done = turnfold("run", file, "--history", self.history, "-o", "json", *words)
        assert done.code == 0, done.err
        return done

    def plans(self) -> list[str]:
        """The events that a plan was made of."""
        found = rows(self.history, "SELECT event_id FROM plans ORDER BY 1")
        return [event for (event,) in found]

    def ask(self, *words: str) -> Any:
        done = turnfold(*words, "--history", self.history, "-o", "json")
        assert done.code == 0, done.err
        return done.json()


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


def test_a_run_continues_with_the_extractor_of_the_one_before_and_says_so(told: Told) -> None:
    first = told.run("--extractor", "rules")
    assert first.err == "" and first.json()["extractor"] == "rules"
    again = told.run()
    assert again.err.startswith(STICKY) and again.err.count("\n") == 1
    assert "--extractor none stops extraction" in again.err
    assert (again.json()["extractor"], again.json()["extractor_version"]) == ("rules", VERSION)
    assert told.plans() == ["e1", "e2"]


def test_none_ends_it_and_is_remembered(told: Told) -> None:
    told.run("--extractor", "rules")
    ended = told.run("--extractor", "none")
    assert "rules makes no plans from now on; existing plans stay" in ended.err
    assert "generation create" in ended.err and ended.json()["extractor"] == "none"
    after = told.run()
    assert after.err == "" and after.json()["extractor"] == "none"
    assert told.plans() == ["e1"]


def test_turns_that_were_folded_without_an_extractor_stay_as_they_are(told: Told) -> None:
    assert (told.run("--extractor", "none").err, told.run().err) == ("", "")
    assert (told.history / FILE).exists()
    begun = told.run("--extractor", "rules")
    assert "folded turns stay unchanged" in begun.err
    assert "--extractor rules rebuilds all" in begun.err
    assert told.plans() == ["e3"]


def test_another_version_of_the_rules_is_reported_once_and_plans_stay(told: Told) -> None:
    told.run("--extractor", "rules")
    file = told.history / FILE
    file.write_text(json.dumps(json.loads(file.read_text()) | {"version": "0"}))
    done = told.run()
    assert f"memory is made by rules {VERSION} from now on, until now by rules 0" in done.err
    assert "existing plans stay" in done.err
    assert told.run().err.startswith(STICKY)
    assert told.plans() == ["e1", "e2", "e3"]


def test_an_extractor_that_this_version_lacks_is_no_silence(told: Told) -> None:
    told.run("--extractor", "rules")
    (told.history / FILE).write_text('{"name": "oracle"}')
    done = turnfold("run", told.folder / "1.ndjson", "--history", told.history)
    assert done.code == 3 and "'oracle'" in done.err and "--extractor" in done.err
    (told.history / FILE).write_text("{")
    done = turnfold("run", told.folder / "1.ndjson", "--history", told.history)
    assert done.code == 3 and FILE in done.err


def test_a_server_continues_with_it_and_remembers_what_it_is_told(told: Told) -> None:
    told.run("--extractor", "rules")
    with serving("--history", told.history) as server:
        assert server.endings([turn("s1", user_input="I live in Lund.")]) == ["applied"]
    assert told.plans() == ["e1", "s1"]
    with serving("--history", told.history, "--extractor", "none") as server:
        assert server.endings([turn("s2", user_input="I live in Kiel.")]) == ["applied"]
    assert told.run().json()["extractor"] == "none"
    assert told.plans() == ["e1", "s1"]


def test_promote_brings_the_generations_own_choice(told: Told) -> None:
    told.run("--extractor", "rules")
    told.ask("generation", "create", "plain", "--extractor", "none")
    told.ask("generation", "create", "again")
    assert told.ask("generation", "promote", "plain")["extractor"] == "none"
    assert told.run().err == "" and told.plans() == []
    assert told.ask("generation", "promote", "again")["extractor"] == "rules"
    assert told.run().json()["extractor"] == "rules"
    assert told.plans() == ["e1", "e2", "e3"], "it caught up by rules, too"
    told.run("--extractor", "none")
    assert told.ask("generation", "rollback")["extractor"] == "none"
    names = {one["name"]: one["extractor"] for one in told.ask("generation", "list")}
    assert names == {"root": "rules", "plain": "none", "again": "none"}


def test_a_replay_continues_with_what_its_source_chose_later(told: Told) -> None:
    told.run()
    told.ask("generation", "create", "again")
    told.run("--extractor", "rules")
    assert told.ask("generation", "promote", "again")["extractor"] == "rules"
    assert told.run().json()["extractor"] == "rules"
    assert told.plans() == ["e2", "e3"]


def test_a_run_says_under_which_constants_it_folds(told: Told) -> None:
    told.run()
    assert "constants" not in told.run().json()
    told.ask("generation", "create", "short", "--set", "max_iteration=2")
    told.ask("generation", "promote", "short")
    assert told.run().json()["constants"] == {"max_iteration": 2}
