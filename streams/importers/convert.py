"""Converts foreign files to input records, by the name of the format."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from schemas.base import JsonObject
from streams.importers import FORMATS
from streams.importers.base import NOTHING, ImportDefaults, Importer, ImportFault, Skipped


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
    if format not in FORMATS:
        raise ImportFault(f"unknown format {format!r}: use one of {', '.join(FORMATS)}")
    importer: Importer = import_module(f"streams.importers.{FORMATS[format].module}").read
    return importer(Path(path), Skipped() if skipped is None else skipped, defaults)
