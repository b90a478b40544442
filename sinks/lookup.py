"""Queries about one entity: loads the few rows that it needs of each table, in one pass.

A view over files scans them each time it is referenced, and a query references a table several
times. Here those rows are in memory, and views and macros use them.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

from _duckdb import DuckDBPyConnection

from sinks.files import data_files
from sinks.generation import find_tables
from sinks.history import connect_empty, define, select
from sinks.locations import Location
from sinks.views import SNAPSHOTS


class Lookup:
    """Rows of one tenant in a history as it is now; raises HistoryError if there is none.

    Views do not see rows that a condition excludes: it may only test columns by which their windows
    are partitioned. DuckDB starts with the first rows: that takes longer than many queries.
    """

    def __init__(self, root: Location, tenant: str) -> None:
        self.root = root
        self.tenant = tenant
        self.folder = find_tables(root)
        self._loaded: set[str] = set()
        self._files: dict[str, list[str]] = {}

    @cached_property
    def db(self) -> DuckDBPyConnection:
        """DuckDB, with the loaded tables and defined views."""
        return connect_empty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if "db" in self.__dict__:
            self.db.close()

    def load(
        self, table: str, condition: str, *parameters: Any, columns: Sequence[str] | None = None
    ) -> None:
        """Loads the rows of a table that match a condition (SQL with `?`), with all or these
        columns."""
        rows = self._in_files(table, columns)
        self.db.execute(
            f"CREATE OR REPLACE TABLE {table} AS {rows} AND ({condition})", list(parameters)
        )
        self._loaded.add(table)

    def rows(
        self, table: str, expressions: Sequence[str], condition: str, *parameters: Any
    ) -> list[Any]:
        """Values of SQL expressions for the rows that match a condition."""
        files = self._in_files(table, None)
        sql = f"SELECT {', '.join(expressions)} FROM ({files}) WHERE {condition}"
        return self.db.execute(sql, list(parameters)).fetchall()

    def _in_files(self, table: str, columns: Sequence[str] | None) -> str:
        files = self._files.get(table)
        if files is None:
            files = self._files[table] = data_files(self.db, self.folder / table)
        return select(
            table, files, tenant=self.tenant, commit_order=table in SNAPSHOTS, only=columns
        )

    def define(self, *views: str) -> DuckDBPyConnection:
        """Defines views and macros over loaded tables, otherwise over the files; returns the
        connection."""
        define(self.db, self.folder, views, tenant=self.tenant, loaded=self._loaded)
        return self.db
