"""Requests to an OpenAI-compatible endpoint of embeddings: texts to vectors of length 1."""

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
"""So long questions do not wait for an endpoint that has just failed."""
QUESTIONS = 1000
"""Vectors of questions that are kept."""
HOUR = 3600.0
BYTES_A_TOKEN = 3
SHOWN = 200  # characters of what an endpoint says of an error


class Endpoint:
    """An endpoint and a model: a form of `Embedder`."""

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
        self._asked: OrderedDict[str, Vector] = OrderedDict()
        self._not_before = 0.0
        self._spent: deque[tuple[float, int]] = deque()

    def begin(self) -> None:
        """Nothing is to be prepared."""

    def of_question(self, text: str) -> Vector | None:
        """None where the endpoint does not answer in time."""
        with self._lock:
            if text in self._asked:
                self._asked.move_to_end(text)
                return self._asked[text]
            if time.monotonic() < self._not_before:
                return None
        try:
            (vector,) = self._vectors([text], self.settings.question_seconds)
        except NoVectors:
            with self._lock:
                self._not_before = time.monotonic() + AWAY_SECONDS
            return None
        with self._lock:
            self._asked[text] = vector
            if len(self._asked) > QUESTIONS:
                self._asked.popitem(last=False)
        return vector

    def of_texts(self, texts: Sequence[str]) -> list[Vector | None]:
        """One of each text."""
        self._check_budget()
        return [*self._vectors(texts, self.settings.seconds)]

    def _vectors(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        try:
            vectors = self._replied(texts, seconds)
        except NoVectors as error:
            self.fault = str(error)
            raise
        self.fault = None
        return vectors

    def _replied(self, texts: Sequence[str], seconds: float) -> list[Vector]:
        told = self.settings
        body: dict[str, Any] = {
            "model": told.model,
            "input": [text[: told.max_text] or " " for text in texts],
            "encoding_format": "float",
        }
        if told.dimensions is not None:
            body["dimensions"] = told.dimensions
        try:
            reply = self._http.post(f"{told.base_url}/embeddings", json=body, timeout=seconds)
            if not reply.is_success:
                raise NoVectors(f"{told.base_url}: HTTP {reply.status_code}: {_said(reply)}")
            given = reply.json()
            listed = sorted(given["data"], key=lambda one: one.get("index", 0))
            vectors = [_unit(one["embedding"]) for one in listed]
        except httpx.HTTPError as error:
            raise NoVectors(f"{told.base_url}: {type(error).__name__}: {error}") from None
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise NoVectors(f"{told.base_url}: the answer is no list of vectors: {error}") from None
        if len(vectors) != len(texts) or len({len(one) for one in vectors}) > 1:
            raise NoVectors(f"{told.base_url}: {len(vectors)} vectors for {len(texts)} texts")
        self._count(given, sum(len(text.encode()) for text in body["input"]))
        return vectors

    def _count(self, given: Any, size: int) -> None:
        usage = given.get("usage") or {}
        counted = usage.get("prompt_tokens") if isinstance(usage, dict) else None
        with self._lock:
            tokens = counted if isinstance(counted, int) else size // BYTES_A_TOKEN
            self._spent.append((time.monotonic(), tokens))

    def _check_budget(self) -> None:
        most = self.settings.hourly_tokens
        with self._lock:
            while self._spent and self._spent[0][0] < time.monotonic() - HOUR:
                self._spent.popleft()
            spent = sum(tokens for _, tokens in self._spent)
        if most is not None and spent >= most:
            raise NoVectors(f"the budget of an hour is used up: {spent} of {most} tokens")


def _unit(numbers: Any) -> Vector:
    """Raises ValueError, TypeError for what is no vector."""
    vector = np.asarray(numbers, dtype=np.float32)
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise ValueError("a vector is no list of finite numbers")
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


def _said(reply: httpx.Response) -> str:
    return " ".join(reply.text.split())[:SHOWN]
