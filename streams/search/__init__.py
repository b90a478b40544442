"""Search: the events of a tenant or user that a text is about, and what is held because of them.

The index is derived from the history's tables and lies beside them; it can be thrown away at any
time (docs/search.md).
"""

from streams.directory.active import Active
from streams.directory.counted import Counted, Then
from streams.directory.owners import Listing, Session, User
from streams.search.answer import (
    active_then,
    counted_then,
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
    "Active", "Counted", "Hit", "Kind", "Listing", "Neighbour", "NotIndexed", "Page", "Query",
    "Recall", "Recalled", "Session", "Then", "Turn", "User", "active_then", "counted_then",
    "embed", "forget", "is_made", "period", "recall", "search", "sessions", "unbuilt", "update",
    "users",
]  # fmt: skip
