"""Fuzzes one target, guided by coverage, until a fault or the end of the time.

uv run --with atheris==3.0.0 python -m tests.fuzz record --seconds 300

A fault's input is written to `tests/fuzz/findings`, which `test_fuzz.py` replays. The inputs with
new coverage are kept in the folder of `--corpus`.
"""

import argparse
import json
import tempfile
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import atheris  # type: ignore[import-untyped]

with atheris.instrument_imports(include=["schemas", "streams"]):
    from tests.fuzz.targets import TARGETS, attempt
    from tests.property.costly import VALUES, WORDS
    from tests.unit.test_importers_broken import WRONG, paths

FINDINGS = Path(__file__).parent / "findings"


def mutated(data: bytes, max_size: int, seed: int) -> bytes:
    """Bytes with another value in a place of their JSON, or with other bytes."""
    draw = Random(seed)
    try:
        value = json.loads(data) if draw.random() < 0.6 else None
        places = list(paths(value))
    except (ValueError, RecursionError):
        places = []
    if not places:
        return bytes(atheris.Mutate(data, max_size))
    for _ in range(draw.randint(1, 3)):
        value = _changed(value, draw)
    return json.dumps(value).encode()[:max_size]


def _changed(value: Any, draw: Random) -> Any:
    """One value in another's place."""
    changed = deepcopy(value)
    places = list(paths(changed))
    if not places:
        return changed
    *outer, key = draw.choice(places)
    holder = changed
    for name in outer:
        holder = holder[name]
    new = draw.choice([draw.choice(WRONG), draw.choice(WORDS) * 9, json.loads(draw.choice(VALUES))])
    if isinstance(holder[key], str) and draw.random() < 0.5:
        new = holder[key] + draw.choice(WORDS) * draw.choice([1, 50])
    holder[key] = new
    return changed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--corpus", type=Path, default=Path(tempfile.mkdtemp()))
    options = parser.parse_args()
    target = TARGETS[options.target]
    options.corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (options.corpus / f"seed-{number}").write_bytes(seed)
        attempt(target, seed)  # what is loaded once
    FINDINGS.mkdir(exist_ok=True)
    prefix = FINDINGS / f"{options.target}-"
    limits = [f"-max_total_time={options.seconds}", "-max_len=16384", "-rss_limit_mb=4096"]
    atheris.Setup(
        ["fuzz", *limits, f"-artifact_prefix={prefix}", "-timeout=600", str(options.corpus)],
        lambda data: attempt(target, data),
        custom_mutator=mutated,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
