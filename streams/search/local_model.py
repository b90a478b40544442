"""Local embedding models, by fastembed (the extra `meaning`).

A model by name is downloaded once, from fastembed's hub, into `$XDG_CACHE_HOME/turnfold/models`; a
model in a folder needs no network.
"""

import functools
import hashlib
import json
import logging
import os
import threading
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from streams.configuration import expand_home
from streams.search.embedding import NoVectors, Vector, log_fault

if TYPE_CHECKING:
    from fastembed import TextEmbedding

log = logging.getLogger(__name__)

DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"
AGAIN_SECONDS = 300.0
"""Seconds until a failed load is retried."""
FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
WEIGHTS = ("model.onnx", "model_optimized.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx")
"""Possible paths of the weights in a folder."""
PADDED = 16
"""Texts per batch; each is padded to the longest."""
ENOUGH = 1000
"""Minimum tokens of a script in the vocabulary of a model that reads the script."""
ASIAN = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}


class _Loaded(NamedTuple):
    """A loaded model. `scripts`: the scripts that it reads, or None for all."""

    model: "TextEmbedding"
    key: str
    scripts: frozenset[str] | None


class LocalModel:
    """A model by name or folder; implements `Embedder`. It computes in the calling thread, on one
    core."""

    batch = 64

    def __init__(self, name: str) -> None:
        self.name = name
        self.fault: str | None = None
        self.may_download = True
        self._loading = threading.Lock()
        self._model: _Loaded | None = None
        self._waits = True
        self._not_before = 0.0

    @property
    def key(self) -> str:
        """Name and hash of the weights. Raises NoVectors."""
        return self._loaded().key

    def begin(self) -> None:
        """Loads the model in a thread; queries have no vectors until then."""
        self._waits = False
        self.fault = f"{self.name} is being loaded"
        threading.Thread(target=self._try, name="load-model", daemon=True).start()

    def of_question(self, text: str) -> Vector | None:
        """The vector of a query, or None if the model is not loaded."""
        if self._waits:
            self._try()
        if self._model is None:
            return None
        return self._vectors(self._model, [text])[0]

    def of_texts(self, texts: Sequence[str]) -> list[Vector | None]:
        """The vectors of the texts. Raises NoVectors."""
        return self._vectors(self._loaded(), texts)

    def _vectors(self, loaded: _Loaded, texts: Sequence[str]) -> list[Vector | None]:
        vectors: list[Vector | None] = [None] * len(texts)
        places = [place for place, text in enumerate(texts) if is_readable(text, loaded.scripts)]
        places.sort(key=lambda place: len(texts[place]))  # reduces padding
        raw = loaded.model.embed([texts[place] for place in places], batch_size=PADDED)
        for place, vector in zip(places, raw, strict=True):
            length = float(np.linalg.norm(vector))
            vectors[place] = (vector / (length or 1.0)).astype(np.float32)
        return vectors

    def _try(self) -> None:
        try:
            self._loaded()
        except NoVectors as error:
            log_fault(str(error))

    def _loaded(self) -> _Loaded:
        """Loads the model once. Raises NoVectors, at once after a recent failure."""
        if self._model is not None:
            return self._model
        with self._loading:
            if self._model is None:
                if time.monotonic() < self._not_before:
                    raise NoVectors(self.fault)
                try:
                    self._model = _load(self.name, self.may_download)
                except Exception as error:  # hub, file system and ONNX raise different kinds
                    reason = " ".join(str(error).split()) or type(error).__name__
                    self.fault = f"the model {self.name} cannot be loaded: {reason}"
                    self._not_before = time.monotonic() + AGAIN_SECONDS
                    raise NoVectors(self.fault) from None
                self.fault = None
            return self._model


def is_folder(name: str) -> bool:
    """Whether the name of a model is a folder, not a name at a hub."""
    return name.startswith(("/", ".", "~")) or Path(name).is_dir()


