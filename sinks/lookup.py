"""A question about one thing: of each table the few rows it needs, read in one pass.

A view over files looks into all of them each time it is named, and one question names a table
several times. Here those rows lie in memory, and the views and macros stand on them.
"""

from collections.abc import Sequence
from typing import Any, Self

from _duckdb import DuckDBPyConnection

from sinks.files import data_files
from sinks.generation import find_tables
from sinks.history import begin, define, select
from sinks.kept import KEPT
from sinks.locations import Location
from sinks.views import SNAPSHOTS


class Lookup:
    """One tenant's rows of a history as it is now; raises HistoryError where there is none.

    What a condition leaves out is not there for the views: it may only test columns by which
    their windows are partitioned, and nothing else.
    """

    def __init__(self, root: Location, tenant: str) -> None:
        self._folder = find_tables(root)
        self._tenant = tenant
        self._loaded: set[str] = set()
        self._files: dict[str, list[str]] = {}
        kept = KEPT.get()
        self._kept = kept if kept and kept.where == (self._folder, tenant) else None
        self.db = self._kept.cursor() if self._kept else begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._kept:
            self._kept.left(self.db)
        else:
            self.db.close()

    def load(
        self, table: str, where: str, *given: Any, columns: Sequence[str] | None = None
    ) -> None:
        """Reads the rows that fit a condition (SQL with `?`), with these columns or all."""
        if self._kept and self._kept.has(table, columns):
            rows = f"SELECT {_listed(columns)} FROM main.{table} WHERE true"
        else:
            rows = self._in_files(table, columns)
        self.db.execute(f"CREATE OR REPLACE TABLE {table} AS {rows} AND ({where})", list(given))
        self._loaded.add(table)

    def _in_files(self, table: str, columns: Sequence[str] | None) -> str:
        if table not in self._files:
            self._files[table] = data_files(self.db, self._folder / table)
        files, more = self._files[table], table in SNAPSHOTS
        return select(table, files, tenant=self._tenant, more=more, only=columns)

    def define(self, *views: str) -> DuckDBPyConnection:
        """The connection, with these views and macros over what is loaded, else over the files."""
        define(self.db, self._folder, views, tenant=self._tenant, loaded=self._loaded)
        return self.db


def _listed(names: Sequence[str] | None) -> str:
    """SQL of some columns, or of all."""
    return "*" if names is None else ", ".join(f'"{name}"' for name in names)
