"""Checks of settings: unknown, invalid, or conflicting ones."""

import os
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import click

from streams import configuration
from streams.configuration import COMMON, FAMILIES, PREFIX
from streams.doctor.check_result import Finding, is_secret, ok, warning
from streams.errors import ConfigurationError, Unreachable
from streams.pipeline.fast_decode import TENANT
from streams.search.vector_search import embedder
from streams.serving.http import keys

IGNORED = "It is ignored: the command works as if it were not set."
GUARDED = configuration.variable("", "metrics_guarded")
NEEDS_KEYS = ("127.", "localhost", "[::1]", "::1")

MEANING = "meaning"
WORDS_ALONE = "Search goes by words alone."
REACH_MODEL = (
    "Reach the hub once, name a folder by TURNFOLD_MEANING_MODEL, or set TURNFOLD_MEANING=off."
)


def unknown(families: Mapping[str, list[str]]) -> Iterator[Finding]:
    """Environment variables with Turnfold's prefix that are not settings. `families`: family ->
    names, for the families with an installed extra."""
    settings = {configuration.variable("", name) for name in COMMON} | configuration.NO_SETTINGS
    for family, names in families.items():
        settings |= {configuration.variable(family, name) for name in names}
    unchecked = tuple(
        configuration.variable(name, "") + "_" for name in FAMILIES if name not in families
    )
    variables = sorted(name.upper() for name in os.environ)
    for name in variables:
        if not name.startswith(PREFIX) or name in settings or name.startswith(unchecked):
            continue
        close = _nearest(name, settings)
        yield warning(
            "settings",
            f"{name}: there is no such setting",
            IGNORED,
            f"Did you mean {close}?" if close else "Remove it (docs/configuration.md).",
        )


def _nearest(name: str, settings: Collection[str]) -> str | None:
    """A setting that has all of the name's words, otherwise one with a similar spelling."""
    words = set(name.split("_"))
    candidates = [setting for setting in settings if words <= set(setting.split("_"))]
    close = get_close_matches(name, candidates, 1, cutoff=0)
    return close[0] if close else configuration.nearest(name, settings)


def padded() -> Iterator[Finding]:
    """Secrets that start or end with white space."""
    for name, value in sorted(os.environ.items()):
        if is_secret(name) and value.strip() != value and value.strip():
            yield warning(
                "settings",
                f"{name}: begins or ends with a blank or a line break",
                "It is part of the secret: a login with it is likely refused.",
                "Set it without: `echo` writes a line break into a file, `printf %s` does not.",
            )


def conflicts(
    loaded: Mapping[str, Any], history: str | None, over_kafka: bool
) -> Iterator[Finding]:
    """Settings that are valid, but conflict. `loaded`: family -> its settings."""
    worker, serve = loaded.get("worker"), loaded.get("serve")
    if worker and serve and over_kafka and worker.app_id != serve.app_id:
        yield warning(
            "settings",
            f"worker.app_id is {worker.app_id!r}, serve.app_id is {serve.app_id!r}",
            "The server answers from another memory than these workers make.",
            "Set both to the same name.",
        )
    if serve:
        yield from _quotas(serve)
    if serve and over_kafka and serve.model_fields_set & {"extractor", "retention_days"}:
        names = sorted(serve.model_fields_set & {"extractor", "retention_days"})
        yield warning(
            "settings",
            f"serve.{', serve.'.join(names)} set, and kafka.bootstrap too",
            "Over Kafka the workers extract and store; the server's own setting has no effect.",
            f"Set worker.{', worker.'.join(names)}.",
        )
    if worker and worker.instance and configuration.is_from_file("TURNFOLD_WORKER_INSTANCE"):
        yield warning(
            "settings",
            "worker.instance stands in the file",
            "Two workers that read this file take each other's partitions.",
            "Give each worker a name of its own: --instance, or TURNFOLD_WORKER_INSTANCE.",
        )
    if worker and worker.standbys and worker.store == "memory":
        yield warning(
            "settings",
            f"worker.standbys is {worker.standbys}, worker.store is memory",
            "Each worker keeps the copies in memory, too.",
            "Use worker.store rocksdb, or plan for the memory.",
        )
    port = os.environ.get("TURNFOLD_METRICS_PORT", "")
    host = port.rpartition(":")[0]
    if host and not host.startswith(NEEDS_KEYS) and not _is_true(GUARDED):
        yield warning(
            "settings",
            f"metrics_port listens on {host}",
            "Metrics are answered without a key: to everybody who reaches this address.",
            "Leave the host out; or keep others away by the network (a NetworkPolicy, a firewall), "
            f"and set {GUARDED}=true.",
        )
    if over_kafka and history is None and loaded:
        yield ok("settings", "no history is set: sink and the server's past need one")


def _quotas(serve: Any) -> Iterator[Finding]:
    """Quotas of tenants without a key: no caller can write as one of these."""
    if serve.keys is None:
        tenants, why = {TENANT}, "without serve.keys everybody is tenant default"
    else:
        try:
            tenants = {key.tenant for key in keys.read(serve.keys)}
        except ConfigurationError:  # the server reports it at its start
            return
        why = f"no key of {serve.keys} is of it"
    for name in sorted(serve.quotas.keys() - tenants) if keys.ALL not in tenants else ():
        close = configuration.nearest(name, tenants)
        yield warning(
            "settings",
            f"serve.quotas: tenant {name}: {why}",
            "Its quota limits nobody.",
            f"Did you mean {close}?" if close else "Correct the name, or remove it.",
        )


def _is_true(name: str) -> bool:
    try:
        return bool(click.BOOL.convert(os.environ.get(name) or "false", None, None))
    except click.BadParameter:  # `problems` reports it
        return False


def meaning() -> Finding:
    """Loads the local model, without a download or a request to an endpoint."""
    try:
        embeds = embedder()
        if embeds is None:
            return ok(MEANING, "search goes by words alone: off, or nothing is installed for it")
        embeds.may_download = False
        return ok(MEANING, f"by {embeds.key}")
    except Unreachable as error:
        return warning(MEANING, str(error), WORDS_ALONE, REACH_MODEL)
