"""Workarounds have separate modules.

docs/architecture.md, "Performance-critical modules and workarounds".
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import aiokafka
import pytest

from tests.shared_data import ROOT

pytestmark = pytest.mark.nightly

OF_AIOKAFKA = "streams/kafka/client/aiokafka_internals.py"
CONNECTION = "streams/kafka/client/connection.py"
"""What every client of the other connects by."""
COLLECTOR = "streams/gc_policy.py"
LIBRARY = Path(aiokafka.__file__).parent
OF_TUPLES = {"_asdict", "_fields", "_make", "_replace"}


@cache
def modules(root: Path) -> list[tuple[str, ast.Module]]:
    """Path and syntax of each module below a folder."""
    return [(path.as_posix(), ast.parse(path.read_text())) for path in sorted(root.rglob("*.py"))]


def ours(folder: str) -> list[tuple[str, ast.Module]]:
    return [(name.removeprefix(f"{ROOT}/"), tree) for name, tree in modules(ROOT / folder)]


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in OF_TUPLES


def private_names() -> set[str]:
    """Every attribute with a leading underscore that aiokafka's classes and modules have."""
    found = set()
    for _, tree in modules(LIBRARY):
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                found.add(node.name)
    return {name for name in found if is_private(name)}


def taken(tree: ast.Module, names: set[str]) -> Iterator[str]:
    """What is taken of another's object under one of these names, and what is made of aiokafka's
    classes or functions: subclasses, replaced functions of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in names:
            if ast.unparse(node.value) not in ("self", "cls", "super()"):
                yield ast.unparse(node)
        elif isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base) for base in node.bases]
            yield from (base for base in bases if base.startswith("AIOKafka"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aiokafka"):
            yield from (alias.name for alias in node.names if alias.name.startswith("_"))
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
            yield ast.unparse(node)


def test_private_parts_of_aiokafka_are_known_to_one_module_and_its_connection() -> None:
    names = private_names()
    assert {"_client", "_coordinator", "_send_req", "_fetcher", "_conns"} <= names
    found = {
        name: sorted(set(taken(tree, names)))
        for name, tree in ours("streams")
        if name not in (OF_AIOKAFKA, CONNECTION)
    }
    assert {name: some for name, some in found.items() if some} == {}


def test_that_module_would_be_found() -> None:
    tree = ast.parse((ROOT / OF_AIOKAFKA).read_text())
    found = set(taken(tree, private_names()))
    assert {"fetcher._records", "AIOKafkaClient", "connection._closed_fut"} <= found


def test_the_garbage_collector_is_set_in_one_module() -> None:
    """`gc.collect` may stand anywhere: it changes no setting."""
    setting = {"gc.enable", "gc.disable", "gc.freeze", "gc.set_threshold"}
    found = {
        name: sorted(setting & {ast.unparse(node) for node in ast.walk(tree)})
        for folder in ("schemas", "sinks", "streams")
        for name, tree in ours(folder)
    }
    assert {name: some for name, some in found.items() if some} == {COLLECTOR: sorted(setting)}
