"""`turnfold admin doctor` without a broker: what it finds, and its exit codes."""

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from rocksdict import Options, Rdict

from streams.doctor import disk_checks
from streams.files.store import VALUES
from streams.pipeline.row_formats import OLDEST, ROW_FORMAT
from streams.search import store as search_store
from tests.command import environment, snapshot, turnfold
from tests.contract.doctor import SECRET, doctor, found, obeying, whole
from tests.fault.disk import can_mount
from tests.next_format import NEXT, TODAY, register

pytestmark = pytest.mark.nightly


@pytest.fixture
def history(searched: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(searched, tmp_path / "history"))


def test_all_is_well_with_a_history_and_nothing_is_changed(history: Path, tmp_path: Path) -> None:
    before = snapshot(history)
    report = found(tmp_path, "--history", history)
    bad = [one for some in report.values() for one in some if one["status"] == "wrong"]
    assert not bad
    assert report["row format"][0]["found"].endswith(f"_store: {ROW_FORMAT}")
    assert report["search index"][0]["status"] == "ok"
    assert snapshot(history) == before


def test_without_anything_it_looks_at_settings_and_this_machine(tmp_path: Path) -> None:
    assert set(found(tmp_path)) == {"version", "settings", "open files", "meaning"}


def test_a_history_that_is_not_there_is_a_warning_and_is_not_made(tmp_path: Path) -> None:
    report = found(tmp_path, "--history", tmp_path / "mistyped")
    assert report["history"][0]["status"] == "warning"
    assert not list(tmp_path.iterdir())
    (tmp_path / "empty").mkdir()
    assert found(tmp_path, "--history", tmp_path / "empty")["history"][0]["status"] == "ok"


def test_a_folder_that_cannot_be_written_is_not_called_damaged(history: Path) -> None:
    for folder in (history, history / "_store", history / "_search"):
        folder.chmod(0o500)
    before = whole(history)
    done = obeying("--history", history, "-o", "json")
    report = {one["check"]: one["status"] for one in done.json()["findings"]}
    assert report["disk of history"] == "wrong"
    assert {report[name] for name in ("tables", "row format", "search index")} == {"ok"}
    assert whole(history) == before


if can_mount():  # the modes above do where it cannot be

    def test_a_read_only_mount_is_called_that(history: Path) -> None:
        mount = (
            f'mount --bind {history} {history} && mount -o remount,ro,bind {history} && exec "$@"'
        )
        apart = ("unshare", "--mount", "sh", "-ec", mount, "sh")
        done = obeying("--history", history, "-o", "json", before=apart)
        report = {one["check"]: one for one in done.json()["findings"]}
        assert "mounted read-only" in report["disk of history"]["found"]
        assert {report[name]["status"] for name in ("tables", "row format", "search index")} == {
            "ok"
        }


def test_no_file_of_a_history_is_touched(history: Path, tmp_path: Path) -> None:
    before = whole(history)
    assert found(tmp_path, "--history", history)["row format"][0]["status"] == "ok"
    assert whole(history) == before


@pytest.mark.parametrize(
    ("history_", "env"),
    [
        ("s3://u:MARKED-5ecret@b/h", {}),
        ("ftp://host/h", {}),
        ("a-file/h", {}),
        ("a-file", {}),
        ("h", {"TURNFOLD_METRICS_GUARDED": "maybe"}),
        ("h", {"TURNFOLD_KAFKA_PARTITIONS": "x"}),
    ],
)
def test_what_keeps_it_from_beginning_is_a_finding(
    history_: str, env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "a-file").write_text("x")
    done = doctor(tmp_path, "-o", "json", "--history", history_, **env)
    assert done.code == 2, done
    assert done.json()["status"] == "wrong"
    assert SECRET not in done.out + done.err


