"""Foreign formats in: each importer turns a file into input records (docs/importing.md).

To add one: a module with `read(path, skipped, told)`, and a line in `IMPORTERS`.
"""

from collections.abc import Iterator
from pathlib import Path

from schemas.base import JsonObject
from streams.importers import chatgpt_export, langgraph, openai_chat
from streams.importers.base import NOTHING, Importer, ImportFault, NoUser, Skipped, Told

IMPORTERS: dict[str, Importer] = {
    "openai-chat": openai_chat.read,
    "chatgpt-export": chatgpt_export.read,
    "langgraph": langgraph.read,
}


def convert(
    format: str, path: Path | str, skipped: Skipped | None = None, told: Told = NOTHING
) -> Iterator[JsonObject]:
    """A foreign file's conversations as input records, read as they are asked for.

    `told` says what the file may leave out. What is left out of the import is counted in `skipped`
    by its reason. Raises ImportFault for an unknown format at once, and for a file that cannot be
    imported when the fault is reached.
    """
    if format not in IMPORTERS:
        raise ImportFault(f"unknown format {format!r}: use one of {', '.join(IMPORTERS)}")
    return IMPORTERS[format](Path(path), Skipped() if skipped is None else skipped, told)


__all__ = ["IMPORTERS", "ImportFault", "Importer", "NoUser", "Skipped", "Told", "convert"]
