"""The rows of the history tables as structs, out of their models (scripts/generate)."""

import json
import textwrap
from typing import Any, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from schemas.base import Micros
from schemas.rows import TABLES, Day, Json, Source

ABOUT = '''"""The rows of the history tables as structs, each a table's own columns in their order.

Made by scripts/generate from the models in `schemas/rows.py`. Times are microseconds UTC, JSON is
text. Only this module knows the order of values: other code uses their names.
"""
'''
STORED = '''def stored(row: HistoryRow, source: Source, at: int) -> tuple[Any, ...]:
    """All columns of a row as they are stored: its own, its source's, and the date of `at`."""
    return (*astuple(row), *astuple(source), at // DAY)
'''
WIDTH = 100
PLAIN: dict[Any, str] = {
    Micros: "int",
    Json: "str",
    bytes: "bytes",
    bool: "bool",
    float: "float",
    int: "int",
    list[str]: "Sequence[str]",
    str: "str",
}


def history() -> str:
    """The text of the module."""
    names = {table: model.__name__.removesuffix("Row") for table, model in TABLES.items()}
    source = {name: hint for name, hint in _hints(Source).items() if hint != Day}
    rows = "\n\n\n".join(
        _struct(names[table], _hints(model), table) for table, model in TABLES.items()
    )
    timed = [names[table] for table, model in TABLES.items() if "occurred_at" in model.model_fields]
    by_table = "\n".join(
        f'    "{table}": {name},' for table, name in names.items() if name in timed
    )
    return f"""{ABOUT}
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from schemas.row import Row, astuple
from schemas.time import DAY


{_struct("Source", source)}


{rows}


{_union("CausedRow", timed)}
\"\"\"What records cause, dated by when that happened.\"\"\"

ROWS: dict[str, type[CausedRow]] = {{
{by_table}
}}
\"\"\"By their tables.\"\"\"

{_union("HistoryRow", list(names.values()))}
\"\"\"These, rows of newest documents, and dead letters.\"\"\"


{STORED}"""


def _hints(model: type[BaseModel]) -> dict[str, Any]:
    hints = get_type_hints(model, include_extras=True)
    return {name: hints[name] for name in model.model_fields}


def _struct(name: str, hints: dict[str, Any], table: str = "") -> str:
    lines = [f"class {name}(Row, frozen=True):"]
    if table:
        lines.append(f'    table: ClassVar[str] = "{table}"')
    lines += [f"    {field}: {_type(hint)}" for field, hint in hints.items()]
    return "\n".join(lines)


def _type(hint: Any) -> str:
    """A field's type as Python writes it."""
    if hint in PLAIN:
        return PLAIN[hint]
    some = get_args(hint)
    if get_origin(hint) is Literal:
        return f"Literal[{', '.join(map(json.dumps, some))}]"
    (only,) = (one for one in some if one is not type(None))
    return f"{_type(only)} | None"


def _union(name: str, members: list[str]) -> str:
    line = f"{name} = {' | '.join(members)}"
    if len(line) <= WIDTH:
        return line
    joined = textwrap.indent("\n| ".join(members), "    ")
    return f"{name} = (\n{joined}\n)"
