"""Converts foreign files to input records, by the name of the format."""

from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

from schemas.base import JsonObject
from streams.importers import FORMATS, GROUP
from streams.importers.base import NOTHING, ImportDefaults, Importer, ImportFault, Skipped


def _importer(format: str) -> Importer:
    if format in FORMATS:
        reader: Importer = import_module(f"streams.importers.{FORMATS[format].module}").read
        return reader
    entries = {entry.name: entry for entry in entry_points(group=GROUP)}
    if format not in entries:
        names = ", ".join([*FORMATS, *entries])
        raise ImportFault(f"unknown format {format!r}: use one of {names}")
    entry = entries[format]
    try:
        reader = entry.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ImportFault(f"format {format!r} ({entry.value}): {reason}") from error
    return reader


def convert(
    format: str,
    path: Path | str,
    skipped: Skipped | None = None,
    defaults: ImportDefaults = NOTHING,
) -> Iterator[JsonObject]:
    """Converts a foreign file to input records, lazily.

    `defaults` fills in fields that the file lacks; `skipped` counts omitted content by reason.
    Raises ImportFault for an unknown format at once, and for an invalid file when the fault is
    reached.
    """
    importer = _importer(format)
    return importer(Path(path), Skipped() if skipped is None else skipped, defaults)
