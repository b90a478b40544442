"""A history of `run` in a bucket of which a part is missing, or was put back from another moment:
who writes it is refused before anything changes, and is told what to do."""

import json
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sinks.delta import History
from sinks.errors import HistoryWriteError
from sinks.history import query
from sinks.object_store import ObjectPath
from streams.apps.maintenance import forget
from streams.errors import ConfigurationError
from streams.files import belonging, local
from streams.files.access import writing
from streams.files.batches import InStore
from streams.files.manifest import Settings
from streams.generations.in_store import backfill_in_store
from tests.command import ndjson, turn
from tests.object_store.cli import turnfold
from tests.object_store.s3_server import S3Server

pytestmark = pytest.mark.nightly

Part = Callable[[Path, Path], None]
"""Puts a part of the first folder into the second."""


def turns(tmp_path: Path, name: str) -> Path:
    given = [turn(f"{name}{number}", session_id=name) for number in range(3)]
    return ndjson(tmp_path / f"{name}.ndjson", given)


def swapped(name: str) -> Part:
    def swap(source: Path, target: Path) -> None:
        shutil.rmtree(target / name)
        shutil.copytree(source / name, target / name)

    return swap


def all_but_the_log(source: Path, target: Path) -> None:
    for one in source.iterdir():
        if one.is_dir() and one.name != "_run":
            swapped(one.name)(source, target)


def lost(name: str) -> Part:
    return lambda source, target: shutil.rmtree(target / name)


PARTS: list[tuple[Part, str]] = [
    (swapped("_run"), "newer than the log in _run"),
    (all_but_the_log, "older than the log in _run"),
    (swapped("sessions"), "the table sessions is older than the log in _run"),
    (lost("events"), "the table events is older than the log in _run"),
]


def put_back(copy: Path, place: Path) -> None:
    shutil.rmtree(place)
    shutil.copytree(copy, place)


def test_parts_of_two_moments_are_refused_by_who_writes(
    s3: S3Server, root: ObjectPath, machine: Path, tmp_path: Path
) -> None:
    """With the store of either moment."""
    at, before, after = s3.lies_at(root.key), tmp_path / "before", tmp_path / "after"
    second, third = (turns(tmp_path, name) for name in ("second", "third"))
    local.run([str(turns(tmp_path, "first"))], root)
    stores = shutil.copytree(machine, tmp_path / "stores-before")
    shutil.copytree(at, before)
    local.run([str(second)], root)
    newer_stores = shutil.copytree(machine, tmp_path / "stores-after")
    shutil.copytree(at, after)
    for part, why in PARTS:
        put_back(after, at)
        put_back(newer_stores, machine)
        part(before, at)
        keys = s3.objects(root.key)
        for file in (second, third):
            reason = refused(partial(local.run, [str(file)], root))
            assert why in reason and "put the whole prefix back" in reason
            put_back(stores, machine)
        assert why in refused(lambda: forget(root, "default", "u1"))
        assert s3.objects(root.key) == keys
        code, findings = doctor(root)
        assert code == 2 and why in findings and "Put the whole prefix back" in findings


def test_a_history_put_back_as_a_whole_goes_on(
    s3: S3Server, root: ObjectPath, machine: Path, tmp_path: Path
) -> None:
    """On a machine whose store is newer, too. So does one whose notes name no tables."""
    at, before = s3.lies_at(root.key), tmp_path / "before"
    first, second = turns(tmp_path, "first"), turns(tmp_path, "second")
    local.run([str(first)], root)
    shutil.copytree(at, before)
    local.run([str(second)], root)
    for _ in range(2):
        shutil.rmtree(at)
        shutil.copytree(before, at)
        assert local.run([str(second)], root)["applied"] == 3
        for note in before.glob("_run/*.json"):
            note.write_text(re.sub(r',"gave":\{[^}]*\}', "", note.read_text()))
            assert "gave" not in json.loads(note.read_text())
    assert doctor(root)[0] == 0


def test_a_part_of_the_log_that_is_lost_is_named_with_what_to_do(
    s3: S3Server, root: ObjectPath, machine: Path, tmp_path: Path
) -> None:
    """The machine that has written last goes on all the same; another one cannot, and says why."""
    at = s3.lies_at(root.key)
    first, second, third, fourth = (
        [str(turns(tmp_path, name))] for name in ("first", "second", "third", "fourth")
    )
    local.run(first, root)
    with writing(root) as (store, tables):
        InStore(store, tables, root).rebase()
    for files in (second, third):
        local.run(files, root)
    whole, stores = tmp_path / "whole", tmp_path / "whole-stores"
    shutil.copytree(at, whole)
    shutil.copytree(machine, stores)
    for pattern in ("*4-*.rows", "00000004.json", "*3-*.sst", "00000003.json", "00000001.json"):
        put_back(whole, at)
        put_back(stores, machine)
        gone = next((at / "_run").glob(pattern))
        gone.unlink()
        code, findings = doctor(root)
        assert code == 2 and gone.name in findings and "on the machine that wrote last" in findings
        if gone.name != "00000001.json":
            assert local.run(fourth, root)["applied"] == 3
        shutil.rmtree(machine)
        reason = refused(partial(local.run, second, root))
        assert gone.name in reason and "put the whole prefix back" in reason
        if gone.name != "00000001.json":
            assert "call this on the machine that wrote last" in reason


def test_rows_that_tables_have_not_got_are_told_by_doctor_and_awaited_by_backfill(
    root: ObjectPath, machine: Path, desks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a `run` that was ended behind its note. The next one writes them before all else."""
    monkeypatch.setattr(belonging, "PATIENCE", 0.0)
    local.run([str(turns(tmp_path, "first"))], root)
    second = [str(turns(tmp_path, "second"))]
    with monkeypatch.context() as patched, pytest.raises(HistoryWriteError):
        patched.setattr(History, "append", denied_at("events"))
        local.run(second, root)
    assert query(root, "SELECT count(*) FROM events").rows == [(3,)]
    code, found = doctor(root)
    assert code == 1 and "the table events has not got the newest batch's rows yet" in found
    backfill = partial(backfill_in_store, root, "plain", Settings(extractor="none"))
    assert "the table events has not got" in refused(backfill)
    assert local.run(second, root)["read"] == 0
    assert query(root, "SELECT count(*) FROM events").rows == [(6,)]
    assert doctor(root)[0] == 0
    backfill()


def denied_at(table: str) -> Callable[..., bool]:
    real = History.append

    def append(self: History, name: str, *given: Any) -> bool:
        if name == table:
            raise HistoryWriteError("the key may not do this")
        return real(self, name, *given)

    return append


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(ConfigurationError) as refusal:
        action()
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def doctor(root: ObjectPath) -> tuple[int, str]:
    """Its exit code, and what it says of the batches."""
    report = turnfold("doctor", "--json", "--history", str(root)).json()
    found = [one for one in report["findings"] if one["check"] == "batches"]
    status = max((one["status"] for one in found), key=["ok", "warning", "wrong"].index)
    return ["ok", "warning", "wrong"].index(status), json.dumps(found)