def _load(name: str, may_download: bool) -> _Loaded:
    if is_folder(name):
        return _from_folder(Path(expand_home(name)).absolute())
    from fastembed import TextEmbedding

    descriptions = {
        description["model"].lower(): description
        for description in TextEmbedding.list_supported_models()
    }
    if name.lower() not in descriptions:
        raise ValueError("fastembed does not have this model, and the folder does not exist")
    description = descriptions[name.lower()]
    weights = [description["model_file"], *description["additional_files"]]
    folder = _download(name, description, weights, may_download)
    model = TextEmbedding(name, specific_model_path=str(folder), threads=1)
    return _with_key(model, name, folder / weights[0])


def _from_folder(folder: Path) -> _Loaded:
    """Loads a folder in the layout of sentence-transformers, with the weights as ONNX."""
    if not folder.is_dir():
        raise FileNotFoundError("the folder does not exist")
    if missing := [name for name in FILES[:3] if not (folder / name).is_file()]:
        raise FileNotFoundError(f"the folder has no {missing[0]}")
    weights = next((name for name in WEIGHTS if (folder / name).is_file()), None)
    if weights is None:
        raise FileNotFoundError(f"the folder has no {', no '.join(WEIGHTS)}")
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    pooling = folder / "1_Pooling" / "config.json"
    by_first = pooling.is_file() and json.loads(pooling.read_bytes()).get("pooling_mode_cls_token")
    loaded_as = f"turnfold/{hashlib.sha256(str(folder).encode()).hexdigest()}"
    if loaded_as not in {model["model"] for model in TextEmbedding.list_supported_models()}:
        TextEmbedding.add_custom_model(
            loaded_as,
            pooling=PoolingType.CLS if by_first else PoolingType.MEAN,
            normalization=True,
            sources=ModelSource(url=folder.as_uri()),  # required, but not used
            dim=json.loads((folder / "config.json").read_bytes())["hidden_size"],
            model_file=weights,
        )
    model = TextEmbedding(loaded_as, specific_model_path=str(folder), threads=1)
    return _with_key(model, folder.name, folder / weights)


def _download(
    name: str, description: dict[str, Any], weights: list[str], may_download: bool
) -> Path:
    """Returns the folder of a model; downloads a missing one."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError
    from huggingface_hub.utils.tqdm import disable_progress_bars

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    repository = description["sources"]["hf"]
    fetch = functools.partial(
        snapshot_download,
        repository,
        cache_dir=cache / "turnfold" / "models",
        allow_patterns=[*FILES, *weights],
    )
    with suppress(LocalEntryNotFoundError):
        folder = Path(fetch(local_files_only=True))
        if all((folder / file).is_file() for file in weights):
            return folder
    if not may_download:
        raise FileNotFoundError("it is not downloaded yet")
    size = 1000 * description["size_in_GB"]
    log.warning("downloading %s once, about %.0f MB, from %s", name, size, repository)
    disable_progress_bars()
    folder = Path(fetch())
    file = folder / weights[0]
    log.warning("downloaded: %s of %d bytes, sha256 %s", file, file.stat().st_size, _hash(file))
    return folder


def _with_key(model: "TextEmbedding", name: str, weights: Path) -> _Loaded:
    tokenizer = model.model.tokenizer  # type: ignore[attr-defined]
    return _Loaded(model, f"{name}/{_hash(weights)}", scripts_of(tokenizer.get_vocab()))


def _hash(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def scripts_of(vocabulary: Iterable[str]) -> frozenset[str] | None:
    """The scripts in which a model has words, not only letters, or None for all (its tokens are
    bytes)."""
    counts: Counter[str] = Counter()
    for token in vocabulary:
        if token.startswith("Ġ"):
            return None
        if letter := next(filter(str.isalpha, token), None):
            counts[_script(letter)] += 1
    return frozenset(script for script, count in counts.items() if count >= ENOUGH)


def is_readable(text: str, scripts: frozenset[str] | None) -> bool:
    """Whether most letters of a text are of these scripts. A text without letters is not."""
    if scripts is None or (text.isascii() and "LATIN" in scripts):
        return any(map(str.isalpha, text))
    readable = [_script(letter) in scripts for letter in text if letter.isalpha()]
    return 2 * sum(readable) > len(readable)


def _script(letter: str) -> str:
    script = unicodedata.name(letter, "?").partition(" ")[0]
    return ASIAN.get(script, script)
