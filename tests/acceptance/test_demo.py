"""The sample that ships with the project, through the real command."""

import json
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import httpx
import pytest

from streams.sample import CONVERSATIONS, HOME
from tests.command import Done, checked, environment, files_holding, launch, rows, turn, turnfold
from tests.waiting import WITHIN, until

SECRET = "surprise party"
BAD = "lin-algebra-1"
LINES = CONVERSATIONS.read_text(encoding="utf-8").splitlines()
RECORDS = [json.loads(line) for line in LINES]
ROOT = Path(__file__).parents[2]
EXAMPLE = re.compile(r"```sh\n([^`]*turnfold demo[^`]*)```\n\n(?:[^`]*:\n\n)?```text\n([^`]*)```")
"""Commands that begin with the demo, and the output that a page shows below them."""
OPENED = ("demo", "--open", "--port", "0", "--history")
TASKS = {record["task_id"] for record in RECORDS if record.get("task_id")}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample's history; the run said nothing of the secret."""
    root = tmp_path_factory.mktemp("sample") / "history"
    done = turnfold("run", str(CONVERSATIONS), "--history", root, "-o", "json")
    assert done.code == 0 and SECRET not in done.out + done.err
    counts = checked(done.json())
    assert counts["read"] == len(LINES)
    assert (counts["duplicate"], counts["dead"], counts["withheld"]) == (1, 1, 1)
    refused = (r.get("source") == "meta_request" or r.get("event_id") == BAD for r in RECORDS)
    kept = [r for r, out in zip(RECORDS, refused, strict=True) if not out]
    assert counts["sessions"] == len({r["session_id"] for r in kept if r.get("session_id")})
    assert counts["users"] == 3
    return root


def test_the_sample_holds_the_secret_and_the_history_does_not(history: Path) -> None:
    asked = [record for record in RECORDS if record.get("source") == "meta_request"]
    assert SECRET in json.dumps(asked), "else this test proves nothing"
    assert files_holding(history, SECRET) == []
    assert files_holding(history, asked[0]["event_id"]) == []


def test_the_search_would_find_a_text_that_is_there(history: Path) -> None:
    known = "Manchester"
    found = files_holding(history, known)
    assert any(name.startswith("events/") for name in found)


def test_every_task_of_the_sample_has_its_end(history: Path) -> None:
    found = dict(rows(history, "SELECT task_id, (status, forced) FROM task_current"))
    assert set(found) >= TASKS
    assert found["emma-move-task-1"] == ("completed", False)
    assert found["emma-trains-task-1"] == ("failed", True)
    assert found["yui-trip-task-1"] == ("completed", False)


def test_the_dead_letter_is_listed_and_shown_with_its_bytes(history: Path) -> None:
    listed = turnfold("admin", "dlq", "list", "--history", history, "-o", "json").json()
    assert [one["reason"] for one in listed] == ["invalid"]
    assert "metadata.correct_rate" in listed[0]["detail"]
    line = next(n for n, record in enumerate(RECORDS, 1) if record.get("event_id") == BAD)
    assert listed[0]["id"].endswith(f"conversations.ndjson:0:{line}")
    shown = turnfold(
        "admin", "dlq", "show", listed[0]["id"], "--history", history, "-o", "json"
    ).json()
    assert shown["payload"] == LINES[line - 1]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Done, Path]:
    """What `demo` printed, and the history that it made."""
    folder = tmp_path_factory.mktemp("demo") / "turnfold-demo"
    return turnfold("demo", "--history", folder), folder


def test_the_demo_shows_the_memory_it_made(demo: tuple[Done, Path]) -> None:
    done, folder = demo
    assert done.code == 0, done.err
    assert SECRET not in done.out + done.err
    assert files_holding(folder, SECRET) == []
    assert len(done.out.splitlines()) <= 45
    shown = [line.split(maxsplit=3) for line in done.out.splitlines() if "” → " in line]
    turns = {record["event_id"]: record for record in RECORDS if record["type"] == "turn"}
    for user, day, event_id, part in shown:
        sentence = part[1 : part.index("” → ")].removesuffix("…")
        turn = turns[event_id]
        assert sentence in turn["user_input"] and turn["user_id"] == user, part
        assert turn["occurred_at"][5:10] == day
    found = {text for *_, part in shown for text in part.partition("” → ")[2].split("; ")}
    texts = rows(folder, "SELECT body_text FROM state_current WHERE kind <> 'long_mood_state'")
    assert {text.rstrip(".。") for (text,) in texts} <= {text.split(" (")[0] for text in found}
    assert 15 <= len(found) <= 30


