"""What the pipeline asks of those who run it: where rows come from."""

from typing import Protocol

from streams.errors import TurnfoldError
from streams.pipeline.entity import Entity


class StoreError(TurnfoldError):
    """The fold's tables cannot be written (nothing is half-written), or not be read."""


class RowSource(Protocol):
    """Entities by table, tenant and key, and the record's writes to them."""

    def entity(self, table: str, tenant: str, key: str) -> Entity:
        """The entity's rows, empty for a new one. Raises StoreError."""

    def keep(self, entity: Entity) -> None:
        """A record was applied: what it wrote goes into the next commit."""
