"""The wheel of `turnfold-client`, installed into an empty environment and used by an app that has
a package `schemas` of its own, against `turnfold serve`."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import turnfold_client
from tests.building import ROOT, UV, installed, run
from tests.command import PROGRAM
from tests.serving.front import fronting
from tests.serving.serving import Server, serving

pytestmark = pytest.mark.nightly

README = ROOT / "clients" / "python" / "README.md"
APP = Path(__file__).with_name("client_app")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the built wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("wheel")
    run(UV, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT / "clients" / "python")
    (wheel,) = folder.glob("turnfold_client-*.whl")
    return installed(wheel, folder / "environment")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the app."""
    folder = tmp_path_factory.mktemp("app") / "app"
    shutil.copytree(APP, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def found(python: Path, app: Path, sample: Server) -> dict[str, Any]:
    """What the app printed."""
    printed: dict[str, Any] = json.loads(run(python, "app.py", sample.url, folder=app))
    return printed


def test_an_app_with_schemas_of_its_own_uses_the_client(found: dict[str, Any]) -> None:
    assert found["ours"] == "An update of the app."
    assert found["counts"] == {"applied": 1} and found["topic"] == "limits"
    assert found["followed"] == "app-session" and found["conversations"] == ["tea?"]
    assert found["known"] is False and found["missing"] == 404


def test_nothing_of_the_server_is_installed_with_it(found: dict[str, Any]) -> None:
    assert found["server"] == []
    assert "turnfold-client" in found["distributions"]
    assert "turnfold" not in found["distributions"]


def test_its_requests_say_its_version(
    python: Path, app: Path, found: dict[str, Any], sample: Server
) -> None:
    ask = "import sys, turnfold_client; turnfold_client.Turnfold(sys.argv[1]).healthz()"
    with fronting(sample.url) as front:
        run(python, "-c", ask, front.url, folder=app)
        agents = [request["user-agent"] for request in front.seen]
    assert agents == [f"turnfold-client/{found['version']}"]
    assert found["version"] == turnfold_client.__version__


def examples(with_text: str) -> list[str]:
    """The blocks of Python in the readme in which a text stands."""
    found = re.findall(r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S)
    return [block for block in found if with_text in block]


def test_the_example_of_its_readme_prints_what_it_says(
    python: Path, app: Path, tmp_path: Path
) -> None:
    text = "\n".join(examples("http://localhost:8400"))
    with serving("--history", tmp_path / "history") as server:
        text = text.replace("http://localhost:8400", server.url)
        (app / "example.py").write_text(text, "utf-8")
        printed = run(python, "example.py", folder=app).splitlines()
    assert printed == ["limits", "What is a limit?", "no session of that id"]
    assert all(f"`{line}`" in README.read_text("utf-8") for line in printed)


AGENT = """
import sys
chat_id, question = sys.argv[1:]
def my_agent(known, question):  # scripted: it answers with what it was given
    return f"I know: {known}"
"""


def test_the_first_example_of_its_readme_remembers_in_the_next_chat(
    python: Path, app: Path
) -> None:
    """Beside an app with `schemas` of its own; the server is that of another environment."""
    (example,) = examples("Turnfold.local")
    assert example.startswith("from turnfold_client import Turnfold")
    (app / "chat.py").write_text(AGENT + example + "print(answer)\n", "utf-8")
    (python.parent / "turnfold").symlink_to(PROGRAM)
    try:
        first = run(python, "chat.py", "chat-1", "I live in Leeds. What is on?", folder=app)
        second = run(python, "chat.py", "chat-2", "Where do I live?", folder=app)
    finally:
        (python.parent / "turnfold").unlink()
    assert "Leeds" not in first
    assert re.search(r"Lives in Leeds.*\[s:\w+\]", second), second