def test_a_umask_that_is_none_is_a_finding_and_others_refuse_it(tmp_path: Path) -> None:
    env = environment(TURNFOLD_UMASK="999")
    done = turnfold("admin", "doctor", "-o", "json", cwd=tmp_path, env=env)
    assert (done.code, done.err) == (2, "")
    assert any("'999' is not a umask" in one["found"] for one in done.json()["findings"])
    assert turnfold("admin", "config", cwd=tmp_path, env=env).code == 3


def test_a_folder_above_without_permission_is_a_finding(tmp_path: Path) -> None:
    above = tmp_path / "theirs"
    above.mkdir()
    above.chmod(0)
    done = obeying("--history", above / "h", "-o", "json")
    assert done.code == 2
    report = {one["check"]: one for one in done.json()["findings"]}
    assert "Permission denied" in report["history"]["found"]
    above.chmod(0o700)


def test_a_file_of_settings_that_is_no_toml_is_exit_code_3(tmp_path: Path) -> None:
    (tmp_path / "turnfold.toml").write_text("not TOML")
    done = turnfold("admin", "doctor", "-o", "json", cwd=tmp_path)
    assert (done.code, done.out) == (3, "")


def test_one_disk_has_one_path_and_one_warning_is_one(tmp_path: Path) -> None:
    (tmp_path / "h").mkdir()
    report = found(tmp_path, "--history", "h")
    assert all(one["found"].startswith(f"{tmp_path}/h: ") for one in report["disk of history"])
    assert ", 1 warning, " in doctor(tmp_path, TURNFOLD_NONE="1").out


