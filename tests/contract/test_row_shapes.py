"""The rows of sessions and users have the shape that their format's number stands for.

A field more, and a version that does not know it drops it: a new shape needs a new `ROW_FORMAT` and
a migration (CONTRIBUTING.md, "A row format"). When both are written:

    python -m tests.contract.test_row_shapes
"""

import json
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from streams.pipeline.entity import ROW_KINDS
from streams.pipeline.row_formats import MIGRATIONS, OLDEST, ROW_FORMAT

GOLDEN = Path(__file__).parent / "golden" / f"row_shapes_{ROW_FORMAT}.json"


def _named(shape: Any, fields: dict[str, list[str]]) -> str:
    """A type as text; the fields of each that has some go into `fields`."""
    if (origin := get_origin(shape)) is not None:
        parts = ", ".join(_named(part, fields) for part in get_args(shape))
        return f"{origin.__name__}[{parts}]"
    names = getattr(shape, "__struct_fields__", None) or getattr(shape, "_fields", None)
    if names and shape.__name__ not in fields:
        fields[shape.__name__] = []
        hints = get_type_hints(shape)
        fields[shape.__name__] += [f"{name}: {_named(hints[name], fields)}" for name in names]
    return shape.__name__ if isinstance(shape, type) else str(shape)


def shapes() -> dict[str, Any]:
    """Every kind of row and every type in one."""
    fields: dict[str, list[str]] = {}
    rows = {
        f"{table} {kind.letter}": _named(kind.type, fields)
        for table, kinds in ROW_KINDS.items()
        for kind in kinds
    }
    return {"format": ROW_FORMAT, "rows": rows, "fields": dict(sorted(fields.items()))}


def test_rows_have_the_shape_of_their_format() -> None:
    assert shapes() == json.loads(GOLDEN.read_text()), "see CONTRIBUTING.md, A row format"


def test_each_format_that_can_be_read_has_a_migration_to_the_next() -> None:
    assert sorted(MIGRATIONS) == list(range(OLDEST, ROW_FORMAT))


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(shapes(), indent=1, ensure_ascii=False) + "\n")
