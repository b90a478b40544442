"""Commands start in any folder, also one whose files are called as our packages and Python's own
are: no process that a command starts imports from it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import PROGRAM, environment, folded, ndjson, turn

ROOT = Path(__file__).parents[2]
CODE = [ROOT / name for name in ("schemas", "streams", "sinks", "clients/python/turnfold_client")]
SHADOWS = ("schemas", "streams", "sinks", "multiprocessing", "pickle", "grpc_tools", "site")
STARTS = {"Popen", "run", "posix_spawn", "get_context"}
"""Calls that start a process; `run` is that of `subprocess`."""
STARTERS = {
    "streams/apps/dev.py": "the parts of `turnfold dev`: tests/kafka/test_dev_watching.py",
    "streams/broker/java.py": "java",
    "streams/broker/node.py": "java",
    "streams/broker/process.py": "java, ps",
    "streams/generations/folding.py": "test_processes_that_fold",
    "streams/mapping/protobuf.py": "test_the_compiler_of_protobuf",
    "streams/serving/mcp/shared.py": "test_the_server_of_mcp",
    "clients/python/turnfold_client/local.py": "`turnfold`: tests/serving/test_local.py",
}
"""Modules that start a process: what it is, or the test of it."""
SETTING = "import sys; from streams import cli; sys.argv[1:] = {args!r}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of such names; whoever imports one of them ends."""
    for name in SHADOWS:
        package = tmp_path / "shadows" / name
        package.mkdir(parents=True)
        text = f"raise SystemExit('the current folder is imported from: {name}')\n"
        (package / "__init__.py").write_text(text, "utf-8")
    return tmp_path / "shadows"


def ended(folder: Path, *command: str | Path) -> str:
    """What a command wrote, which ends well."""
    done = subprocess.run(
        list(map(str, command)), cwd=folder, env=environment(), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "is imported from" not in done.stdout, done.stdout
    return done.stdout


def after_main(folder: Path, program: str, *args: str | Path) -> tuple[str, str]:
    """A Python that runs a program around the command, started as the script `turnfold` is: from
    another folder."""
    file = folder.parent / "program.py"
    file.write_text(SETTING.format(args=list(map(str, args))) + program, "utf-8")
    return sys.executable, str(file)


@pytest.mark.component
def test_the_server_of_mcp_starts_in_any_folder(folder: Path) -> None:
    ended(folder, PROGRAM, "mcp", "--history", folder.parent / "memory", "--user", "maya")


@pytest.mark.component
def test_processes_that_fold_start_in_any_folder(folder: Path) -> None:
    history = folder.parent / "history"
    turns = [turn(f"e{n}", session_id=f"s{n}", user_id=f"u{n}") for n in range(20)]
    folded(ndjson(folder.parent / "turns.ndjson", turns), history=history)
    program = (
        "if __name__ == '__main__':\n"
        "    from streams.generations import rebuild\n"
        "    rebuild.WORTH_PARTS, rebuild.PROCESSES = 1, 2\n"
        "    cli.main()\n"
    )
    args = ("generation", "create", "--history", history, "again", "--extractor", "rules")
    ended(folder, *after_main(folder, program, *args))


@pytest.mark.component
def test_the_compiler_of_protobuf_starts_in_any_folder(folder: Path) -> None:
    program = (
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "from streams.mapping import protobuf\n"
        "protobuf._compiled('syntax = \"proto3\"; message A { string a = 1; }', {})\n"
    )
    ended(folder, *after_main(folder, program, "--version"))


def test_each_module_that_starts_a_process_is_on_the_list_and_passes_the_environment_on() -> None:
    found = set()
    for file in (file for folder in CODE for file in folder.rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute | ast.Name)):
                continue
            name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
            if name not in STARTS or (name == "run" and "subprocess" not in ast.unparse(call.func)):
                continue
            found.add(str(file.relative_to(ROOT)))
            for keyword in (one for one in call.keywords if one.arg == "env"):
                passed = ast.unparse(keyword.value)
                assert passed == "env" or "os.environ" in passed, (file, passed)
    assert found == set(STARTERS)
