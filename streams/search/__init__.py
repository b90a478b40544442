"""Search: the events of a tenant or user that a text is about, and what is held because of them.

The index is derived from the history's tables and lies beside them; it can be thrown away at any
time (docs/search.md).
"""

from streams.directory.active import ActiveQuery
from streams.directory.counted import CountQuery, OwnerCounts
from streams.directory.owners import Listing, Session, User
from streams.search.answer import (
    active_as_of,
    counts_as_of,
    embed,
    recall,
    search,
    sessions,
    update,
    users,
)
from streams.search.build import NotIndexed, forget, unbuilt
from streams.search.place import is_made
from streams.search.query import Hit, Kind, Neighbour, Page, Query, Turn, period
from streams.search.recall import Recall, Recalled

__all__ = [
    "ActiveQuery", "CountQuery", "Hit", "Kind", "Listing", "Neighbour", "NotIndexed", "OwnerCounts",
    "Page", "Query", "Recall", "Recalled", "Session", "Turn", "User", "active_as_of",
    "counts_as_of", "embed", "forget", "is_made", "period", "recall", "search", "sessions",
    "unbuilt", "update", "users",
]  # fmt: skip
