"""The page docs/tables.md: tables as `schemas.rows` has them, views as DuckDB sees them."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from schemas.base import Micros
from schemas.memory import DOCUMENTS
from schemas.memory_kinds import MEMORY_KINDS
from schemas.rows import SNAPSHOT_KEYS, TABLES, Day, Json, Source
from sinks.history import connect
from sinks.history_root import open_root
from sinks.views import ABOUT, MACROS

Table = Callable[[tuple[str, ...], Sequence[tuple[str, ...]]], str]
"""A header and rows as Markdown."""

NAMES: list[tuple[Any, str]] = [
    (Micros, "time"), (Day, "date"), (Json, "JSON text"), (str, "text"),
    (int, "integer"), (float, "double"), (bool, "boolean"), (bytes, "binary"),
]  # fmt: skip
HEADER = ("column", "type", "meaning")

INTRO = """\
A history is a set of Delta tables in one folder. Every table is also a DuckDB view of the same
name. Start with the [views and macros](#views-and-macros): they show the present. The tables
contain all changes.

In DuckDB, text and JSON text are VARCHAR, a time is TIMESTAMPTZ in UTC, an integer BIGINT, a list
of text VARCHAR[]. `turnfold sql` prints times as RFC 3339 text.

## Columns of all tables
"""

EXPIRY = """\
## Status and expiry

The history does not change as time passes. So a query for *now* has to compare times.

**States.** `state_current` has one row per state: the version with the latest `valid_from`, even if
it has ended or starts in the future. `status` is `closed` as soon as `valid_to` is known, even if
`valid_to` is in the future. To find the states that are true now, use `state_as_of`, not `status`:

```sql
SELECT * FROM state_as_of()
```

It returns each version that has started by `now()` and has not ended: `valid_to` is later or null,
and no later version has started. After its `valid_to` a state stays in `state_current` with
status `closed`, but not in `state_as_of()`.

**Sessions.** A session expires 24 h after its latest turn (`session_expiry_hours`).
`session_current` shows the status as it was folded, so an expired session can still be `active`
there. `turnfold show session` and the HTTP API apply expiry when they answer. In SQL, compare with
the latest turn:

```sql
SELECT tenant, session_id, CASE WHEN max(e.occurred_at) < now() - INTERVAL 24 HOUR
       THEN 'closed' ELSE any_value(s.status) END AS status
FROM session_current s LEFT JOIN event_current e USING (tenant, session_id) GROUP BY ALL
```

**Moods.** `mood_current` has the numbers right after the last moment of affect. After that the
shock fades. `turnfold show user` and the HTTP API compute the mood at the time of your query
([rules.md](rules.md#affect)).
"""

VIEWS_INTRO = """\
## Views and macros

Available in `turnfold sql` and in a file that `turnfold admin catalog` has written. A macro takes
arguments: `SELECT * FROM why('STATE_ID')`, `FROM state_as_of(TIMESTAMPTZ '2026-03-05')`. An
argument with a default (`:= NULL`) can be omitted.
"""

SAME_AS = {
    **{kind.view: kind.table for kind in MEMORY_KINDS if kind.table},
    "event_current": "events",
    "recursion_current": "recursions",
    "affect_current": "affects",
    "link_current": "links",
    "thread_current": "threads",
    "thread": "events",
    "reply_chain": "events",
}
"""View or macro -> the table whose columns it has, all but `op`."""
LIKE_STATES = ("mood_current", "state_as_of")
"""They have the columns of `state_current`."""
MODELS: dict[str, tuple[type[BaseModel], ...]] = {
    "state_current": (DOCUMENTS["state"],),
    **{kind.view: (DOCUMENTS[kind.name],) for kind in MEMORY_KINDS if kind.revised},
    "why": (TABLES["revisions"],),
    "thread": (TABLES["threads"],),
    "user_day": (TABLES["profiles"],),
    "user_weeks": (TABLES["profiles"],),
    "tool_calls": (TABLES["recursions"],),
}
"""View or macro -> the models that describe its columns."""
MEANINGS = {
    "owner_id": "The user.",
    "state_id": "Id of the state.",
    "seq": "Position among the user's revisions, in the order in which they were made.",
    "gone": "Whether the revision removed the version.",
    "learnt_at": "When it was learnt: the latest `recorded_at` of this and earlier revisions.",
    "state": "The version's document; if the version is gone, the one before.",
    "after_finish": "Whether its task had ended before it; the task's document leaves it out.",
    "turns": "Turns of that day that have ended.",
    "failed_turns": "Turns of that day with status `error`.",
    "weeks": "Their Mondays, in order.",
    "call_index": "Position of the call in its recursion, from 0.",
    "tool_call_id": "`id` of the call; null if it has none.",
    "success": "Whether it succeeded; null if no result came.",
    "name": "Tool that was called; null if the call names none.",
    "answered_at": "Time of the result; null if none came.",
    "depth": "0 for the event itself, 1 for the event it replies to, and so on.",
    "extractor_name": "Extractor that made the plan; null without a plan.",
    "extractor_version": "Its version; of a correction through the API the id of the key.",
    "evidence_event_id": "Event that the revision rests on; null if none.",
    "evidence_session_id": "Session of that event; null if the event is not in the history.",
    "evidence_occurred_at": "Time of that event.",
    "user_input": "What the user said in that event.",
    "agent_answer": "What the agent answered in that event.",
}
"""Columns of views and macros that no model describes."""


def column_type(hint: Any) -> str:
    for known, name in NAMES:
        if hint == known:
            return name
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join("null" if one is NoneType else column_type(one) for one in arguments)
    if origin is Literal:
        return " or ".join(f"`{one}`" for one in arguments)
    if origin is list:
        return f"list of {column_type(arguments[0])}"
    if origin is Annotated:
        return column_type(arguments[0])
    raise TypeError(f"no name for the column type {hint}: add it to NAMES in scripts/_tables.py")


def columns(model: type[BaseModel], table: Table) -> str:
    hints = get_type_hints(model, include_extras=True)
    rows = [
        (f"`{name}`", column_type(hints[name]), _linked(field.description or ""))
        for name, field in model.model_fields.items()
    ]
    return table(HEADER, rows)


def _linked(text: str) -> str:
    """What descriptions name by page and heading, as links."""

    def link(match: re.Match[str]) -> str:
        page, section = match[1], match[2]
        anchor = section.lower().replace(" ", "-")
        return f"([{section}]({'' if page == 'tables.md' else page}#{anchor}))"

    return re.sub(r"\(docs/([a-z-]+\.md), ([^)]+)\)", link, text)


def history_table(name: str, model: type[BaseModel], table: Table) -> str:
    key = SNAPSHOT_KEYS.get(name)
    keys = ", ".join(f"`{one}`" for one in key or ())
    kind = (
        f"A row for each change of a document; the newest of each {keys} counts."
        if key
        else "Append-only."
    )
    about = inspect.cleandoc(model.__doc__ or "")
    return f"## {name}\n\n{about} {kind}\n\n{columns(model, table)}"


def parts(table: Table) -> list[str]:
    """All parts of the page, in order."""
    tables = [history_table(name, model, table) for name, model in TABLES.items()]
    return [INTRO, columns(Source, table), *tables, EXPIRY, *_views(table)]


def _views(table: Table) -> list[str]:
    """The views and macros, with the columns that DuckDB sees in an empty history."""
    made = [VIEWS_INTRO]
    with TemporaryDirectory() as folder, connect(open_root(Path(folder) / "history")) as db:
        for name, about in ABOUT.items():
            called = MACROS.get(name, "").partition(" AS TABLE")[0]
            asked = re.sub(r"\w+( := NULL)?", "NULL", called)
            found = db.execute(f"DESCRIBE FROM {name}{asked}").fetchall()
            shown = {column: kind.lower() for column, kind, *_ in found}
            made.append(f"### {name}{called}\n\n{about}\n\n{_view_columns(name, shown, table)}")
    return made


def _view_columns(view: str, shown: Mapping[str, str], table: Table) -> str:
    """The columns; only those that its table, or `state_current`, has not."""
    if view in LIKE_STATES:
        return "Columns: the same as [state_current](#state_current).\n"
    said = ""
    if of := SAME_AS.get(view):
        same = {*TABLES[of].model_fields, *Source.model_fields} & set(shown)
        but = " without `op`" if "op" in TABLES[of].model_fields else ""
        said = f"Columns: as in [{of}](#{of}){but} and [of all tables](#columns-of-all-tables)"
        shown = {name: kind for name, kind in shown.items() if name not in same}
        said += ", and:\n\n" if shown else ".\n"
    rows = [(f"`{name}`", _kind(kind), _meaning(view, name)) for name, kind in shown.items()]
    return said + (table(HEADER, rows) if rows else "")


def _kind(kind: str) -> str:
    """A type of DuckDB's as the page names it."""
    if kind.startswith("struct("):
        names = re.findall(r"(\w+) \w", kind.partition("(")[2])
        return f"struct of {', '.join(f'`{one}`' for one in names)}"
    known = {"varchar": "text", "timestamp with time zone": "time", "bigint": "integer"}
    is_list = kind.endswith("[]")
    return f"list of {_kind(kind[:-2])}" if is_list else known.get(kind, kind)


def _meaning(view: str, column: str) -> str:
    models: tuple[type[BaseModel], ...] = (*MODELS.get(view, ()), Source)
    for model in models:
        if (field := model.model_fields.get(column)) is not None and field.description:
            return _linked(field.description)
    if column not in MEANINGS:
        raise KeyError(f"{view}.{column} has no meaning: add it to MEANINGS in scripts/_tables.py")
    return MEANINGS[column]
