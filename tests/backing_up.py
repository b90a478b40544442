"""The copies of a history that docs/recovery.md describes, by the page's own commands."""

import re
import subprocess
from pathlib import Path

from tests.command import environment
from tests.contract.doctor import found
from tests.shared_data import ROOT

VANISHED = 24
"""What rsync exits with after files vanished."""


def copied(history: Path, backup: Path, *, writing: bool) -> None:
    """The page's copy of a history that is being written, or of one whose writers are stopped."""
    page = (ROOT / "docs" / "recovery.md").read_text("utf-8")
    live, at_rest = re.findall(r"^ +(rsync .*)$", page, re.M)
    done = subprocess.run(
        ["bash", "-c", live if writing else at_rest],
        env=environment(HISTORY=str(history), BACKUP=str(backup)),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode in ((0, VANISHED) if writing else (0,)), done.stderr


def restored(backup: Path, folder: Path) -> Path:
    """A history in `folder`, from a backup that is gone afterwards; the doctor finds it intact."""
    backup.rename(folder)
    report = found(folder.parent, "--history", folder)
    about = {name for name, some in report.items() if any(one["status"] == "wrong" for one in some)}
    assert about == set(), report
    assert [one["status"] for one in report["tables"]] == ["ok"], report
    return folder
