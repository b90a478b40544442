"""Upgrades the store of a history to the current row format, in place (docs/upgrades.md).

Rows and progress of each step are written to RocksDB atomically: after a kill the next command
continues after the last step.
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
    """Format of a store's rows; the current one for a new store."""
    number = store.value(FORMAT)
    return CURRENT if number is None else Reached(number, store.value(AFTER))


def upgrade(store: Store, name: str) -> None:
    """Upgrades all rows to the current format, while no entity is in use. Raises StoreError."""
    previous = reached(store)
    if previous.is_current:
        return
    log.warning("%s: %s", name, previous.told())  # the upgrade may take long, and is permanent
    start, rows = monotonic(), 0
    for step in row_formats.upgrade(previous, store.keys, store.rows_of):
        store.rewrite(step.rows, {FORMAT: step.reached.format, AFTER: step.reached.after})
        rows += len(step.rows)
    log.info("%s: upgraded %d rows in %.2f s", name, rows, monotonic() - start)
