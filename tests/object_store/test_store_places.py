"""Erasure from a bucket, by a scan of all bytes of its objects and of this machine's folders."""

from pathlib import Path

import obstore
import pytest

from sinks.object_store import ObjectPath
from sinks.rewrite_files import SCRATCH
from streams import search
from streams.apps.compact_and_forget import forget
from streams.apps.personal_data import of_file
from tests.acceptance.test_private_places import MARKS, PERSON, WORD, records
from tests.object_store.s3_server import S3Server
from tests.object_store.sunk import read, sink
from tests.scanning import holding


@pytest.mark.nightly
def test_guarantee_8_no_byte_is_left_in_a_bucket(
    root: ObjectPath, s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What sinks wrote, and what killed writers left: files that no commit names, a table that was
    never made, files of a rewriting."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "read").mkdir()
    sink(root, read(records(), tmp_path / "read"))
    search.update(root, "default")
    below = s3.lies_at(root.key)
    theirs = next(one for one in holding(below, MARKS) if one.startswith("events/"))
    content = (below / theirs).read_bytes()
    for place in (
        root / "events" / "date=2026-01-01" / "part-00009-c000.zstd.parquet",
        root / "recursions" / "date=2026-01-01" / "part-00000-c000.zstd.parquet",
        root / SCRATCH / "ab12" / "date=2026-01-01" / "part-00000-c000.zstd.parquet",
    ):
        obstore.put(place.store, place.key, content)
    before = {*holding(below, MARKS), *holding(tmp_path / "cache", MARKS)}
    assert len(before) >= 8 and any(one.startswith("recursions/") for one in before)
    receipt = forget(root, "default", PERSON)
    assert "elsewhere" in receipt and receipt["may_remain"] == {}
    assert holding(below, MARKS) == {}
    assert holding(tmp_path / "cache", MARKS) == {}
    names = [str(one.relative_to(below)) for one in below.rglob("*") if one.is_file()]
    assert [one for one in names if not list(of_file(one))] == []
    assert WORD not in str(receipt)
