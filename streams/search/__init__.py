"""Search: the events of a tenant or user that a text is about, and what is held because of them.

The index is derived from the history's tables and lies beside them; it can be thrown away at any
time (docs/search.md).
"""

from streams.search.answer import embed, recall, search, sessions, update, users
from streams.search.build import NotIndexed, forget, unbuilt
from streams.search.owners import Listing, Session, User
from streams.search.query import Hit, Kind, Neighbour, Page, Query, Turn, period

__all__ = [
    "Hit", "Kind", "Listing", "Neighbour", "NotIndexed", "Page", "Query", "Session", "Turn", "User",
    "embed", "forget", "period", "recall", "search", "sessions", "unbuilt", "update", "users",
]  # fmt: skip
