"""How the store of a history gets today's row format, in place (docs/upgrades.md).

Each step's rows and how far they are go into one write of RocksDB: after a kill the next command
goes on behind the last one.
"""

import logging
from time import monotonic

from streams.files.store import Store
from streams.pipeline import row_formats
from streams.pipeline.row_formats import CURRENT, Reached

log = logging.getLogger(__name__)

FORMAT, AFTER = "format", "format_after"
"""Values of the store: see `Reached`."""


def reached(store: Store) -> Reached:
    """The format of a store's rows; one that is new has none, and gets today's."""
    number = store.value(FORMAT)
    return CURRENT if number is None else Reached(number, store.value(AFTER))


def upgrade(store: Store, name: str) -> None:
    """Until all rows have today's format. Nothing of the store may be in use. Raises StoreError."""
    before = reached(store)
    if before.is_current:
        return
    log.warning("%s: %s", name, before.told())  # what opens it may take long, and is for good
    began, rows = monotonic(), 0
    for step in row_formats.upgrade(before, store.keys, store.rows_of):
        store.rewrite(step.rows, {FORMAT: step.reached.format, AFTER: step.reached.after})
        rows += len(step.rows)
    log.info("%s: upgraded %d rows in %.2f s", name, rows, monotonic() - began)
