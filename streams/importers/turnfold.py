"""Imports a person's archive from `turnfold export` (docs/erasure.md): its input records,
unchanged.

Derived memory in the archive is skipped; folding the records rebuilds it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from schemas.base import JsonObject
from streams.importers.base import NOTHING, ImportDefaults, ImportFault, Skipped, shaped
from streams.importers.json_stream import lines, open_text

FORMAT, VERSION = "turnfold", 1
"""Format and version of the archives that are read (streams.apps.export_person)."""


def read(path: Path, skipped: Skipped, defaults: ImportDefaults = NOTHING) -> Iterator[JsonObject]:
    """Reads the input records of an archive. Raises ImportFault for another format or version, and
    at the end of an incomplete archive."""
    number = 0
    last: JsonObject = {}
    with open_text(path) as text:
        for number, line in enumerate(lines(text), 1):
            try:
                last = _line(line, number)
                if number == 1:
                    _check_header(last)
                elif last["kind"] == "record":
                    record = shaped(last.get("record"), dict, item=number, field="record")
                    if not record:
                        raise ImportFault("expected an object", item=number, field="record")
                    yield record
            except ImportFault as fault:
                if number == 1:
                    raise ImportFault(
                        f"is not an archive of `turnfold export` ({fault}); name the format that "
                        "the file has (`turnfold import -h`)"
                    ) from None
                skipped.refuse(fault)
    if last.get("kind") != "end" or last.get("lines") != number:
        raise ImportFault(
            f"the archive breaks off after line {number}: its last line is to be of kind `end`; "
            "export it again"
        )


def _line(line: str, number: int) -> JsonObject:
    try:
        document: Any = msgspec.json.decode(line)
    except UnicodeEncodeError:
        raise ImportFault("not UTF-8", item=number) from None
    except msgspec.DecodeError as error:
        raise ImportFault(f"not JSON: {error}", item=number) from None
    except RecursionError:
        raise ImportFault("not JSON that is read: nested too deeply", item=number) from None
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
        raise ImportFault("expected an object with a `kind`", item=number, field="kind")
    return document


def _check_header(header: JsonObject) -> None:
    if header.get("kind") != "header" or header.get("format") != FORMAT:
        reason = 'expected {"kind": "header", "format": "turnfold", …}: is it of `turnfold export`?'
        raise ImportFault(reason, item=1)
    if header.get("version") != VERSION:
        reason = f"{header.get('version')!r} is not {VERSION}, the version that is read here"
        raise ImportFault(reason, item=1, field="version")
