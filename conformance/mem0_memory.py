"""mem0 with `infer=False`, so without a language model: a memory for each fact, with the history of
its text. It has no time at which a fact was true, and nothing to restore after a retraction.

uv run --with mem0ai,langchain python -m conformance.run conformance.mem0_memory:Mem0Memory
"""

import os
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.embeddings import DeterministicFakeEmbedding

from conformance.memory import NotExpressibleError, Origin, of_now
from conformance.oracle import NOW, Record

os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "unused"}  # read at import
EMBEDDER = {"provider": "langchain", "config": {"model": DeterministicFakeEmbedding(size=8)}}
"""No question searches by meaning: the vectors do not matter."""


class Mem0Memory:
    def reset(self) -> None:
        from mem0 import Memory  # type: ignore[import-not-found]

        self.folder = TemporaryDirectory()
        vectors = {"path": self.folder.name, "embedding_model_dims": 8}
        self.memory = Memory.from_config(
            {
                "embedder": EMBEDDER,
                "vector_store": {"provider": "qdrant", "config": vectors},
                "history_db_path": ":memory:",
            }
        )
        self.ids: dict[tuple[str, str], list[str]] = {}

    def add(self, history: str, record: Record) -> str:
        if not of_now(record):
            raise NotExpressibleError
        ids = self.ids.setdefault((history, record["fact"]), [])
        is_known = bool(ids) and not self._changes(ids[-1])[-1]["is_deleted"]
        metadata = {"fact": record["fact"], "record": record["id"]}
        if record["op"] == "end":
            if is_known:
                self.memory.delete(ids[-1])
        elif is_known:
            self.memory.update(ids[-1], record["value"], metadata=metadata)
        else:
            stored = self.memory.add(
                record["value"], user_id=history, metadata=metadata, infer=False
            )
            ids.append(stored["results"][0]["id"])
        return str(self._changes(ids[-1])[-1]["updated_at"])

    def ask(self, history: str, fact: str, as_of: str, known_at: str) -> str | None:
        change = self._change(history, fact, as_of, known_at)
        return None if change is None else change["new_memory"]

    def why(self, history: str, fact: str, as_of: str, known_at: str) -> Origin | None:
        change = self._change(history, fact, as_of, known_at)
        memory = self.memory.get(change["memory_id"]) if change else None
        if change is None or memory is None or memory["memory"] != change["new_memory"]:
            raise NotExpressibleError
        return Origin(memory["metadata"]["record"], change["updated_at"])

    def _change(self, history: str, fact: str, as_of: str, known_at: str) -> Any:
        """The last change of a fact by a time."""
        if as_of != NOW:
            raise NotExpressibleError
        changes = [
            change for id in self.ids.get((history, fact), ()) for change in self._changes(id)
        ]
        past = [change for change in changes if change["updated_at"] <= known_at]
        return past[-1] if past else None

    def _changes(self, memory_id: str) -> list[dict[str, Any]]:
        changes: list[dict[str, Any]] = self.memory.history(memory_id)
        return changes
