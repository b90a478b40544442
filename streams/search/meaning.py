"""Search by meaning: which documents have a vector near to that of the question.

By a model on this machine where the extra `meaning` is installed, or by an endpoint
(`TURNFOLD_EMBED_…`). Without either nothing of this is loaded, and words alone count.
"""

import importlib.util
import logging
import os
import sqlite3
from functools import lru_cache
from threading import Event, Lock
from typing import TYPE_CHECKING

from sinks.locations import Location
from streams.search import build, vectors
from streams.search.place import folder_of
from streams.search.query import Query
from streams.search.vectors import NONE, Near

if TYPE_CHECKING:
    from streams.search.embedding import Embedder

log = logging.getLogger(__name__)

SETTING, MODEL = "TURNFOLD_MEANING", "TURNFOLD_MEANING_MODEL"
"""on or off; a model's name or folder."""
NEAREST = 100
"""Documents that one question brings in by their meaning."""
_making = Lock()


@lru_cache(1)
def embedder() -> "Embedder | None":
    """Of this process; None where there is none or `SETTING` is off. Raises ConfigurationError, and
    ModuleNotFoundError where one was asked for whose extra is missing."""
    wanted, name = os.environ.get(SETTING), os.environ.get(MODEL)
    if wanted == "off":
        return None
    if os.environ.get("TURNFOLD_EMBED_BASE_URL"):
        from streams.search.embed_settings import EmbedSettings
        from streams.search.endpoint import Endpoint

        return Endpoint(EmbedSettings.load())
    if importlib.util.find_spec("fastembed") is None:
        if wanted or name:
            raise ModuleNotFoundError("No module named 'fastembed'", name="fastembed")
        return None
    from streams.search.local_model import DEFAULT, LocalModel

    return LocalModel(name or DEFAULT)


def near(folder: Location, tenant: str, query: Query) -> Near | None:
    """How near documents are to a question: `NONE` where it has no vector, or there are no vectors
    that can be read. None where nothing makes vectors."""
    embeds = embedder()
    if embeds is None or query.by == "words":
        return None
    vector = embeds.of_question(query.text) if query.text else None
    if vector is None:
        return NONE
    file = vectors.file_of(folder_of(folder), tenant, embeds.key)
    try:
        return vectors.nearest(file, vector, query.user_id, NEAREST)
    except sqlite3.Error as error:
        log.warning("%s: %s; words alone count", file, error)
        return NONE


def embed(folder: Location, tenant: str, ending: Event) -> int:
    """Makes the vectors that an index lacks; how many. Ends where somebody is forgotten meanwhile:
    their texts are not to be sent any more, nor vectors of them kept. Raises NoVectors."""
    embeds, index = embedder(), build.current(folder, tenant)
    if embeds is None or index is None:
        return 0
    file = vectors.file_of(folder_of(folder), tenant, embeds.key)
    count = 0
    with _making:
        erased = vectors.erasures(file)
        while (news := vectors.lacking(file, index)) is not None:
            for start in range(0, len(news.texts), embeds.batch):
                if ending.is_set() or vectors.erasures(file) != erased:
                    return count
                some = news.texts[start : start + embeds.batch]
                if not vectors.put(file, some, embeds.of_texts([one.text for one in some]), erased):
                    return count
                count += len(some)
            vectors.note(file, news)
    return count
