"""No module imports one that imports it, at once or later; what a type checker alone reads is left
out."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for package in ("schemas", "sinks", "streams")
    for file in (ROOT / package).rglob("*.py")
}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All that is below a node, but blocks for the type checker."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from statements(child)


def imported(source: str) -> set[str]:
    names = set()
    for node in statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            of = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name in MODULES else node.module for name in of}
    return names


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {
        name: (imported(file.read_text("utf-8")) & MODULES.keys()) - {name}
        for name, file in MODULES.items()
    }
    TopologicalSorter(graph).prepare()


def test_a_circle_is_found_also_of_an_import_in_a_function() -> None:
    late = imported("def f():\n    from streams.errors import TurnfoldError")
    assert late == {"streams.errors"}
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()
