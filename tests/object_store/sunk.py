"""What a sink reads, without a broker: the rows of a file runner's history."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from sinks.delta import History
from sinks.locations import Location
from sinks.shared import Piece, SharedHistory
from sinks.tables import COLUMNS, SCHEMAS
from streams.files import local
from tests.acceptance.test_laws import ALICE, Record, alice_alone, company
from tests.command import ndjson, turn
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
    local.run([str(ndjson(folder / "records.ndjson", records))], folder / "file")
    found = {}
    with History(folder / "file") as tables:
        for name, table in tables.tables().items():
            rows = table.to_pyarrow_table().select(COLUMNS[name]).cast(SCHEMAS[name])
            found[name] = [Piece("a", range(rows.num_rows), rows)]
    return found


def sink(root: Location, pieces: Pieces) -> None:
    with SharedHistory(root, OWNER) as history:
        history.write(pieces, {"a": 1_000}, {})
