"""The image, built by buildah on a base that mmdebstrap makes: its size, and its processes."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from tests.command import environment
from tests.deploy.conftest import DOCKERFILE, ROOT, Tool
from tests.deploy.containers import Containers, Image
from tests.deploy.test_processes import composed, settings, work
from tests.fault.disk import can_mount

pytestmark = [
    pytest.mark.needs("go", "buildah"),
    pytest.mark.skipif(not can_mount(), reason="buildah and mmdebstrap mount; this user may not"),
]

LARGEST = 600.0
"""MB of the image with its base, as engines count: the bytes of its layers."""
BASE = [
    "mmdebstrap", "--mode=root", "--variant=apt",
    "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr",
    "--dpkgopt=force-unsafe-io",
    "--include=python3,python3-pip,python-is-python3",
    *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")),
    "bookworm",
]  # fmt: skip
"""What python:3.11-slim has. With the hook it lacks usrmerge, which needs all of Perl."""
STATE = 'mkdir -p /var/lib/containers && mount --bind "$0" /var/lib/containers && exec "$@"'
"""Shell: buildah keeps a cache there, whatever its options."""


class Buildah:
    """Its images and containers are below a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "state").mkdir()
        (folder / "uv.toml").write_text("system-certs = true\n")
        self._start: list[str | Path] = [
            "unshare", "--mount", "sh", "-ec", STATE, folder / "state",
            "buildah", "--storage-driver", "vfs",
            "--root", folder / "root", "--runroot", folder / "runroot",
        ]  # fmt: skip

    def __call__(self, command: str, *words: str | Path) -> str:
        return run(*self._start, command, *words, env=environment(TMPDIR=str(self.folder)))

    def build(self, tag: str, context: Path, *words: str | Path) -> None:
        """Packages come the way they come to this machine, also past a proxy with an authority of
        its own."""
        trust = (f"{self.folder}/uv.toml:/etc/uv/uv.toml:ro", "/etc/ssl/certs:/etc/ssl/certs:ro")
        options = ("--isolation", "chroot", "--network", "host", "--format", "docker")
        volumes = (f"--volume={one}" for one in trust)
        self("build", *options, *volumes, *words, "--tag", tag, context)


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Buildah]:
    """With the image `turnfold`; it leaves nothing."""
    folder = tmp_path_factory.mktemp("buildah")
    try:
        made, base = Buildah(folder), folder / "base"
        base.mkdir()
        run(*BASE, base / "base.tar", env=environment(TMPDIR=str(folder)))
        (base / "Dockerfile").write_text("FROM scratch\nADD base.tar /\n")
        made("build", "--tag", "base", base)
        made.build(
            "turnfold", ROOT, "--file", DOCKERFILE, "--build-arg", "PYTHON_IMAGE=localhost/base",
            "--ignorefile", DOCKERFILE.with_name("Dockerfile.dockerignore"),
        )  # fmt: skip
        yield made
    finally:
        rmtree(folder)


def test_the_image_is_built_is_small_and_its_processes_work(
    buildah: Buildah, tool: Tool, tmp_path: Path
) -> None:
    about: dict[str, Any] = json.loads(buildah("inspect", "--type", "image", "turnfold"))
    config = about["Docker"]["config"]
    container = buildah("from", "turnfold").strip()
    root = Path(buildah("mount", container).strip())
    size, unit = buildah("images", "--format", "{{.Size}}", "turnfold").split()
    assert float(size) <= LARGEST and unit == "MB"

    def inside(*command: str) -> str:
        return buildah("run", "--isolation", "chroot", container, "--", *command)

    entry, check = config["Entrypoint"], config["Healthcheck"]["Test"][1:]
    assert "kafka" in inside(*entry, "--help")
    assert inside("sh", "-c", "id -u; pwd; stat -c %u .").split() == ["10001", "/data", "10001"]
    assert "applied" in inside(*entry, "demo")

    env = dict(one.split("=", 1) for one in config["Env"])
    image = Image(root, env.pop("PATH"), int(config["User"].partition(":")[0]))
    services = composed(tool, (entry, env))
    assert services["worker"].check == check
    (tmp_path / "containers").mkdir()
    with Containers(tmp_path / "containers", settings(), image) as containers:
        work(services, containers)


def run(*command: str | Path, env: dict[str, str]) -> str:
    done = subprocess.run(
        [str(one) for one in command], env=env, capture_output=True, text=True, timeout=1_800
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
