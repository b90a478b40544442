"""`turnfold admin doctor`, asked in a process of its own or in this one."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from streams import cli, configuration
from tests.command import OBEYING, PROGRAM, Done, environment

SECRET = "MARKED-5ecret"


def doctor(folder: Path, *options: str | Path, **env: str) -> Done:
    """The command in this process, in a folder without a file of settings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(configuration, "_origins", {})
        patch.setattr(os, "environ", environment(**env))
        patch.setattr(cli, "keep_files_private", lambda: None)
        done = CliRunner().invoke(cli.app, ["admin", "doctor", *map(str, options)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def found(folder: Path, *options: str | Path, **env: str) -> dict[str, list[dict[str, Any]]]:
    """The findings by check, from a report whose exit code and status agree with them."""
    done = doctor(folder, *options, "-o", "json", **env)
    report = json.loads(done.out)
    statuses = [one["status"] for one in report["findings"]]
    worst = next(name for name in ("wrong", "warning", "ok") if name in statuses)
    assert report["status"] == worst
    assert done.code == {"ok": 0, "warning": 1, "wrong": 2}[worst]
    by_check: dict[str, list[dict[str, Any]]] = {}
    for one in report["findings"]:
        assert (one["status"] == "ok") == (not one["do"]), one
        by_check.setdefault(one["check"], []).append(one)
    return by_check


def obeying(*options: str | Path, before: Sequence[str] = ()) -> Done:
    """The command, obeying permissions; `before` stands before it."""
    done = subprocess.run(
        [*before, *OBEYING, PROGRAM, "admin", "doctor", *map(str, options)],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def whole(folder: Path) -> dict[str, tuple[int, int]]:
    """Each file and folder with its size and time of change."""
    return {str(one): (one.stat().st_size, one.stat().st_mtime_ns) for one in folder.rglob("*")}
