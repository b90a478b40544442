"""Search by meaning: which documents have a vector near to that of the question.

Optional (`TURNFOLD_EMBED_…`): without an endpoint nothing of this is loaded, and words alone count.
"""

import logging
import os
import sqlite3
from functools import lru_cache
from threading import Event, Lock
from typing import TYPE_CHECKING

from sinks.locations import Location
from streams.search import build, vectors
from streams.search.candidates import Near
from streams.search.place import folder_of
from streams.search.query import Query

if TYPE_CHECKING:
    from streams.search.embedding import Embedder

log = logging.getLogger(__name__)

NEAREST = 100
"""Documents that one question brings in by their meaning."""
_making = Lock()


@lru_cache(1)
def embedder() -> "Embedder | None":
    """Of this process; None where no endpoint is set. Raises ConfigurationError."""
    if not os.environ.get("TURNFOLD_EMBED_BASE_URL"):  # the extra may be missing
        return None
    from streams.search.embed_settings import EmbedSettings
    from streams.search.embedding import Embedder

    return Embedder(EmbedSettings.load())


def near(folder: Location, tenant: str, query: Query) -> Near | None:
    """The documents nearest to a question, nearest first: none where the endpoint does not answer,
    or there are no vectors that can be read. None where no endpoint is set."""
    embeds = embedder()
    if embeds is None:
        return None
    vector = embeds.of_question(query.text) if query.text else None
    if vector is None:
        return ()
    file = vectors.file_of(folder_of(folder), tenant, model_of(embeds))
    try:
        return [named for named, _ in vectors.nearest(file, vector, query.user_id, NEAREST)]
    except sqlite3.Error as error:
        log.warning("%s: %s; words alone count", file, error)
        return ()


def embed(folder: Location, tenant: str, ending: Event) -> int:
    """Makes the vectors that an index lacks; how many. Ends where somebody is forgotten meanwhile:
    their texts are not to be sent any more, nor vectors of them kept. Raises NoVectors."""
    embeds, index = embedder(), build.current(folder, tenant)
    if embeds is None or index is None:
        return 0
    file = vectors.file_of(folder_of(folder), tenant, model_of(embeds))
    with _making:
        erased = vectors.erasures(file)
        wanted = vectors.lacking(file, index)
        for start in range(0, len(wanted), embeds.settings.batch):
            if ending.is_set() or vectors.erasures(file) != erased:
                return start
            some = wanted[start : start + embeds.settings.batch]
            if not vectors.put(file, some, embeds.of_texts([one.text for one in some]), erased):
                return start
    return len(wanted)


def model_of(embeds: "Embedder") -> str:
    """What vectors are comparable by: model and dimensions."""
    told = embeds.settings
    return f"{told.model}/{told.dimensions or ''}"
