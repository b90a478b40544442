"""The one list of places where something of a person may be stored (docs/erasure.md)."""

import pytest

from schemas.rows import TABLES
from streams.apps.personal_data import PLACES, of_file

FILES = {
    "events/date=2026-01-01/part-0-c000.zstd.parquet": "data files of the tables",
    "events/date=2026-01-01/part-0-c000.zstd.parquet#1": "data files of the tables",
    "events/date=2026-01-01/.part-0-c000.zstd.parquet": "data files of the tables",
    "events/_delta_log/00000000000000000000.json": "logs of the tables",
    "_flushed.json": "logs of the tables",
    "_store/000012.sst": "rows of the folds",
    "_search/0f.0.sqlite-wal": "search indexes and vectors",
    "_inbox/00000000000000000001.log": "the log of a server",
    "_erasures/1.broken": "requests of erasure",
    "_forgetting.json": "the note of an erasure",
    "_forgotten.json": "who is forgotten",
    "_erased/ab/cd.json": "who is forgotten",
    "_source/records.parquet": "work of `backfill`",
    "._forgetting.json-1a2b3c4d": "files that were being replaced",
    "_erasures/.1.json-1a2b3c4d": "files that were being replaced",
    "generations/.old/events/date=2026-01-01/a.parquet": "work of `backfill`",
    "_local/server.log": "a local server",
    "turnfold.json": "settings and locks",
}


@pytest.mark.parametrize("path", FILES)
def test_each_file_has_its_place(path: str) -> None:
    names = {one.name for one in of_file(path)}
    assert FILES[path] in names
    if not path.startswith("generations/"):
        assert FILES[path] in {one.name for one in of_file(f"generations/new/{path}")}


@pytest.mark.parametrize("path", ["notes.txt", "_new/rows", "events", "_storeroom/1", "a/b"])
def test_a_file_that_is_not_declared_has_none(path: str) -> None:
    assert not list(of_file(path))
    assert not list(of_file(f"generations/new/{path}"))


def test_what_may_remain_in_a_folder_is_counted() -> None:
    for one in PLACES:
        if one.left == "counted":
            assert one.clear is not None, one.name


def test_every_table_is_there() -> None:
    for name in TABLES:
        assert list(of_file(f"{name}/date=2026-01-01/a.parquet"))
