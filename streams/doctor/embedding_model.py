"""Checks that the embedding model can be loaded."""

from streams.doctor.check_result import Finding, ok, warning
from streams.errors import Unreachable
from streams.search.vector_search import embedder

CHECK = "meaning"
MEANS = "Search goes by words alone."
DO = "Reach the hub once, name a folder by TURNFOLD_MEANING_MODEL, or set TURNFOLD_MEANING=off."


def meaning() -> Finding:
    """Loads the local model, without a download or a request to an endpoint."""
    try:
        embeds = embedder()
        if embeds is None:
            return ok(CHECK, "search goes by words alone: off, or nothing is installed for it")
        embeds.may_download = False
        return ok(CHECK, f"by {embeds.key}")
    except Unreachable as error:
        return warning(CHECK, str(error), MEANS, DO)
