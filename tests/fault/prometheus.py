"""A real Prometheus with the shipped rules, whose durations are shorter.

with Prometheus.start(folder, scale=20) as prometheus:
    prometheus.targets({"turnfold-worker": ["127.0.0.1:9101"]})
    prometheus.until({"TurnfoldDown"})
"""

import json
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.request import urlopen

import yaml

RULES = Path(__file__).resolve().parents[2] / "docs" / "operations" / "alerts.yml"
JOBS = Path(__file__).resolve().parents[2] / "docs" / "operations" / "prometheus.yml"
TOO_LONG = 300.0
SCRAPE_SECONDS = 2
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DURATION = re.compile(r"(?<=\[)(\d+)([smhd])(?=\])|(?<=offset )(\d+)([smhd])")
LISTENS = re.compile(r'msg="Listening on" address=(\S+)')


def shortened(text: str, scale: int) -> str:
    """`5m` as seconds, divided; a range keeps four scrapes at least."""
    seconds = int(text[:-1]) * UNITS[text[-1]] / scale
    return f"{max(4 * SCRAPE_SECONDS, round(seconds))}s"


def scaled(rules: dict[str, Any], scale: int) -> dict[str, Any]:
    """The rules with all durations divided, those of `for` and those within expressions."""
    for group in rules["groups"]:
        for rule in group["rules"]:
            if "for" in rule:
                rule["for"] = shortened(rule["for"], scale)
            rule["expr"] = DURATION.sub(lambda found: shortened(found[0], scale), rule["expr"])
    return rules


class Prometheus:
    """One running server. Its jobs are the shipped ones and one of extractors."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]") -> None:
        self.folder, self.process = folder, process
        self.url = ""

    @classmethod
    def start(cls, folder: Path, scale: int) -> Self:
        folder.mkdir()
        rules = scaled(yaml.safe_load(RULES.read_text("utf-8")), scale)
        (folder / "alerts.yml").write_text(yaml.safe_dump(rules))
        shipped = yaml.safe_load(JOBS.read_text("utf-8"))
        jobs = ["turnfold-extract", *(one["job_name"] for one in shipped["scrape_configs"])]
        every = f"{SCRAPE_SECONDS}s"
        config = {
            "global": {
                "scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every,
            },
            "rule_files": [str(folder / "alerts.yml")],
            "scrape_configs": [
                {"job_name": job, "file_sd_configs": [{"files": [str(folder / f"{job}.json")]}]}
                for job in jobs
            ],
        }  # fmt: skip
        (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
        command = [
            "prometheus", f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}", "--web.listen-address=127.0.0.1:0",
        ]  # fmt: skip
        with (folder / "log").open("wb") as log:
            made = cls(folder, subprocess.Popen(command, stdout=log, stderr=log))
        made._await(lambda: LISTENS.search(made.log()) is not None, made.log)
        found = LISTENS.search(made.log())
        assert found is not None
        made.url = f"http://{found[1]}"
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def targets(self, addresses: Mapping[str, Sequence[str]]) -> None:
        """What each job scrapes from now on."""
        for job, targets in addresses.items():
            path = self.folder / f"{job}.json"
            new = path.with_suffix(".new")
            new.write_text(json.dumps([{"targets": list(targets)}]))
            new.rename(path)

    def alerts(self) -> list[dict[str, str]]:
        """The labels of the alerts that fire now."""
        with urlopen(f"{self.url}/api/v1/alerts", timeout=60) as reply:
            alerts = json.load(reply)["data"]["alerts"]
        return [alert["labels"] for alert in alerts if alert["state"] == "firing"]

    def missing(self, expected: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
        """Of these labels, those of which no alert fires now."""
        alerts = self.alerts()
        return [
            labels
            for labels in expected
            if not any(labels.items() <= alert.items() for alert in alerts)
        ]

    def until(self, *expected: Mapping[str, str]) -> None:
        """Waits until alerts with these labels fire."""
        self._await(lambda: not self.missing(expected), lambda: f"{self.missing(expected)}")

    def until_quiet(self, *allowed: str) -> None:
        """Waits until no alert fires, except those with these names."""
        self._await(
            lambda: {alert["alertname"] for alert in self.alerts()} <= set(allowed),
            lambda: f"{self.alerts()}",
        )

    def _await(self, holds: Callable[[], bool], told: Callable[[], str]) -> None:
        deadline = time.monotonic() + TOO_LONG
        while not holds():
            assert self.process.poll() is None, self.log()[-3000:]
            assert time.monotonic() < deadline, told()
            time.sleep(0.5)
