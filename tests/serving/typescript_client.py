"""The TypeScript client: compiled by the compiler its lock file pins, run by node against
`turnfold serve`. It needs node and npm: `.ci/run` asks for it by name, pytest alone does not."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.serving.front import fronting
from tests.serving.serving import Server

SOURCE = Path("streams/client/typescript")


def run(*command: str | Path, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    return done.stdout.decode()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled package, and a program that uses it."""
    folder = tmp_path_factory.mktemp("typescript") / "client"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=folder)
    shutil.copy(Path(__file__).with_name("use_client.ts"), folder / "src")
    run("npm", "run", "build", folder=folder)
    return folder / "dist"


@pytest.fixture(scope="module")
def said(built: Path, sample: Server) -> dict[str, Any]:
    with fronting(sample.url) as front:
        front.faults = [429, 0, 503]
        found: dict[str, Any] = json.loads(
            run("node", "use_client.js", sample.url, front.url, folder=built)
        )
        keys = {seen["idempotency-key"] for seen in front.seen}
        return found | {"attempts": len(front.seen), "keys": len(keys)}


def test_records_and_documents(said: dict[str, Any]) -> None:
    assert said["posted"] == {"applied": 3} and said["one"] == {"applied": 1}
    assert said["session"] == "ts/session 会话?#" and said["task"] == "ts-task"
    assert said["context"]["current_topic"] == "数学"
    assert "数学" in json.dumps(said["summary"], ensure_ascii=False)
    assert said["hits"] == 3 and said["ready"] is True


def test_pages_and_events(said: dict[str, Any]) -> None:
    assert sorted(said["listed"]) == ["ts-1", "ts-2", "ts-3"]
    assert said["followed"][1] == said["followed"][0] + 1


def test_a_write_is_sent_again_under_its_key(said: dict[str, Any]) -> None:
    assert said["attempts"] == 4 and said["keys"] == 1
    assert said["profile"]["history"]["quiz_sessions"] == 1


def test_errors_say_what_is_wrong(said: dict[str, Any]) -> None:
    assert said["missing"]["status"] == 404
    assert said["missing"]["type"] == "/problems/not-found"
    assert said["mood"]["status"] == 404 and said["then"]["status"] == 404
    assert "no URL can hold the id" in said["dots"]
    assert said["nobody"] == "UnreachableError"
