"""Gathered records are cut into parts between two homes, as equal as the homes allow."""

from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams.generations.manifest_checks import missing_message
from streams.generations.replay_order import parts_of

LARGEST = 2**64 - 1
"""Homes are hashes of 64 bits."""


@pytest.mark.parametrize(
    ("homes", "most", "ends"),
    [
        ([], 3, (0, 0, 0)), ([7], 1, (1,)), ([7], 3, (0, 0, 1)), ([1, 2, 3, 4], 2, (2, 4)),
        ([1, 1, 1, 4], 2, (0, 4)), ([1, 2, 2, 2], 2, (1, 4)),
        ([1, 2, 2, 2, 2, 2, 3, LARGEST], 4, (1, 1, 6, 8)), ([LARGEST] * 10_000, 3, (0, 0, 10_000)),
        (range(10_000), 4, (2_500, 5_000, 7_500, 10_000)),
    ],
)  # fmt: skip
def test_no_home_lies_in_two_parts(
    homes: list[int], most: int, ends: tuple[int, ...], tmp_path: Path
) -> None:
    file = tmp_path / "records.parquet"
    pq.write_table(pa.table({"home": pa.array(homes, pa.uint64())}), file, row_group_size=4096)
    found = parts_of(file, most)
    assert found == ends
    held = [set(homes[first:end]) for first, end in pairwise((0, *found))]
    assert sum(map(len, held)) == len(set(homes))


def test_of_many_missing_parts_a_message_names_the_first() -> None:
    parts = [f"{one}/2000" for one in range(2000)]
    assert missing_message(parts[:2]) == "missing: 0/2000, 1/2000"
    said = missing_message(parts)
    assert said.startswith("missing: 0/2000, ") and said.endswith(", 9/2000 and 1,990 more")
