"""Seconds and CPU seconds of tests: `pytest --durations-table FILE` writes a table of them.

A row per test and per module, tab-separated, the most CPU first: kind, name, seconds, CPU seconds.
CPU is that of the test process and of all processes below it, so a broker or a server counts where
it works; what a fixture shares counts for the test that starts it.
"""

import os
from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

OPTION = "--durations-table"
CPU = "cpu_seconds"
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


class Row(NamedTuple):
    """`step` is that of `.ci/run`, which puts it before each line. `seconds` of a test are those of
    its call, without fixtures; of a module, of everything."""

    step: str
    kind: str
    name: str
    seconds: float
    cpu_seconds: float


def read(table: Path) -> list[Row]:
    """The rows of a table: of pytest's own, or of that which `.ci/run` gathers."""
    rows = []
    for line in table.read_text().splitlines():
        *step, kind, name, seconds, cpu_seconds = line.split("\t")
        rows.append(Row("".join(step), kind, name, float(seconds), float(cpu_seconds)))
    return rows


def tree_cpu_seconds() -> float:
    """CPU time so far of this process and of all below it, ended ones included."""
    children: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for pid, stat in _processes():
        fields = stat.rpartition(")")[2].split()
        children.setdefault(int(fields[1]), []).append(pid)
        ticks[pid] = sum(map(int, fields[11:15]))
    spent, pending = 0, [os.getpid()]
    while pending:
        pid = pending.pop()
        spent += ticks.get(pid, 0)
        pending.extend(children.get(pid, ()))
    return spent / TICKS_PER_SECOND


def _processes() -> Iterator[tuple[int, str]]:
    """Numbers of processes with the text of their /proc/PID/stat; empty where there is no /proc."""
    proc = Path("/proc")
    for entry in proc.iterdir() if proc.exists() else ():
        if entry.name.isdecimal():
            try:
                yield int(entry.name), (entry / "stat").read_text(errors="replace")
            except OSError:
                continue  # it has ended


class CpuOfReports:
    """Adds to each report the CPU time since the one before; runs where the tests run."""

    def __init__(self) -> None:
        self._before = tree_cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        report = yield
        now = tree_cpu_seconds()
        report.user_properties.append((CPU, now - self._before))
        self._before = now
        return report


class Table:
    """Collects the reports of all test processes and writes the table at the end."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._tests: dict[str, Row] = {}
        self._module_seconds: dict[str, float] = defaultdict(float)
        self._module_cpu: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        cpu = sum(float(str(value)) for name, value in report.user_properties if name == CPU)
        module = report.nodeid.partition("::")[0]
        self._module_seconds[module] += report.duration
        self._module_cpu[module] += cpu
        if report.when == "call":
            self._tests[report.nodeid] = Row("", "test", report.nodeid, report.duration, cpu)

    def pytest_sessionfinish(self) -> None:
        modules = [
            Row("", "module", name, seconds, self._module_cpu[name])
            for name, seconds in self._module_seconds.items()
        ]
        rows = sorted([*modules, *self._tests.values()], key=lambda row: -row.cpu_seconds)
        text = "".join(
            f"{row.kind}\t{row.name}\t{row.seconds:.3f}\t{row.cpu_seconds:.2f}\n" for row in rows
        )
        self._file.write_text(text)


def register(config: pytest.Config) -> None:
    """Measures where the option is given: CPU in each test process, the table in the first."""
    file = config.getoption(OPTION)
    if file is None:
        return
    worker = "PYTEST_XDIST_WORKER" in os.environ
    if worker or not config.getoption("numprocesses", None):
        config.pluginmanager.register(CpuOfReports(), "cpu-of-reports")
    if not worker:
        config.pluginmanager.register(Table(Path(file).absolute()), "durations-table")
