"""Search over the events and memory of a tenant or user.

The index is derived from the history's tables and stored next to them; it can be deleted at any
time (docs/search.md).
"""

from streams.directory.active_as_of import ActiveQuery
from streams.directory.counts_as_of import CountQuery, OwnerCounts
from streams.directory.users_and_sessions import Listing, Session, User
from streams.search.index_path import has_index_folder
from streams.search.indexing import NotIndexed, build_locks, forget
from streams.search.query import Hit, Kind, Neighbour, Page, Query, Turn, period
from streams.search.recall import Recall, Recalled
from streams.search.tenant_search import (
    active_as_of,
    counts_as_of,
    embed,
    recall,
    search,
    sessions,
    update,
    users,
)

__all__ = [
    "ActiveQuery",
    "CountQuery",
    "Hit",
    "Kind",
    "Listing",
    "Neighbour",
    "NotIndexed",
    "OwnerCounts",
    "Page",
    "Query",
    "Recall",
    "Recalled",
    "Session",
    "Turn",
    "User",
    "active_as_of",
    "build_locks",
    "counts_as_of",
    "embed",
    "forget",
    "has_index_folder",
    "period",
    "recall",
    "search",
    "sessions",
    "update",
    "users",
]  # fmt: skip
