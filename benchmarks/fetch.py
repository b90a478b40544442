"""Downloads the public dialogues that the measurements read: 5,110 of Schema-Guided Dialogues.

    python -m benchmarks.fetch

The files are the first 41 of the training set (google-research-datasets, CC BY-SA 4.0), at a fixed
commit. They are stored as `benchmarks/data/sgd/train_part.jsonl.gz`, one dialogue per line.
"""

import argparse
import gzip
import sys
from hashlib import sha256
from pathlib import Path

import httpx
import msgspec

from benchmarks.common import note
from tests.shared_data import FETCHED

COMMIT = "e852981ae34990f4358979625854259302feaa78"
SOURCE = (
    "https://raw.githubusercontent.com/google-research-datasets/dstc8-schema-guided-dialogue/"
    f"{COMMIT}/train/"
)
FILES = 41
DIGEST = "3bac34e5793cb69c5a3665ce016039b064492a2477d4838dd64a3f05cb27ca9d"
"""SHA-256 of all lines."""


def fetch(source: str, file: Path) -> None:
    """Downloads the dialogues into `file`. Raises httpx.HTTPError if a file cannot be had, and
    ValueError if the content differs from what the figures were measured on; then no file is made.
    """
    lines: list[bytes] = []
    with httpx.Client(base_url=source, timeout=60, follow_redirects=True) as client:
        for number in range(1, FILES + 1):
            reply = client.get(f"dialogues_{number:03}.json")
            reply.raise_for_status()
            lines += map(msgspec.json.encode, msgspec.json.decode(reply.content))
            note(f"{number} of {FILES} files")
    content = b"".join(line + b"\n" for line in lines)
    if (found := sha256(content).hexdigest()) != DIGEST:
        raise ValueError(f"{source}: the dialogues have SHA-256 {found}, not {DIGEST}")
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    partial.write_bytes(gzip.compress(content, mtime=0))
    partial.replace(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--source", default=SOURCE, help="URL of the folder with the files")
    given = parser.parse_args()
    try:
        fetch(given.source, FETCHED)
    except (httpx.HTTPError, ValueError) as error:
        sys.exit(f"not fetched: {error}")


if __name__ == "__main__":
    main()