def test_advice_can_be_typed(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = found(tmp_path, "--bootstrap", "127.0.0.1:1")["broker"]
    assert one["do"].endswith("turnfold kafka lag --bootstrap 127.0.0.1:1")
    (one,) = found(tmp_path, "--bootstrap", "127.0.0.1:1", "--topic-prefix", "a.")["broker"]
    assert one["do"].endswith("turnfold kafka lag --bootstrap 127.0.0.1:1 --topic-prefix a.")
    monkeypatch.setattr("streams.doctor.history.FORMAT", search_store.FORMAT + 1)
    (one,) = found(tmp_path, "--history", history)["search index"]
    assert f"turnfold search --history {history} --tenant" in one["do"]
    monkeypatch.setattr("streams.doctor.history.FILES", 0)
    (one,) = found(tmp_path, "--history", history)["tables"]
    assert one["do"] == f"turnfold admin compact --history {history}"


def test_a_damaged_index_is_not_called_one_of_another_format(history: Path, tmp_path: Path) -> None:
    index = next((history / "_search").glob("*.sqlite"))
    index.write_bytes(bytes(4096) + index.read_bytes()[4096:])
    (one,) = found(tmp_path, "--history", history)["search index"]
    assert one["status"] == "warning"
    assert "cannot be read" in one["found"]
    assert "format" not in one["found"]


@pytest.mark.parametrize("secret", [f"{SECRET}\n", f" {SECRET}"])
def test_a_secret_with_a_line_break_is_a_warning(secret: str, tmp_path: Path) -> None:
    done = doctor(tmp_path, TURNFOLD_KAFKA_SASL_PASSWORD=secret)
    assert "TURNFOLD_KAFKA_SASL_PASSWORD: begins or ends with" in done.out
    assert SECRET not in done.out + done.err


def test_metrics_that_the_network_guards_are_no_warning(tmp_path: Path) -> None:
    given = {"TURNFOLD_METRICS_PORT": "0.0.0.0:9101", "TURNFOLD_METRICS_GUARDED": "true"}
    assert [one["status"] for one in found(tmp_path, **given)["settings"]] == ["ok"]


def test_a_folder_with_other_files_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_text("x")
    report = found(tmp_path, "--history", tmp_path / "photos")
    assert report["history"][0]["status"] == "wrong"


@pytest.mark.parametrize("version", [OLDEST - 1, ROW_FORMAT + 1])
def test_rows_of_another_version_are_wrong(version: int, history: Path, tmp_path: Path) -> None:
    store = Rdict(str(history / "_store"), Options(raw_mode=True))
    store.put(VALUES + b"format", msgspec.msgpack.encode(version))
    store.close()
    (one,) = found(tmp_path, "--history", history)["row format"]
    assert one["status"] == "wrong"
    assert f": {version}, this version writes {ROW_FORMAT}" in one["found"]
    assert ("newer" in one["do"]) == (version > ROW_FORMAT)


@pytest.mark.parametrize(("version", "after"), [(TODAY, None), (NEXT, "u\0default\0a")])
def test_rows_that_are_upgraded_next_are_a_warning(
    version: int,
    after: str | None,
    history: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(monkeypatch)
    store = Rdict(str(history / "_store"), Options(raw_mode=True))
    store.put(VALUES + b"format", msgspec.msgpack.encode(version))
    if after is not None:
        store.put(VALUES + b"format_after", msgspec.msgpack.encode(after))
    store.close()
    (one,) = found(tmp_path, "--history", history)["row format"]
    assert one["status"] == "warning"
    assert ("not all of them" in one["found"]) == (after is not None)
    assert "docs/upgrades.md" in one["do"]


def test_an_index_of_another_format_is_a_warning(
    history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streams.doctor.history.FORMAT", search_store.FORMAT + 1)
    (one,) = found(tmp_path, "--history", history)["search index"]
    assert one["status"] == "warning"


def test_a_table_whose_log_cannot_be_read_is_wrong(history: Path, tmp_path: Path) -> None:
    for entry in (history / "events" / "_delta_log").iterdir():
        entry.write_text("{")
    (one,) = found(tmp_path, "--history", history)["tables"]
    assert one["status"] == "wrong"
    assert "events" in one["found"]


def test_a_disk_without_room_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_checks, "FULL", 1 << 60)
    report = found(tmp_path, "--history", tmp_path / "history")
    (one,) = (one for one in report["disk of history"] if one["status"] == "wrong")
    assert "`turnfold admin compact` is no help" in one["do"]


def test_the_file_system_of_a_folder_is_known() -> None:
    assert disk_checks._file_system(Path("/proc/self")) == "proc"
    assert disk_checks._file_system(Path("/sys/kernel")) == "sysfs"


def test_a_slow_disk_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_checks, "SLOW_SYNC", 0.0)
    assert [one.status for one in disk_checks.disk("d", tmp_path) if "fsync" in one.check] == [
        "warning"
    ]


def test_few_open_files_are_a_warning(tmp_path: Path) -> None:
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256));"
        "from streams.doctor.disk_checks import open_files; print(open_files().status)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout == b"warning\n"


def test_a_broker_that_is_away_is_wrong_within_seconds(tmp_path: Path) -> None:
    (one,) = found(tmp_path, "--bootstrap", "127.0.0.1:1")["broker"]
    assert one["status"] == "wrong"
    assert "127.0.0.1:1" in one["found"]


def test_probe_needs_a_broker(tmp_path: Path) -> None:
    done = turnfold("admin", "doctor", "--probe", cwd=tmp_path)
    assert done.code == 2
    assert "--bootstrap" in done.err


def test_a_worker_s_folder_of_another_format_is_a_warning(tmp_path: Path) -> None:
    from streams.doctor.tables import tables
    from streams.kafka.transport.disk_rows import DiskRows
    from streams.kafka.transport.marker import TablePosition

    for lane in ("session-0", "session-1"):
        rows = DiskRows(tmp_path / "app" / lane)
        rows.open()
        rows.commit(TablePosition())
        rows.close()
    assert [one.status for one in tables(tmp_path / "app")] == ["ok"]
    store = Rdict(str(tmp_path / "app" / "session-1"), Options(raw_mode=True))
    store.put(b"\0standing", msgspec.msgpack.encode((ROW_FORMAT + 1, {})))
    store.close()
    (one,) = tables(tmp_path / "app")
    assert one.status == "warning"
    assert "session-1" in one.found
