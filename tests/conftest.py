"""The two tiers of tests, and histories of the real data, built once and read by many tests."""

import gc
import os
import sys
from pathlib import Path

import hypothesis
import pytest

from streams.files import file_runner
from tests import durations
from tests.acceptance import ledger, reflexion, sgd, tau_bench
from tests.command import checked, ndjson, once
from tests.shared_data import SGD, shared

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["TURNFOLD_MEANING"] = "off"  # no test fetches a model (tests/command.py)
# the tests start hundreds of processes: each would compile all it loads, half of its time

TAU = ("data", "tau_bench", "gpt-4o-airline_tasks_0-29.json.gz")
REFLEXION = ("data", "reflexion", "hotpotqa_react_reflexion_trials_1-2.txt.gz")
LEDGER = ("data", "corrections", "ledger.json")

QUICK_WITH_A_BROKER = frozenset({
    "test_agents", "test_fetching", "test_lag", "test_settings", "test_topics",
})  # fmt: skip
"""The modules of tests/kafka that are in the first tier."""
NIGHTLY_FOLDERS = frozenset({
    "deploy", "embedding", "fault", "inspector", "kafka", "llm", "object_store",
})  # fmt: skip
"""Folders whose tests are `nightly`, those aside that are marked `component`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--without",
        default="",
        metavar="NAME,...",
        help="leave out tests that need what this machine lacks: buildah, cc, "
        "chromium, go, postgresql, prometheus",
    )
    parser.addoption(
        durations.OPTION,
        metavar="FILE",
        help="write the seconds and CPU seconds of all tests and modules into a table",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks `nightly` what needs more than a moment, by its folder; deselects what cannot run."""
    for item in items:
        folder = item.path.parent.name
        if any(item.iter_markers("soak")) or any(item.iter_markers("component")):
            continue
        if folder in NIGHTLY_FOLDERS and item.path.stem not in QUICK_WITH_A_BROKER:
            item.add_marker(pytest.mark.nightly)
    absent = set(config.getoption("--without").split(","))
    lacking = [item for item in items if absent & _needs(item)]
    config.hook.pytest_deselected(items=lacking)
    items[:] = [item for item in items if not absent & _needs(item)]


def _needs(item: pytest.Item) -> set[str]:
    """The programs that a test needs beside Python."""
    return {name for marker in item.iter_markers("needs") for name in marker.args}


class Failures:
    """Tells each failure as it happens: a run that is stopped never comes to its summary."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            reason = report.longreprtext.rstrip().splitlines() or [""]
            self._terminal.write_line(f"\nFAILED {report.nodeid} ({report.when})")
            self._terminal.write_line("\n".join(reason[-25:]))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")  # registered by its own hook
    if terminal is not None and "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(Failures(terminal), "failures-at-once")
    durations.register(config)


def pytest_unconfigure() -> None:
    """Hypothesis leaves a callback with the collector, by which modules outlive the interpreter;
    DuckDB would then name all that it has as leaked, below the tests' result."""
    gc.callbacks.clear()


# how long an example takes depends on what else the machine does; a change is judged by examples
# that do not change, the soak tests look for others (`--hypothesis-profile random`)
hypothesis.settings.register_profile("same", deadline=None, derandomize=True)
hypothesis.settings.register_profile("random", deadline=None)
hypothesis.settings.load_profile("same")


@pytest.fixture(scope="session")
def worker(request: pytest.FixtureRequest) -> str:
    """The name of this test process; `master` where there is but one."""
    config = getattr(request.config, "workerinput", None)
    return str(config["workerid"]) if config else "master"


@pytest.fixture(scope="session")
def ledger_run(tmp_path_factory: pytest.TempPathFactory, worker: str) -> Path:
    """`records.ndjson` and `history` of the ledger of corrections."""
    source = shared(*LEDGER)

    def build(folder: Path) -> None:
        file = ndjson(folder / "records.ndjson", ledger.records(source))
        checked(file_runner.run([str(file)], folder / "history"))

    return once(tmp_path_factory, worker, "ledger", build)


@pytest.fixture(scope="session")
def reflexion_run(tmp_path_factory: pytest.TempPathFactory, worker: str) -> Path:
    """`records.ndjson` and `history` of the Reflexion runs."""
    source = shared(*REFLEXION)

    def build(folder: Path) -> None:
        file = ndjson(folder / "records.ndjson", reflexion.records(source))
        checked(file_runner.run([str(file)], folder / "history"))

    return once(tmp_path_factory, worker, "reflexion", build)


@pytest.fixture(scope="session")
def sgd_run(tmp_path_factory: pytest.TempPathFactory, worker: str) -> Path:
    """`records.ndjson` and `history` of all SGD turns."""
    source = shared(*SGD)

    def build(folder: Path) -> None:
        sgd.write(source, folder / "records.ndjson")
        checked(file_runner.run([str(folder / "records.ndjson")], folder / "history"))

    return once(tmp_path_factory, worker, "sgd", build)


@pytest.fixture(scope="session")
def tau_items(tmp_path_factory: pytest.TempPathFactory, worker: str) -> Path:
    """`items.jsonl`: the tau-bench runs as the openai-chat importer takes them."""
    source = shared(*TAU)

    def build(folder: Path) -> None:
        ndjson(folder / "items.jsonl", tau_bench.items(source))

    return once(tmp_path_factory, worker, "tau", build)
