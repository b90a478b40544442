"""Builds our distributions and installs them apart from us, as their users do."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.command import environment

ROOT = Path(__file__).resolve().parents[1]
UV = os.environ.get("UV") or shutil.which("uv") or "uv"


def run(*command: str | Path, folder: Path = ROOT, umask: int = -1) -> str:
    """Runs a command to its end and returns its output; any exit code but 0 fails the test."""
    kept = {
        name: value
        for name, value in environment().items()
        if name not in ("PYTHONPATH", "VIRTUAL_ENV", "UV_PROJECT")
    }
    done = subprocess.run(
        command, cwd=folder, env=kept, umask=umask, capture_output=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    return done.stdout.decode()


def installed(wheel: str | Path, folder: Path) -> Path:
    """A new environment in `folder` with a wheel (its file, or NAME[EXTRA] @ URL) and what it
    depends on; its Python."""
    run(UV, "venv", "--quiet", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    run(UV, "pip", "install", "--quiet", "--python", python, wheel)
    return python
