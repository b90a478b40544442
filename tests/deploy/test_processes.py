"""Every process of docker-compose.yml and of the chart is started as it stands there, over a real
broker, becomes healthy by its own check, does its work together with the others, and ends."""

import json
import re
import time
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest

from tests.command import ndjson, rows, turn, turnfold
from tests.deploy.conftest import COMPOSE, DOCKERFILE, Chart, Tool, merged
from tests.deploy.containers import Container, Containers
from tests.deploy.test_chart import LEAST, pods
from tests.fault.disk import can_mount
from tests.kafka.working import shared_settings
from tests.waiting import WITHIN, until

pytestmark = pytest.mark.needs("go")

PARTS = ("worker", "sink", "serve")
USED = "$(POD_NAME)"
INDEX = "$(JOB_COMPLETION_INDEX)"
AGAIN = {"backfill": {"enabled": True, "generation": "again", "parts": 2}}


@pytest.fixture
def image(tool: Tool) -> tuple[list[str], dict[str, str]]:
    """The entry point and environment of the image."""
    last = tool.json("dockerfile", DOCKERFILE)["Stages"][-1]["Instructions"]
    (entry,) = [one["parsed"]["CmdLine"] for one in last if one["name"] == "ENTRYPOINT"]
    (env,) = [one["parsed"]["Env"] for one in last if one["name"] == "ENV"]
    return entry, {one["Key"]: one["Value"] for one in env if one["Key"] != "PATH"}


def settings() -> dict[str, str]:
    """What differs on this machine: the broker, that it is one, and that tests share it."""
    shared = shared_settings()
    return {
        "TURNFOLD_KAFKA_BOOTSTRAP": shared.bootstrap,
        "TURNFOLD_KAFKA_TOPIC_PREFIX": shared.topic_prefix,
        "TURNFOLD_KAFKA_REPLICATION": "1",
    }


def composed(tool: Tool, image: tuple[list[str], dict[str, str]]) -> dict[str, Container]:
    """The services that run the image."""
    entry, env = image
    services = tool.json("compose", COMPOSE)["services"]
    return {
        name: Container(
            name,
            [*(one["entrypoint"] or entry), *(one["command"] or ())],
            env | {key: str(value) for key, value in (one.get("environment") or {}).items()},
            one.get("healthcheck", {}).get("test", ())[1:],
        )
        for name, one in services.items()
        if one["image"] == "turnfold"
    }


def charted(chart: Chart, image: tuple[list[str], dict[str, str]]) -> dict[str, Container]:
    """The containers of the chart's pods, for the first pod of each."""
    entry, env = image
    found = {}
    for component, spec in pods(chart.manifests(merged(LEAST, AGAIN))):
        (one,) = spec["containers"]
        variables = {v["name"]: v.get("value", f"mem-turnfold-{component}-0") for v in one["env"]}
        command = one.get("command", entry) + one.get("args", [])
        expanded = [word.replace(USED, variables.get("POD_NAME", "")) for word in command]
        found[component] = Container(component, expanded, env | variables)
    return found


def in_folder(tmp_path: Path, settings: dict[str, str]) -> Containers:
    (tmp_path / "containers").mkdir()
    return Containers(tmp_path / "containers", settings)


def remembers(containers: Containers, token: str) -> None:
    """A turn that is posted is folded by the worker, read from the server, written by the sink."""
    url, session = f"http://127.0.0.1:{containers.api}", f"s-{time.time_ns()}"
    record = turn(f"e-{session}", session_id=session, user_input="I moved to Lyon.")
    head = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    posted = Request(f"{url}/v1/records", json.dumps(record).encode(), head)
    with urlopen(posted, timeout=WITHIN) as reply:
        assert reply.status in (200, 201, 202)

    def kept() -> bool:
        try:
            with urlopen(
                Request(f"{url}/v1/sessions/{session}", headers=head), timeout=WITHIN
            ) as got:
                return bool(json.load(got)["session_id"] == session)
        except (HTTPError, URLError):
            return False

    until(kept, told=lambda: containers.log("worker") + containers.log("serve"))
    history, query = containers.folder / "data" / "history", "SELECT session_id FROM events"
    until(lambda: (session,) in rows(history, query), told=lambda: containers.log("sink"))


def test_compose_services_start_become_healthy_work_and_end(
    tool: Tool, image: tuple[list[str], dict[str, str]], tmp_path: Path
) -> None:
    services = composed(tool, image)
    assert set(services) == {*PARTS, "keys", "doctor", "run"}
    with in_folder(tmp_path, settings()) as containers:
        work(services, containers)


def work(services: dict[str, Container], containers: Containers) -> None:
    """Those of compose start, become healthy, work and end."""
    made = containers.run(services["keys"])
    assert made.returncode == 0, made.stderr
    for name in PARTS:
        containers.start(services[name])
    for name in PARTS:
        containers.await_healthy(services[name])
    remembers(containers, made.stdout.strip())
    checked = containers.run(services["doctor"])
    assert checked.returncode == 1, checked  # one broker, no TLS, metrics for all
    assert "WRONG" not in checked.stdout
    for name in PARTS:
        assert containers.stop(services[name]) == 0, containers.log(name)