def test_a_move_told_late_says_why_and_since_when(demo: tuple[Done, Path]) -> None:
    done = turnfold("why", HOME, "--history", demo[1])
    assert done.code == 0
    assert "Lives in Leeds. (from 2026-03-02" in done.out
    assert "Lives in Manchester. (from 2026-03-10" in done.out and "I moved to" in done.out


@pytest.mark.component
@pytest.mark.parametrize("page", ["README.md", "docs/context.md"])
def test_a_page_shows_what_the_commands_above_it_print(page: str, demo: tuple[Done, Path]) -> None:
    """The line `…` stands for lines that are left out."""
    done, folder = demo
    examples = EXAMPLE.findall((ROOT / page).read_text("utf-8"))
    assert examples
    for commands, shown in examples:
        packs = re.findall(r"turnfold (context .*)", commands)
        printed = done.out + "".join(
            turnfold(*shlex.split(one), cwd=folder.parent).out for one in packs
        )
        lines = {*printed.splitlines(), "…"}
        assert [line for line in shown.splitlines() if line not in lines] == [], printed


def test_a_demo_whose_generation_lacks_the_rules_plans_says_so(
    history: Path, tmp_path: Path
) -> None:
    """As after `promote` of a generation that was made without an extractor."""
    shutil.copytree(history, tmp_path / "h")
    done = turnfold("demo", "--history", tmp_path / "h")
    assert done.code == 0, done.err
    assert done.out.endswith("The live generation has nothing that the rules found.\n")


def test_a_folder_with_another_history_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    record = turn("a", session_id="s", user_id="u")
    file = tmp_path / "one.ndjson"
    file.write_text(json.dumps(record) + "\n")
    assert turnfold("run", file, "--history", tmp_path / "h").code == 0
    refused = turnfold("demo", "--history", tmp_path / "h")
    assert (refused.code, refused.out) == (2, "")
    assert "has a history of its own" in refused.err
    assert turnfold("show", "user", "emma", "--history", tmp_path / "h").code == 4


@pytest.mark.component
def test_the_demo_is_opened_in_a_browser_and_ctrl_c_leaves_nothing_running(
    demo: tuple[Done, Path], tmp_path: Path
) -> None:
    """The second time, in its history. The browser is a program that writes down what it was to
    open."""
    shutil.copytree(demo[1], tmp_path / "h")
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    env = environment(BROWSER=f"{browser} %s")
    with launch(*OPENED, tmp_path / "h", env=env, stderr=subprocess.DEVNULL) as running:
        try:
            assert running.stdout
            line = next(one for one in running.stdout if one.startswith(b"opened "))
            page = line.decode().split()[1]
            until(opened.exists)
            assert opened.read_text().strip() == page
            told = httpx.get(page, headers={"accept": "text/html"}, timeout=WITHIN).text
            assert "data-tour" in told and "Lives in Manchester" in told
            running.send_signal(signal.SIGINT)
            assert running.wait(WITHIN) == 0
        finally:
            running.kill()
    with pytest.raises(httpx.ConnectError):
        httpx.get(page, timeout=WITHIN)
    left = turnfold("why", HOME, "--history", tmp_path / "h")
    assert left.code == 0 and "(by rules 1)" in left.out
    assert turnfold("run", str(CONVERSATIONS), "--history", tmp_path / "h").code == 0, (
        "no lock is left"
    )


@pytest.mark.nightly
def test_without_a_browser_the_address_is_printed(tmp_path: Path) -> None:
    env = environment(PATH=str(tmp_path))
    env.pop("BROWSER", None)
    env.pop("DISPLAY", None)
    env.pop("WAYLAND_DISPLAY", None)
    with launch(*OPENED, tmp_path / "h", env=env, stderr=subprocess.DEVNULL) as running:
        try:
            assert running.stdout
            line = next(one for one in running.stdout if one.startswith(b"open "))
            assert b"tour=1" in line
            running.send_signal(signal.SIGINT)
            assert running.wait(WITHIN) == 0
        finally:
            running.kill()
