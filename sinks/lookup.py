"""A question about one thing: of each table the few rows it needs, read in one pass.

A view over files looks into all of them each time it is named, and one question names a table
several times. Here those rows lie in memory, and the views and macros stand on them.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

from _duckdb import DuckDBPyConnection

from sinks.files import data_files
from sinks.generation import find_tables
from sinks.history import begin, define, select
from sinks.locations import Location
from sinks.views import SNAPSHOTS


class Lookup:
    """One tenant's rows of a history as it is now; raises HistoryError where there is none.

    What a condition leaves out is not there for the views: it may only test columns by which
    their windows are partitioned, and nothing else. DuckDB is started by the first rows that are
    asked for: that takes longer than many an answer.
    """

    def __init__(self, root: Location, tenant: str) -> None:
        self.root = root
        self.tenant = tenant
        self.folder = find_tables(root)
        self._loaded: set[str] = set()
        self._files: dict[str, list[str]] = {}

    @cached_property
    def db(self) -> DuckDBPyConnection:
        """DuckDB, with what was loaded and defined."""
        return begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if "db" in self.__dict__:
            self.db.close()

    def load(
        self, table: str, where: str, *given: Any, columns: Sequence[str] | None = None
    ) -> None:
        """Reads the rows that fit a condition (SQL with `?`), with these columns or all."""
        rows = self._in_files(table, columns)
        self.db.execute(f"CREATE OR REPLACE TABLE {table} AS {rows} AND ({where})", list(given))
        self._loaded.add(table)

    def rows(self, table: str, shown: Sequence[str], where: str, *given: Any) -> list[Any]:
        """The rows that fit a condition, of each the values of some SQL."""
        sql = f"SELECT {', '.join(shown)} FROM ({self._in_files(table, None)}) WHERE {where}"
        return self.db.execute(sql, list(given)).fetchall()

    def _in_files(self, table: str, columns: Sequence[str] | None) -> str:
        files = self._files.get(table)
        if files is None:
            files = self._files[table] = data_files(self.db, self.folder / table)
        return select(table, files, tenant=self.tenant, more=table in SNAPSHOTS, only=columns)

    def define(self, *views: str) -> DuckDBPyConnection:
        """The connection, with these views and macros over what is loaded, else over the files."""
        define(self.db, self.folder, views, tenant=self.tenant, loaded=self._loaded)
        return self.db
