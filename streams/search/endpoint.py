"""Client of an OpenAI-compatible embedding endpoint."""

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np

from streams.search.embed_settings import EmbedSettings
from streams.search.embedding import NoVectors, Vector

AWAY_SECONDS = 15.0
"""Seconds after a failure in which queries do not wait for the endpoint."""
QUESTIONS = 1000
"""Cached vectors of queries."""
HOUR = 3600.0
BYTES_A_TOKEN = 3
SHOWN = 200  # characters of an endpoint's error text


class Endpoint:
    """A model at an endpoint; implements `Embedder`."""

    def __init__(self, settings: EmbedSettings) -> None:
        self.settings = settings
        self.batch = settings.batch
        self.key = f"{settings.model}/{settings.dimensions or ''}"
        self.fault: str | None = None
        self.may_download = True
        headers = {"User-Agent": "turnfold"}
        if settings.api_key:
            headers["Authorization"] = f"Bearer {settings.api_key.get_secret_value().strip()}"
        self._http = httpx.Client(headers=headers)
        self._lock = threading.Lock()
        self._cache: OrderedDict[str, Vector] = OrderedDict()
        self._not_before = 0.0
        self._spent: deque[tuple[float, int]] = deque()

    def begin(self) -> None:
        """No-op, as an endpoint needs no preparation."""

    def of_question(self, text: str) -> Vector | None:
        """The vector of a query, or None if the endpoint does not answer in time."""
        with self._lock:
            if text in self._cache:
                self._cache.move_to_end(text)
                return self._cache[text]
            if time.monotonic() < self._not_before:
                return None
        try:
            (vector,) = self._vectors([text], self.settings.question_seconds)
        except NoVectors:
            with self._lock:
                self._not_before = time.monotonic() + AWAY_SECONDS
            return None
        with self._lock:
            self._cache[text] = vector
            if len(self._cache) > QUESTIONS:
                self._cache.popitem(last=False)
        return vector

    def of_texts(self, texts: Sequence[str]) -> list[Vector | None]:
        """The vectors of the texts. Raises NoVectors."""
        self._check_budget()
        return [*self._vectors(texts, self.settings.seconds)]

    def _vectors(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        try:
            vectors = self._request(texts, seconds)
        except NoVectors as error:
            self.fault = str(error)
            raise
        self.fault = None
        return vectors

    def _request(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        settings, url = self.settings, self.settings.base_url
        body: dict[str, Any] = {
            "model": settings.model,
            "input": [text[: settings.max_text] or " " for text in texts],
            "encoding_format": "float",
        }
        if settings.dimensions is not None:
            body["dimensions"] = settings.dimensions
        try:
            reply = self._http.post(f"{url}/embeddings", json=body, timeout=seconds)
            if not reply.is_success:
                error_text = " ".join(reply.text.split())[:SHOWN]
                raise NoVectors(f"{url}: HTTP {reply.status_code}: {error_text}")
            document = reply.json()
            entries = sorted(document["data"], key=lambda entry: entry.get("index", 0))
            vectors = [_unit(entry["embedding"]) for entry in entries]
        except httpx.HTTPError as error:
            raise NoVectors(f"{url}: {type(error).__name__}: {error}") from None
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise NoVectors(f"{url}: the answer is not a list of vectors: {error}") from None
        if len(vectors) != len(texts) or len({len(vector) for vector in vectors}) > 1:
            raise NoVectors(f"{url}: {len(vectors)} vectors for {len(texts)} texts")
        self._count(document, sum(len(text.encode()) for text in body["input"]))
        return vectors

    def _count(self, document: Any, size: int) -> None:
        usage = document.get("usage") or {}
        tokens = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        if not isinstance(tokens, int):
            tokens = size // BYTES_A_TOKEN
        with self._lock:
            self._spent.append((time.monotonic(), tokens))

    def _check_budget(self) -> None:
        most = self.settings.hourly_tokens
        with self._lock:
            while self._spent and self._spent[0][0] < time.monotonic() - HOUR:
                self._spent.popleft()
            spent = sum(tokens for _, tokens in self._spent)
        if most is not None and spent >= most:
            raise NoVectors(f"the hourly budget is spent: {spent} of {most} tokens")


def _unit(numbers: Any) -> Vector:
    """Scales a vector to length 1. Raises ValueError, TypeError."""
    vector = np.asarray(numbers, dtype=np.float32)
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise ValueError("a vector is not a list of finite numbers")
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
