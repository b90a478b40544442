"""The command `doctor`."""

import logging
import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from sinks.errors import HistoryError
from sinks.locations import location_of
from streams import configuration, event_loop, output
from streams.commands import errors, options
from streams.commands.config import (
    OPEN_SECRET,
    class_of,
    has_open_secret,
    problems,
    settings_as_set,
)
from streams.configuration import FAMILIES
from streams.doctor.check_result import EXIT, Finding, ok, warning, worst, wrong
from streams.errors import ConfigurationError, TurnfoldError
from streams.observability.logs import quiet

MARKS = {"ok": "ok", "warning": "WARNING", "wrong": "WRONG"}


@click.command()
@click.option(
    "--history",
    envvar="TURNFOLD_HISTORY",
    metavar="PATH",
    help="Folder of the history, or its URL in an object store. Default: none is checked.",
)
@click.option(
    "--bootstrap",
    envvar="TURNFOLD_KAFKA_BOOTSTRAP",
    help="Kafka bootstrap servers. Default: no broker is checked.",
)
@options.topic_prefix
@click.option(
    "--probe",
    is_flag=True,
    help="Also write a record into the topic turnfold-doctor, made if it is missing: measures the "
    "time that a write takes, and the difference of the clocks.",
)
@options.form
@errors.reported
def doctor(history: str | None, bootstrap: str | None, probe: bool, form: str | None) -> None:
    """Check an installation, and suggest fixes.

    Checks settings, this machine, the history, and, if a broker is set, the broker, its topics and
    the memory in them. It is read-only and masks secrets. Give it the settings of the process that
    you want to check, and run it as the same user.

    Exit code: 0 without problems, 1 with warnings, 2 with errors.

    \b
    turnfold admin doctor --history memory
    turnfold admin doctor --bootstrap localhost:9092 -o json
    """
    if probe and bootstrap is None:
        raise click.UsageError("--probe needs --bootstrap")
    findings = [finding.without_secrets() for finding in _all(history, bootstrap, probe)]
    status = worst(findings)
    if form:
        rows = [finding._asdict() for finding in findings]
        output.say_as(form, {"status": status, "findings": rows}, rows)
    else:
        for finding in findings:
            _say(finding)
        count = {name: sum(finding.status == name for finding in findings) for name in MARKS}
        warnings = output.counted(count["warning"], "warning")
        output.say(f"{count['ok']} ok, {warnings}, {count['wrong']} wrong")
    if EXIT[status]:
        raise click.exceptions.Exit(EXIT[status])


def _say(finding: Finding) -> None:
    output.say(f"{MARKS[finding.status]:<8} {finding.check}: {finding.found}")
    for more in (finding.means, finding.do and f"-> {finding.do}"):
        if more:
            output.say(f"{'':<8} {more}")


def _all(history: str | None, bootstrap: str | None, probe: bool) -> Iterator[Finding]:
    from streams import __version__
    from streams.doctor import disk_checks

    yield ok("version", f"turnfold {__version__}, Python {platform.python_version()}")
    loaded: dict[str, Any] = {}
    yield from _settings(loaded, history or None, bootstrap)
    yield disk_checks.open_files()
    yield from _whole("meaning", _meaning())
    if history:
        yield from _whole("history", _history(history))
    if bootstrap is not None:
        yield from _whole("broker", _kafka(loaded, bootstrap, probe))


