"""`generation create --part i/N` as a command: what it answers, and what it refuses."""

import shutil
from pathlib import Path

import pytest

from tests.command import answer, folded, snapshot, turnfold
from tests.planned import CONVERSATIONS

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's history with the second half of the generation `halves`, and with `whole`, which
    one command made; nobody writes into it."""
    root = tmp_path_factory.mktemp("parts") / "history"
    folded(str(CONVERSATIONS), history=root)
    answer("generation", "create", "--history", root, "whole")
    answer("generation", "create", "--history", root, "halves", "--part", "1/2")
    return root


@pytest.fixture
def history(begun: Path, tmp_path: Path) -> Path:
    """A copy of it to write into."""
    return Path(shutil.copytree(begun, tmp_path / "history"))


def test_each_part_says_what_it_folded_and_which_are_missing(history: Path) -> None:
    words = ("generation", "create", "--history", history)
    done = turnfold(*words, "thirds", "--part", "2/3")
    assert done.code == 0 and "part 2/3 is folded; missing: 0/3, 1/3" in done.err
    one = answer(*words, "thirds", "--part", "0/3")
    assert (one["part"], one["stage"], one["folded"]) == ("0/3", "folding", [0, 2])
    again = turnfold(*words, "thirds", "--part", "0/3")
    assert again.code == 0 and not again.out
    assert "part 0/3 had been folded before: nothing was done" in again.err
    assert "missing: 1/3" in again.err
    told = turnfold("generation", "list", "--history", history).out
    assert "thirds: parts missing: 1/3\n" in told
    assert "halves: parts missing: 0/2\n" in told and "whole: " not in told
    last = answer(*words, "thirds", "--part", "1/3")
    assert (last["stage"], last["folded"], last["split"]) == ("complete", [0, 1, 2], 3)
    assert last["counts"]["read"] == last["records"] > last["part_counts"].get("read", 0)
    again = turnfold(*words, "thirds", "--part", "1/3")
    assert again.code == 0 and "generation thirds is complete" in again.err
    assert answer(*words, "thirds", "--part", "1/3")["part_counts"] is None
    digests = [
        answer("admin", "digest", "--history", history, "--generation", one)
        for one in ("live", "thirds")
    ]
    assert digests[0] == digests[1]


HALVES = ("generation", "create", "halves")
WHOLE = ("generation", "create", "whole", "--part", "0/2")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*HALVES, "--part", "0/3"), "made in 2 parts: give --part 0/2 to 1/2 (missing: 0/2)"),
        (HALVES, "made in 2 parts: give --part 0/2 to 1/2 (missing: 0/2)"),
        ((*HALVES, "--part", "0/2", "--extractor", "none"), "begun with other settings"),
        (
            ("generation", "promote", "halves"),
            "--part i/2` with the same settings continues (missing: 0/2)",
        ),
        (WHOLE, "is complete: leave --part out to read what was added since"),
        (("generation", "create", "root", "--part", "0/2"), "is the generation of `run`"),
    ],
)
def test_what_does_not_fit_is_refused(begun: Path, words: tuple[str, ...], said: str) -> None:
    before = snapshot(begun)
    done = turnfold(*words, "--history", begun)
    assert (done.code, done.out, done.err.count("\n")) == (3, "", 1), done
    assert said in done.err
    assert snapshot(begun) == before


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("2/2", "'2/2' is out of range: the first part is 0/2, the last 1/2"),
        ("0/0", "N must be 1 to 10000"),
        ("0/10001", "N must be 1 to 10000"),
        ("-1/2", "is not a part such as 0/4"),
        ("1", "is not a part such as 0/4"),
        ("1/2/3", "is not a part such as 0/4"),
        ("1.0/2", "is not a part such as 0/4"),
        ("٣/4", "is not a part such as 0/4"),
        ("$(JOB_COMPLETION_INDEX)/4", "is not a part such as 0/4"),
    ],
)
def test_a_part_that_is_none_is_refused(begun: Path, part: str, said: str) -> None:
    before = snapshot(begun)
    done = turnfold(*HALVES, "--part", part, "--history", begun)
    assert done.code == 2 and said in done.err
    assert snapshot(begun) == before


def test_one_command_s_generation_is_not_continued_in_parts(history: Path) -> None:
    meta = history / "generations" / "whole" / "_generation.json"
    lines = [line for line in meta.read_text().splitlines() if "ended_at" not in line]
    meta.write_text("\n".join(lines).replace('"complete"', '"folding"'))
    done = turnfold(*WHOLE, "--history", history)
    assert done.code == 3 and "was begun without --part: leave it out to continue" in done.err


def test_once_more_was_read_its_parts_are_no_more(history: Path) -> None:
    answer(*HALVES, "--part", "0/2", "--history", history)
    answer(*HALVES, "--history", history)
    done = turnfold(*HALVES, "--part", "0/2", "--history", history)
    assert done.code == 3 and "is complete: leave --part out" in done.err
    answer("generation", "promote", "halves", "--history", history)
    done = turnfold(*HALVES, "--part", "0/2", "--history", history)
    assert done.code == 3 and "'halves' is live" in done.err


def test_parts_are_dropped_like_any_generation(history: Path) -> None:
    answer("generation", "drop", "--yes", "halves", "--history", history)
    assert not (history / "generations" / "halves").exists()
    made = answer(*HALVES, "--part", "2/3", "--history", history)
    assert made["folded"] == [2]
