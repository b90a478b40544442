"""What a sink reads, without a broker: the rows of a file runner's history."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sinks.delta import History
from sinks.locations import Location
from sinks.object_store import ObjectPath
from sinks.sink_history import Piece, SharedHistory
from sinks.tables import COLUMNS, SCHEMAS
from streams.files import file_runner
from tests.acceptance.test_guarantees import ALICE, MARKS, Record, alice_alone, company
from tests.command import files_holding, ndjson, turn
from tests.object_store.s3_server import S3Server
from tests.unit.test_shared_history import OWNER

CAROL = "carol-91"
CAROLS = ("carol in company", "carol alone")
Pieces = Mapping[str, Sequence[Piece]]


def company_and_others(folder: Path) -> Pieces:
    """Alice alone, Alice with Bob and Carol, each of these, another tenant."""
    more = [
        turn("g3", session_id="group", user_id=CAROL, user_input=CAROLS[0],
             occurred_at="2026-01-02T00:02:00Z"),
        turn("c1", session_id="carols", user_id=CAROL, user_input=CAROLS[1]),
        turn("x1", tenant="elsewhere", session_id="alone", user_id=ALICE),
    ]  # fmt: skip
    return read([*alice_alone(), *company(), *more], folder)


def read(records: list[Record], folder: Path) -> Pieces:
    file_runner.run([str(ndjson(folder / "records.ndjson", records))], folder / "file")
    found = {}
    with History(folder / "file") as tables:
        for name, table in tables.tables().items():
            rows = table.to_pyarrow_table().select(COLUMNS[name]).cast(SCHEMAS[name])
            found[name] = [Piece("a", range(rows.num_rows), rows)]
    return found


class Erased(NamedTuple):
    """A history in a folder without Alice, and what `forget` reported of it."""

    folder: Path
    receipt: dict[str, Any]


def counted(receipt: dict[str, Any]) -> dict[str, Any]:
    """What two erasures of the same rows both report."""
    tables = {name: table["erased"] for name, table in receipt["tables"].items()}
    salted = {"user_sha256": "", "salt": ""}  # others in each receipt
    return {**receipt, **salted, "tables": tables, "elsewhere": ""}


def traces(s3: S3Server, root: ObjectPath, marks: Sequence[str] = MARKS) -> list[str]:
    """The objects below the history in which something of Alice is."""
    below = s3.lies_at(root.key)
    return sorted({file for mark in marks for file in files_holding(below, mark)})


def sink(root: Location, pieces: Pieces) -> None:
    with SharedHistory(root, OWNER) as history:
        history.write(pieces, {"a": 1_000}, {})