def test_a_contained_process_can_write_its_own_folders_only(tmp_path: Path) -> None:
    """Else the others would show nothing of a root file system that cannot be written."""
    (tmp_path / "own").mkdir()
    containers = Containers(tmp_path / "own", {})
    for place, code in ((containers.folder / "tmp" / "x", 0), (tmp_path / "x", 1)):
        done = containers.run(Container("probe", ["touch", str(place)], {}))
        assert done.returncode == (code if can_mount() else 0), done


def test_compose_folds_a_file_without_kafka(
    tool: Tool, image: tuple[list[str], dict[str, str]], tmp_path: Path
) -> None:
    run = composed(tool, image)["run"]
    (tmp_path / "files").mkdir()
    ndjson(tmp_path / "files" / "events.ndjson", [turn("e1")])
    with in_folder(tmp_path, {}) as containers:
        done = containers.run(run, cwd=tmp_path / "files")
    assert done.returncode == 0, done.stderr
    history = containers.folder / "data" / "by-file"
    assert rows(history, "SELECT event_id FROM events") == [("e1",)]


def test_pods_of_the_chart_start_become_ready_work_and_end(
    chart: Chart, image: tuple[list[str], dict[str, str]], tmp_path: Path
) -> None:
    found = charted(chart, image)
    assert set(found) == {*PARTS, "test", "backfill"}
    with in_folder(tmp_path, settings()) as containers:
        keys = containers.folder / "keys" / "keys.json"
        made = turnfold(
            "admin", "keys", "add", "--keys", keys, "--tenant", "default", "--role", "admin"
        )
        for name in PARTS:
            containers.start(found[name])
        probes = probes_of(chart)
        for name in PARTS:
            for path in probes[name]:
                until(partial(answers, containers, name, path), told=partial(containers.log, name))
        remembers(containers, made.out.strip())

        test = found["test"]
        assert re.fullmatch(r"mem-turnfold-serve:8400", test.env["TURNFOLD_METRICS_PORT"])
        containers.metrics["test"] = containers.api  # what the service's name leads to
        done = containers.run(test)
        assert done.returncode == 0, done

        assert containers.stop(found["worker"]) == 0, containers.log("worker")
        containers.start(found["worker"])  # the same pod again, with its volume
        again = partial(answers, containers, "worker", "/readyz")
        until(again, told=partial(containers.log, "worker"))
        remembers(containers, made.out.strip())
        folds_again(containers, found["backfill"])
        for name in PARTS:
            assert containers.stop(found[name]) == 0, containers.log(name)


def folds_again(containers: Containers, job: Container) -> None:
    """An indexed Job's pods, the last first, over the history that the sink goes on writing."""
    history, told = containers.folder / "data" / "history", []
    planned = "SELECT count(*) FROM plans"  # of each of the two turns: the last that there will be
    until(lambda: rows(history, planned) == [(2,)], told=lambda: containers.log("sink"))
    for index in ("1", "0"):
        pod = job._replace(command=[word.replace(INDEX, index) for word in job.command])
        done = containers.run(pod)
        assert done.returncode == 0, done
        told.append(done.stderr)
    assert "missing: 0/2" in told[0] and "again is complete" in told[1]

    def is_equal() -> bool:
        """Once the sink has what the worker makes of the plans."""
        words = (
            "generation",
            "diff",
            "live",
            "again",
            "--history",
            history,
            "--fail-on-change",
            "-o",
            "json",
        )
        done = turnfold(*words)
        assert done.code in (0, 4), done
        same = {one["kind"]: one["same"] for one in done.json()["kinds"]}
        return done.code == 0 and same["session"] == 2

    until(is_equal, told=lambda: containers.log("sink"))


def probes_of(chart: Chart) -> dict[str, list[str]]:
    """The paths that each pod's probes ask, those of readiness last."""
    kinds = ("startupProbe", "livenessProbe", "readinessProbe")
    found: dict[str, list[str]] = {}
    for component, spec in pods(chart.manifests(LEAST)):
        if component != "test":
            gets: list[dict[str, Any]] = [spec["containers"][0][one]["httpGet"] for one in kinds]
            assert {one["port"] for one in gets} == {"metrics"}
            found[component] = [one["path"] for one in gets]
    return found


def answers(containers: Containers, name: str, path: str) -> bool:
    """Whether a path of a container's metrics port answers 200."""
    assert containers.running[name].poll() is None, containers.log(name)
    try:
        with urlopen(f"http://127.0.0.1:{containers.metrics[name]}{path}", timeout=WITHIN) as got:
            return bool(got.status == 200)
    except (HTTPError, URLError, ConnectionError):
        return False
