"""Inputs that a fuzzer starts from, and those that it found faults with, which are mended."""

from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS, attempt

FINDINGS = sorted((Path(__file__).parent / "findings").glob("*-*"))


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_accepts_its_seeds(name: str) -> None:
    target = TARGETS[name]
    for seed in target.seeds():
        attempt(target, seed)


@pytest.mark.parametrize("file", FINDINGS, ids=lambda file: file.name)
def test_a_finding_is_mended(file: Path) -> None:
    attempt(TARGETS[file.name.partition("-")[0]], file.read_bytes())
