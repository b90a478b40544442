"""What scripts/generate and scripts/docs share: write files, or say which are stale."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(files: Mapping[str, str], about: str, owned: tuple[str, ...] = ()) -> int:
    """`files`: path below the root -> text. Files matching an `owned` glob but not named are
    removed. With --check nothing is written: 1 if a file is missing, different or left over."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when stale")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's root")
    options = parser.parse_args()
    stale = [
        path for path, text in files.items() if _read(options.root / path) != text.encode("utf-8")
    ]
    left_over = sorted(
        path.relative_to(options.root).as_posix()
        for pattern in owned
        for path in options.root.glob(pattern)
        if path.relative_to(options.root).as_posix() not in files
    )
    for path in stale:
        if not options.check:
            (options.root / path).parent.mkdir(parents=True, exist_ok=True)
            (options.root / path).write_bytes(files[path].encode("utf-8"))
        print(f"{'stale' if options.check else 'wrote'}: {path}", file=sys.stderr)
    for path in left_over:
        if not options.check:
            (options.root / path).unlink()
        print(f"{'left over' if options.check else 'removed'}: {path}", file=sys.stderr)
    if options.check and (stale or left_over):
        print(f"run scripts/{Path(sys.argv[0]).name} and commit what it writes", file=sys.stderr)
        return 1
    return 0


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None
