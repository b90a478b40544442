"""A foreign file's conversations as input records, by the name of its format."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from schemas.base import JsonObject
from streams.importers import FORMATS
from streams.importers.base import NOTHING, Importer, ImportFault, Skipped, Told


def convert(
    format: str, path: Path | str, skipped: Skipped | None = None, told: Told = NOTHING
) -> Iterator[JsonObject]:
    """A foreign file's conversations as input records, read as they are asked for.

    `told` says what the file may leave out. What is left out of the import is counted in `skipped`
    by its reason. Raises ImportFault for an unknown format at once, and for a file that cannot be
    imported when the fault is reached.
    """
    if format not in FORMATS:
        raise ImportFault(f"unknown format {format!r}: use one of {', '.join(FORMATS)}")
    read: Importer = import_module(f"streams.importers.{FORMATS[format].module}").read
    return read(Path(path), Skipped() if skipped is None else skipped, told)
