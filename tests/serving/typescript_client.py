"""The TypeScript client as npm packs it: compiled by the compiler that its lock file pins,
installed into an empty project, used there by programs that run on node against `turnfold serve`.

It needs node and npm: `.ci/run` asks for it by name, pytest alone does not."""

import json
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.building import ROOT, run
from tests.serving.every_method import methods
from tests.serving.front import breaking_off, fronting
from tests.serving.serving import Server, serving
from tests.serving.test_every_client_method import CORRECTED, check, ids

SOURCE = ROOT / "clients" / "typescript"
PACKED = {"LICENSE", "README.md", "package.json"} | {
    f"dist/{name}.{kind}"
    for name in ("ai", "client", "errors", "index", "sender", "types")
    for kind in ("js", "d.ts")
}
NEEDS_USER = CORRECTED | {"memory_summary"}
NO_NETWORK = ("--offline", "--ignore-scripts", "--no-audit", "--no-fund")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client's folder with its compiler."""
    folder = tmp_path_factory.mktemp("typescript") / "client"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=folder)
    return folder


@pytest.fixture(scope="module")
def packed(client: Path) -> Path:
    """The archive that `npm pack` makes; it compiles first."""
    return client / run("npm", "pack", "--silent", folder=client).strip()


@pytest.fixture(scope="module")
def project(client: Path, packed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that has nothing but the installed package and two programs, in `built`."""
    folder = tmp_path_factory.mktemp("project")
    manifest = {"name": "app", "private": True, "type": "module"}
    (folder / "package.json").write_text(json.dumps(manifest), "utf-8")
    run("npm", "install", *NO_NETWORK, packed, folder=folder)
    for program in ("use_client.ts", "use_every.ts"):
        shutil.copy(Path(__file__).with_name(program), folder)
    example = "\n".join(re.findall(r"^```ts\n(.*?)^```$", readme(), re.M | re.S))
    (folder / "example.ts").write_text(example, "utf-8")
    options = json.loads((client / "tsconfig.json").read_text("utf-8"))["compilerOptions"]
    options |= {"rootDir": ".", "outDir": "built", "skipLibCheck": False}
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options}), "utf-8")
    run(client / "node_modules" / ".bin" / "tsc", folder=folder)
    return folder


@pytest.fixture(scope="module")
def said(project: Path, sample: Server) -> dict[str, Any]:
    with fronting(sample.url) as front, breaking_off(1_000) as broken_off:
        front.faults = [429, 0, 503, None, 0, 503]
        found: dict[str, Any] = json.loads(
            run("node", "built/use_client.js", sample.url, front.url, broken_off, folder=project)
        )
        keys = [seen["idempotency-key"] for seen in front.seen]
        return found | {"attempts": [keys.count(key) for key in dict.fromkeys(keys)]}


@pytest.fixture(scope="module")
def remembered(
    client: Path, packed: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """What a program found that uses the middleware and the `ai` package of the lock file; it
    stands in the client's folder, where the client's own name leads to what is packed."""
    assert packed.exists()
    folder = client / "app"
    folder.mkdir()
    shutil.copy(Path(__file__).with_name("use_ai.ts"), folder)
    example = "\n".join(re.findall(r"^```ts ai\n(.*?)^```$", readme(), re.M | re.S))
    (folder / "example.ts").write_text(AGENT + example + "console.log(text);\n", "utf-8")
    options = json.loads((client / "tsconfig.json").read_text("utf-8"))["compilerOptions"]
    options |= {"rootDir": ".", "outDir": "built"}
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options}), "utf-8")
    run(client / "node_modules" / ".bin" / "tsc", folder=folder)
    program = folder / "built" / "example.js"
    text = program.read_text("utf-8")
    assert "http://localhost:8400" in text
    history = tmp_path_factory.mktemp("remembered") / "history"
    with serving("--history", history, "--extractor", "rules") as server:
        said = run("node", "built/use_ai.js", server.url, folder=folder)
        program.write_text(text.replace("http://localhost:8400", server.url), "utf-8")
        example = run("node", program, folder=folder)
    found: dict[str, Any] = json.loads(said)
    return found | {"example": example}


AGENT = """
import { MockLanguageModelV4 } from "ai/test";
const question = "I live in Leeds.";
const myModel = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => ({
    content: [{ type: "text", text: `${prompt.length} message` }],
    finishReason: { unified: "stop", raw: "stop" },
    usage: {
      inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 1, text: 1, reasoning: 0 },
    },
    warnings: [],
  }),
});
"""


def readme() -> str:
    return (SOURCE / "README.md").read_text("utf-8")


def test_the_package_holds_what_users_need_and_no_more(packed: Path) -> None:
    with tarfile.open(packed) as archive:
        assert {name.removeprefix("package/") for name in archive.getnames()} == PACKED


def test_the_project_holds_nothing_else(project: Path) -> None:
    modules = (project / "node_modules").iterdir()
    assert [path.name for path in modules if path.name[0] != "."] == ["turnfold-client"]


def test_the_example_of_its_readme_prints_what_it_says(project: Path, tmp_path: Path) -> None:
    program = project / "built" / "example.js"
    text = program.read_text("utf-8")
    assert "http://localhost:8400" in text
    with serving("--history", tmp_path / "history") as server:
        program.write_text(text.replace("http://localhost:8400", server.url), "utf-8")
        printed = run("node", program, folder=project).splitlines()
    assert printed == [
        "active limits", "404 no session of that id", "nothing is known of maya", "done",
    ]  # fmt: skip
    assert all(f"`{line}`" in readme() for line in printed)


def test_records_and_documents(said: dict[str, Any]) -> None:
    assert said["posted"] == {"applied": 3} and said["one"] == {"applied": 1}
    assert said["session"] == "ts/session 会话?#" and said["task"] == "ts-task"
    assert said["context"]["current_topic"] == "数学"
    assert "数学" in json.dumps(said["summary"], ensure_ascii=False)
    assert said["hits"] == 3 and said["ready"] is True


def test_pages_and_events(said: dict[str, Any]) -> None:
    assert sorted(said["listed"]) == ["ts-1", "ts-2", "ts-3"]
    assert said["followed"][1] == said["followed"][0] + 1


def test_each_method_makes_a_request_that_a_server_takes(project: Path, tmp_path: Path) -> None:
    with serving("--history", tmp_path / "history") as server:
        known = ids(server)
        calls = [
            {
                "name": one.in_typescript,
                "given": [
                    *one.path.values(),
                    *([] if one.body is None else [one.body if one.name != "post_records"
                                                   else [one.body]]),
                    one.query | ({"user_id": "every"} if one.name in NEEDS_USER else {}),
                ],
            }
            for one in methods(known)
        ]  # fmt: skip
        told = run("node", "built/use_every.js", server.url, json.dumps(calls), folder=project)
    outcomes = json.loads(told)
    check({one.name: outcomes[one.in_typescript] for one in methods(known)})


def test_a_write_is_sent_again_under_its_key(said: dict[str, Any]) -> None:
    assert said["attempts"] == [4, 3], "of an update, and of added messages"
    assert said["added"] == {"duplicate": 2}
    assert said["profile"]["history"]["quiz_sessions"] == 1


def test_errors_say_what_is_wrong(said: dict[str, Any]) -> None:
    assert said["missing"]["status"] == 404
    assert said["missing"]["type"] == "/problems/not-found"
    assert said["mood"]["status"] == 404 and said["then"]["status"] == 404
    assert "no URL can hold the id" in said["dots"]
    assert said["nobody"] == "UnreachableError"
    assert said["bad"]["errors"][0]["field"] == "messages[0].content[0].type"


def test_half_of_a_surrogate_pair_is_refused_before_it_is_sent(said: dict[str, Any]) -> None:
    refusal = "ClientError: half of a surrogate pair is no text, so nothing was sent"
    assert said["half_pairs"] == [refusal] * 7


def test_what_is_exported_comes_line_by_line(said: dict[str, Any]) -> None:
    assert said["exported"][0] == "header" and said["exported"][-1] == "end"
    assert said["exported"].count("record") >= 3
    assert said["unknown"]["status"] == 404 and "not whole" in said["broken"]


def test_messages_become_turns(said: dict[str, Any]) -> None:
    """The answer of a later call ends the turn of its question."""
    assert said["asked"] == ["running"] and said["answered"] == ["done"]


def test_messages_are_read_right_after_they_were_added(said: dict[str, Any]) -> None:
    assert said["as_of_now"] == ["In Oslo."]
    assert "Where do I live?" in said["recalled"]


def test_the_model_is_told_what_is_known(remembered: dict[str, Any]) -> None:
    assert remembered["first"] == ["Be brief."]
    own, known = remembered["second"]
    assert own == "Be brief." and "Lives in Leeds" in known
    assert remembered["plain"] == [] and remembered["told"] == "In Leeds."


def test_what_is_new_is_added_once(remembered: dict[str, Any]) -> None:
    assert remembered["chats"] == [
        [["I live in Leeds.", "Noted.", "done"]],
        [["Where do I live?", "In Leeds.", "done"]],
        [["Is it cold?", "12 degrees.", "done"]],
        [["And now?", "In Leeds.", "done"]],
        [["Are you there?", "Yes.", "done"]],
    ]
    assert remembered["streamed"] == "In Leeds."
    assert remembered["cut"] == ["In ", "In ", "In "], "streams that were broken off"
    assert "weather" in remembered["task"] and "degrees" in remembered["task"]


def test_a_server_that_is_away_is_an_error_or_told_to_the_program(
    remembered: dict[str, Any],
) -> None:
    assert remembered["thrown"] is True
    assert remembered["errors"] == ["UnreachableError"] * 3 and remembered["answer"]


def test_the_example_of_the_middleware_runs(remembered: dict[str, Any]) -> None:
    assert remembered["example"] == "1 message\n"
