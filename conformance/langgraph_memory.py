"""LangGraph's store, in memory: an item for each fact, with the time of its last write.

It has the newest value only: no past, no future, and nothing to restore after a retraction.
"""

from langgraph.store.base import Item
from langgraph.store.memory import InMemoryStore

from conformance.memory import NotExpressibleError, Origin, of_now
from conformance.oracle import NOW, Record


class LanggraphMemory:
    def reset(self) -> None:
        self.store = InMemoryStore()
        self.known_at = ""

    def add(self, history: str, record: Record) -> str:
        if not of_now(record):
            raise NotExpressibleError
        namespace, fact = (history,), record["fact"]
        value = {"value": record.get("value"), "record": record["id"]}
        self.store.put(namespace, fact, value)
        item = self.store.get(namespace, fact)
        assert item is not None
        self.known_at = item.updated_at.isoformat()
        if record["op"] == "end":
            self.store.delete(namespace, fact)
        return self.known_at

    def ask(self, history: str, fact: str, as_of: str, known_at: str) -> str | None:
        item = self._item(history, fact, as_of, known_at)
        return None if item is None else item.value["value"]

    def why(self, history: str, fact: str, as_of: str, known_at: str) -> Origin | None:
        item = self._item(history, fact, as_of, known_at)
        return None if item is None else Origin(item.value["record"], item.updated_at.isoformat())

    def _item(self, history: str, fact: str, as_of: str, known_at: str) -> Item | None:
        item = self.store.get((history,), fact)
        since = self.known_at if item is None else item.updated_at.isoformat()
        if as_of != NOW or known_at < since:
            raise NotExpressibleError
        return item
