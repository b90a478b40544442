"""Inputs that a fuzzer starts from, and those that it found faults with, which are mended."""

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS, attempt

FINDINGS = Path(__file__).parent / "findings"
"""Files named TARGET-…"""


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_accepts_its_seeds_and_what_was_mended(name: str) -> None:
    target = TARGETS[name]
    findings = [file.read_bytes() for file in sorted(FINDINGS.glob(f"{name}-*"))]
    for seed in (*target.seeds(), *findings):
        attempt(target, seed)
