"""Runs the processes of compose and chart as they stand: their command lines and their environment,
with other ports and paths in the latter. Where we may, with a root file system that cannot be
written and without any capability, as in their containers: this machine's, or an image's, there as
the image's user."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from streams.broker.ports import free
from tests.command import environment
from tests.fault.disk import can_mount
from tests.waiting import WITHIN, until

BIN = Path(sys.executable).parent
ENTRYPOINT = ["turnfold"]
CONTAINED = """
mount --bind "$1" "$1"
mount -o remount,bind,ro /
shift
exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all -- "$@"
"""
"""Shell: the folder of the first argument can be written, and nothing else on that disk."""
IN_IMAGE = """
mount --bind "$2" "$2"
mkdir -p "$2$1"
mount --bind "$1" "$2$1"
mount --rbind /dev "$2/dev"
mount -t proc none "$2/proc"
mount -o remount,bind,ro "$2"
root="$2" user="$3"
shift 3
exec chroot "$root" setpriv --reuid="$user" --regid="$user" --clear-groups --no-new-privs \
    --bounding-set=-all --inh-caps=-all -- "$@"
"""
"""The same in the root file system of the second argument, as the user of the third."""

BOOTSTRAP, PREFIX = "TURNFOLD_KAFKA_BOOTSTRAP", "TURNFOLD_KAFKA_TOPIC_PREFIX"


class Container(NamedTuple):
    """What is started. `check`: a command that asks whether it is healthy, where it has one."""

    name: str
    command: Sequence[str]
    env: Mapping[str, str]
    check: Sequence[str] = ()


class Image(NamedTuple):
    """An unpacked image."""

    root: Path
    path: str
    """The variable PATH in it."""
    user: int


class Containers:
    """Those that run, with the folder in which each finds its /data and /tmp. `settings` come
    before those of the containers; their logs are `NAME.log`."""

    def __init__(
        self, folder: Path, settings: Mapping[str, str], image: Image | None = None
    ) -> None:
        self.folder, self.settings, self.image = folder, settings, image
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.metrics: dict[str, int] = {}
        (self.api,) = free(1)
        for name in ("data", "data-worker", "keys", "tmp"):
            (folder / name).mkdir()
            if image:
                os.chown(folder / name, image.user, image.user)

    def env(self, one: Container) -> dict[str, str]:
        """A container's environment, with the ports and paths of this machine."""
        if one.name not in self.metrics:
            (self.metrics[one.name],) = free(1)
        metrics = self.metrics[one.name]
        data = self.folder / ("data-worker" if one.name == "worker" else "data")
        moved = {
            name: re.sub("^/keys/", f"{self.folder}/keys/", re.sub("^/data/", f"{data}/", value))
            for name, value in one.env.items()
        }
        here = {
            "TURNFOLD_METRICS_PORT": f"127.0.0.1:{metrics}",
            "TURNFOLD_SERVE_HOST": "127.0.0.1", "TURNFOLD_SERVE_PORT": str(self.api),
            "TMPDIR": str(self.folder / "tmp"), "HOME": str(data),
            "PATH": self.image.path if self.image else f"{BIN}:{os.environ['PATH']}",
        }  # fmt: skip
        known = {name: value for name, value in here.items() if name in moved or "TURN" not in name}
        given = {name: value for name, value in self.settings.items() if name in moved}
        if BOOTSTRAP in moved and PREFIX in self.settings:  # neither compose nor chart set one
            given[PREFIX] = self.settings[PREFIX]
        return environment(**moved | known | given)

    def run(self, one: Container, cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """To its end."""
        return subprocess.run(
            self._contained(one.command), env=self.env(one), cwd=cwd or self.folder / "data",
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip

    def start(self, one: Container) -> None:
        with (self.folder / f"{one.name}.log").open("ab") as log:
            self.running[one.name] = subprocess.Popen(
                self._contained(one.command), env=self.env(one), cwd=self.folder / "data",
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip

    def _contained(self, command: Sequence[str]) -> list[str]:
        unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-ec"]
        if self.image:
            place = [str(self.folder), str(self.image.root), str(self.image.user)]
            return [*unshare, IN_IMAGE, "sh", *place, *command]
        if not can_mount():
            return list(command)
        return [*unshare, CONTAINED, "sh", str(self.folder), *command]

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text()[-3000:]

    def await_healthy(self, one: Container) -> None:
        """Until its own check says so."""

        def healthy() -> bool:
            assert self.running[one.name].poll() is None, self.log(one.name)
            check = self._contained(one.check)
            done = subprocess.run(check, env=self.env(one), capture_output=True, timeout=WITHIN)
            assert done.returncode in (0, 1), done
            return done.returncode == 0

        until(healthy, every=0.3, told=lambda: self.log(one.name))

    def stop(self, one: Container) -> int:
        """By SIGTERM; its exit code."""
        process = self.running.pop(one.name)
        process.send_signal(signal.SIGTERM)
        return process.wait(WITHIN)

    def __enter__(self) -> "Containers":
        return self

    def __exit__(self, *_: Any) -> None:
        for process in self.running.values():
            process.kill()
            process.wait()