def _whole(check: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """An error that ends a check is reported as a finding."""
    try:
        yield from findings
    except (TurnfoldError, HistoryError, OSError) as error:
        yield wrong(check, str(error), "The rest of this check was left out.", "As the line says.")
    except ModuleNotFoundError as error:
        if (extra := errors.extra_of(error)) is None:
            raise
        yield wrong(check, f"this needs the extra {extra!r}", "It was not checked.",
                    f"pip install 'turnfold[{extra}]'")  # fmt: skip


def _is_file(place: Path) -> bool:
    with suppress(OSError):
        return place.is_file()
    return False


def _meaning() -> Iterator[Finding]:
    from streams.doctor.settings_checks import meaning

    yield meaning()


def _history(folder: str) -> Iterator[Finding]:
    from streams.doctor import disk_checks
    from streams.doctor.history import history as look_at

    place = location_of(configuration.expand_home(folder))
    yield from look_at(place)
    if isinstance(place, Path) and not _is_file(place):
        yield from disk_checks.disk("history", place)


def _settings(
    loaded: dict[str, Any], history: str | None, bootstrap: str | None
) -> Iterator[Finding]:
    """`loaded` gets the settings of each family that is right."""
    from streams.doctor import settings_checks

    settings = settings_as_set()
    classes = {
        family: settings_class
        for family in FAMILIES
        if (settings_class := class_of(family)) is not None
    }
    with quiet("streams.settings", logging.ERROR):  # `unknown` says it
        for family, cls in classes.items():
            if not any(field.is_required() for field in cls.model_fields.values()):
                with suppress(ConfigurationError):  # `problems` says it
                    loaded[family] = cls.load()
        findings = [
            wrong(
                "settings", setting, "The commands that use it end with exit code 3.", "Correct it."
            )
            for setting in problems(settings)
        ]
    file = configuration.find(click.get_current_context().find_root().params["config"])
    if file and has_open_secret(file, settings):
        findings.append(
            warning("settings", f"{file}: {OPEN_SECRET}", "They can act as this account.",
                    f"chmod 600 {file}")
        )  # fmt: skip
    names = {family: list(cls.model_fields) for family, cls in classes.items()}
    findings += settings_checks.unknown(names)
    findings += settings_checks.padded()
    findings += settings_checks.conflicts(loaded, history, bootstrap is not None)
    needed = {setting.name.partition(".")[0] for setting in settings if setting.source != "default"}
    findings += [
        wrong("settings", f"[{family}] is not installed", "Its commands end with exit code 3.",
              f"pip install 'turnfold[{FAMILIES[family].extra}]'")
        for family in FAMILIES if family not in classes and _is_set(family, bootstrap)
    ]  # fmt: skip
    yield from findings
    if not findings:
        yield ok("settings", f"{len(needed)} families set" if needed else "all have their defaults")


def _is_set(family: str, bootstrap: str | None) -> bool:
    prefix = configuration.variable(family, "") + "_"
    return (family == "kafka" and bootstrap is not None) or any(
        name.upper().startswith(prefix) for name in os.environ
    )


def _kafka(loaded: dict[str, Any], bootstrap: str, probe: bool) -> Iterator[Finding]:
    from streams.apps.worker_settings import WorkerSettings
    from streams.doctor import disk_checks
    from streams.doctor.tables import rows, tables
    from streams.kafka.client.settings import KafkaSettings

    worker = loaded.get("worker") or WorkerSettings.model_construct()
    if worker.data is not None:
        yield from disk_checks.disk("worker.data", worker.data, local=True)
        yield from tables(worker.data / worker.group)
    if (served := getattr(loaded.get("serve"), "data", None)) is not None:
        yield from disk_checks.disk("serve.data", served, local=True)
        yield from rows(served)
    try:
        kafka = KafkaSettings.load(bootstrap=bootstrap)
    except ConfigurationError as error:
        why = str(error) if "kafka" in loaded else "its settings are wrong, as said above"
        yield wrong("broker", f"not asked: {why}", "No client can be made.", "Correct the setting.")
        return
    yield from event_loop.run(_broker(kafka, worker, probe))


async def _broker(kafka: Any, worker: Any, probe: bool) -> list[Finding]:
    from aiokafka.errors import KafkaError

    from streams.doctor import clock
    from streams.doctor.broker import broker

    findings = [finding async for finding in broker(kafka, worker)]
    if findings[0].status == "wrong":
        return findings
    try:
        findings += await clock.probe(kafka) if probe else [await clock.clock(kafka, worker)]
    except (TurnfoldError, KafkaError) as error:
        findings.append(
            wrong("clock", str(error) or type(error).__name__, "It could not be measured.",
                  "See whether this account may write the topic turnfold-doctor."
                  if probe else "Run it again."),
        )  # fmt: skip
    return findings
