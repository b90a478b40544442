"""The two tiers of tests, and histories of the real data, built once and read by many tests."""

import gc
import os
import sys
from pathlib import Path

import hypothesis
import pytest

from streams.files import local
from tests.acceptance import ledger, reflexion, sgd, tau_bench
from tests.command import checked, ndjson, once
from tests.shared_data import shared

sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# the tests start hundreds of processes: each would compile all it loads, half of its time

SGD = ("data", "sgd", "train_part.jsonl.gz")
TAU = ("data", "tau_bench", "gpt-4o-airline_tasks_0-29.json.gz")
REFLEXION = ("data", "reflexion", "hotpotqa_react_reflexion_trials_1-2.txt.gz")
LEDGER = ("data", "corrections", "ledger.json")

QUICK_WITH_A_BROKER = frozenset({
    "test_agents", "test_fetching", "test_lag", "test_settings", "test_topics",
})  # fmt: skip
"""The modules of tests/kafka that run each time; the others are `long`."""
LONG = frozenset({
    "test_access", "test_access_limits", "test_analytics", "test_api_export", "test_api_forget",
    "test_api_forget_session", "test_api_openapi", "test_api_past", "test_api_session_messages",
    "test_archive", "test_bad_files", "test_context", "test_doctor", "test_embedded_memory",
    "test_erased_ids", "test_evaluate", "test_extractor_any_text", "test_extractor_loops",
    "test_folded_again", "test_for_people", "test_forgotten_late", "test_http_client",
    "test_importers_real_data", "test_importing", "test_law_2_retention", "test_laws",
    "test_ledger", "test_local", "test_mapping", "test_mcp", "test_model_background",
    "test_reading", "test_reading_files", "test_recall", "test_replay_thrice",
    "test_retention_days", "test_search_owners", "test_sinks_history", "test_sinks_maintenance",
    "test_speed_rooms", "test_tasks_then", "test_tau_bench", "test_tracing",
})  # fmt: skip
"""Modules that take half of the time of all; so are tests/llm, tests/deploy, which needs Go, and
tests/inspector, which needs Chromium: `pytest` leaves them out."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what `pytest` leaves out and `pytest -m "fault or long"` runs, by its folder; a few
    tests elsewhere, and all of `soak`, are marked where they stand."""
    for item in items:
        folder = item.path.parent.name
        if item.get_closest_marker("soak"):
            continue
        if folder == "fault":
            item.add_marker(pytest.mark.fault)
        elif (
            (folder == "kafka" and item.path.stem not in QUICK_WITH_A_BROKER)
            or folder in ("deploy", "embedding", "inspector", "llm")
            or item.path.stem in LONG
        ):
            item.add_marker(pytest.mark.long)


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


def pytest_unconfigure() -> None:
    """Hypothesis leaves a callback with the collector, by which modules outlive the interpreter;
    DuckDB would then name all that it has as leaked, below the tests' result."""
    gc.callbacks.clear()


# how long an example takes depends on what else the machine does
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


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
        checked(local.run([str(file)], folder / "history"))

    return once(tmp_path_factory, worker, "ledger", build)


@pytest.fixture(scope="session")
def reflexion_run(tmp_path_factory: pytest.TempPathFactory, worker: str) -> Path:
    """`records.ndjson` and `history` of the Reflexion runs."""
    source = shared(*REFLEXION)

    def build(folder: Path) -> None:
        file = ndjson(folder / "records.ndjson", reflexion.records(source))
        checked(local.run([str(file)], folder / "history"))

    return once(tmp_path_factory, worker, "reflexion", build)


@pytest.fixture(scope="session")
def sgd_run(tmp_path_factory: pytest.TempPathFactory, worker: str) -> Path:
    """`records.ndjson` and `history` of all SGD turns."""
    source = shared(*SGD)

    def build(folder: Path) -> None:
        sgd.write(source, folder / "records.ndjson")
        checked(local.run([str(folder / "records.ndjson")], folder / "history"))

    return once(tmp_path_factory, worker, "sgd", build)


@pytest.fixture(scope="session")
def tau_items(tmp_path_factory: pytest.TempPathFactory, worker: str) -> Path:
    """`items.jsonl`: the tau-bench runs as the openai-chat importer takes them."""
    source = shared(*TAU)

    def build(folder: Path) -> None:
        ndjson(folder / "items.jsonl", tau_bench.items(source))

    return once(tmp_path_factory, worker, "tau", build)
