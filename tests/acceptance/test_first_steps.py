"""What a new user runs: the README's own data, and the chatbot of examples/."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.building import ROOT, UV, installed, run
from tests.command import PROGRAM, environment
from tests.llm.endpoint import Endpoint, Reply, Request, completion

CHATBOT = ROOT / "examples" / "chatbot.py"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def follow_the_readme(folder: Path, programs: Path) -> None:
    """Runs the commands of "Your own data", as written, and compares what they print."""
    section = (ROOT / "README.md").read_text("utf-8").partition("\n## Your own data\n")[2]
    section = section.partition("\n## From your agent\n")[0]
    blocks = BLOCK.findall(section)
    (record,) = [text for kind, text in blocks if kind == "json"]
    (shown,) = [text for kind, text in blocks if kind == "text"]
    (folder / "scratch").mkdir(parents=True)
    (folder / "scratch" / "turns.ndjson").write_text(record)
    script = "set -euo pipefail\n" + "".join(text for kind, text in blocks if kind == "sh")
    script = script.replace("uv run turnfold", "turnfold")  # the installed one
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True,
        env=environment(PATH=path), timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (said,) = re.findall(r"`(\d+ facts and preferences found by rules)`", section)
    lines = done.stdout.splitlines()
    assert said in lines
    assert shown.removeprefix("…\n") in done.stdout, done.stdout  # the line "…": what is cut


@pytest.mark.component
def test_the_readmes_own_data_is_remembered_by_the_commands_as_written(tmp_path: Path) -> None:
    follow_the_readme(tmp_path, Path(PROGRAM).parent)


def talk(
    folder: Path, *said: str, python: str | Path = sys.executable, **variables: str
) -> list[str]:
    """The lines that the chatbot answers in one run."""
    done = subprocess.run(
        [python, CHATBOT, folder], input="\n".join(said) + "\n",
        env=environment(**variables), capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.component
def test_the_chatbot_remembers_across_two_runs_with_and_without_a_key(tmp_path: Path) -> None:
    assert len(CHATBOT.read_text("utf-8").splitlines()) <= 60
    first = talk(tmp_path / "memory", "Call me May. I live in Leeds.", "", "I love jazz.")
    assert first[0] == "I do not know you yet." and len(first) > 3, "an empty line is no message"
    second = talk(tmp_path / "memory", "Where do I live?")
    assert any("Lives in Leeds." in line for line in second), second
    assert any("Wants to be called May." in line for line in second), second

    def answer(request: Request) -> Reply:
        known, question = (one["content"] for one in request.body["messages"])
        return completion(f"{question} {'Leeds' if 'Lives in Leeds.' in known else 'nowhere'}")

    with Endpoint(answer) as asked:
        key = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": asked.url}
        assert talk(tmp_path / "memory", "Where?", **key) == ["Where? Leeds"]
        assert talk(tmp_path / "other", "Where?", **key) == ["Where? nowhere"]


@pytest.mark.nightly
def test_the_first_steps_need_the_wheels_alone(tmp_path: Path) -> None:
    """In an environment that has nothing else, without this repository."""
    run(UV, "build", "--quiet", "--wheel", "--all-packages", "--out-dir", tmp_path)
    (server,) = tmp_path.glob("turnfold-*.whl")
    (client,) = tmp_path.glob("turnfold_client-*.whl")
    python = installed(f"turnfold[serve] @ {server.as_uri()}", tmp_path / "environment")
    run(UV, "pip", "install", "--quiet", "--python", python, client)
    follow_the_readme(tmp_path, python.parent)
    talk(tmp_path / "chats", "Call me May.", python=python)
    said = talk(tmp_path / "chats", "Who am I?", python=python)
    assert any("Wants to be called May." in line for line in said), said


@pytest.mark.component
def test_the_chatbot_says_in_a_line_why_it_cannot_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for words in ([], [str(tmp_path / "file")]):
        done = subprocess.run(
            [sys.executable, str(CHATBOT), *words],
            input="", env=environment(), capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        assert done.returncode != 0 and "Traceback" not in done.stderr, done.stderr
        assert done.stderr.strip() and not done.stdout
