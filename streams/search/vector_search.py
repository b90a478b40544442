"""Search by meaning: documents with vectors near the query's vector.

By a local model if the extra `meaning` is installed, or by an endpoint (`TURNFOLD_EMBED_…`).
Otherwise search uses words alone.
"""

import importlib.util
import logging
import os
import sqlite3
from functools import lru_cache
from threading import Event, Lock
from typing import TYPE_CHECKING

from sinks.locations import Location
from streams.search import indexing, vectors
from streams.search.index_path import folder_of
from streams.search.query import Query
from streams.search.vectors import NO_SIMILARITIES, Similarities

if TYPE_CHECKING:
    from streams.search.embedding import Embedder

log = logging.getLogger(__name__)

SETTING, MODEL = "TURNFOLD_MEANING", "TURNFOLD_MEANING_MODEL"
"""on or off; a model's name or folder."""
NEAREST = 100
"""Maximum documents that a query adds by meaning."""
_embedding = Lock()


@lru_cache(1)
def embedder() -> "Embedder | None":
    """The model of this process, or None if it is missing or `SETTING` is off. Raises
    ConfigurationError, and ModuleNotFoundError if a model is configured and its extra is
    missing."""
    setting, name = os.environ.get(SETTING), os.environ.get(MODEL)
    if setting == "off":
        return None
    if os.environ.get("TURNFOLD_EMBED_BASE_URL"):
        from streams.search.embed_settings import EmbedSettings
        from streams.search.endpoint import Endpoint

        return Endpoint(EmbedSettings.load())
    if importlib.util.find_spec("fastembed") is None:
        if setting or name:
            raise ModuleNotFoundError("No module named 'fastembed'", name="fastembed")
        return None
    from streams.search.local_model import DEFAULT, LocalModel

    return LocalModel(name or DEFAULT)


def similarities(folder: Location, tenant: str, query: Query) -> Similarities | None:
    """Compares the documents with a query: `NO_SIMILARITIES` if it has no vector, or no vectors can
    be read; without a model None."""
    embeds = embedder()
    if embeds is None or query.by == "words":
        return None
    vector = embeds.of_question(query.text) if query.text else None
    if vector is None:
        return NO_SIMILARITIES
    file = vectors.file_of(folder_of(folder), tenant, embeds.key)
    try:
        return vectors.nearest(file, vector, query.user_id, NEAREST)
    except sqlite3.Error as error:
        log.warning("%s: %s; search by words alone", file, error)
        return NO_SIMILARITIES


def embed(folder: Location, tenant: str, ending: Event) -> int:
    """Computes the missing vectors of an index; returns their number. Stops at an erasure: erased
    texts must not be sent, nor their vectors stored. Raises NoVectors."""
    embeds, index = embedder(), indexing.current(folder, tenant)
    if embeds is None or index is None:
        return 0
    file = vectors.file_of(folder_of(folder), tenant, embeds.key)
    count = 0
    with _embedding:
        erasures = vectors.erasures(file)
        while (changes := vectors.missing_vectors(file, index)) is not None:
            for start in range(0, len(changes.docs), embeds.batch):
                if ending.is_set() or vectors.erasures(file) != erasures:
                    return count
                docs = changes.docs[start : start + embeds.batch]
                batch = embeds.of_texts([doc.text for doc in docs])
                if not vectors.put(file, docs, batch, erasures):
                    return count
                count += len(docs)
            vectors.note(file, changes)
    return count
