"""Search: the events of a tenant or user that a text is about, and what is held because of them.

The index is derived from the history's tables and lies beside them; it can be thrown away at any
time (docs/search.md).
"""

from streams.search.answer import search, update
from streams.search.build import NotIndexed, forget
from streams.search.query import Hit, Kind, Page, Query

__all__ = ["Hit", "Kind", "NotIndexed", "Page", "Query", "forget", "search", "update"]
