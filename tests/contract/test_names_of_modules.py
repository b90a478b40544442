"""What holds of all modules: names, imports without circles, patterns of each Python."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "streams", "sinks", "clients", "tests", "benchmarks")
NO_NAMES = frozenset(
    {
        "found", "said", "one", "told", "asked", "known", "given", "here", "them", "left", "made",
        "kept", "held", "gone", "seen", "wanted", "other", "others", "some", "these", "those",
        "that", "this", "what", "who", "whose", "it", "such", "own", "ours", "theirs", "meant",
        "begun", "done", "taken", "shown", "read",
    }
)  # fmt: skip
"""Participles and pointers: they do not say what a parameter or local holds."""
SOURCES = tuple(
    sorted(
        str(path.relative_to(ROOT))
        for package in ("schemas", "sinks", "streams")
        for path in (ROOT / package).iterdir()
        if path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__")
    )
)
MOST_TYPES = 6
MANY_TYPES = frozenset(
    {
        "after", "answer", "at", "before", "call", "chunk", "content", "counts", "cursor",
        "document", "entity", "error", "file", "files", "first", "headers", "history", "items",
        "key", "kind", "message", "messages", "model", "names", "node", "now", "offsets", "old",
        "owner", "part", "partitions", "parts", "path", "place", "plan", "query", "record",
        "records", "request", "results", "row", "rows", "session_id", "settings", "source", "state",
        "store", "table", "tables", "topics", "turn", "update", "updates", "value", "words",
    }
)  # fmt: skip
"""Parameters that still have more types than that, `None` aside; this list only shrinks."""
NO_TYPES = frozenset({"_"})
SAME_CLASSES = frozenset(
    {
        "Answer", "Budget", "Change", "Client", "Context", "Conversation", "End", "Endpoint",
        "Erased", "Erasure", "Extractor", "Facts", "Fault", "Finding", "Form", "Group", "Item",
        "Language", "Late", "Message", "Mood", "Observation", "Part", "Place", "Placed",
        "Preference", "Reading", "Reply", "Result", "Route", "Row", "Search", "Session", "Settings",
        "Source", "State", "Step", "StoreError", "Table", "Topic", "Turn", "Update", "User",
        "Version", "Why", "Words", "_Rows",
    }
)  # fmt: skip
"""Classes that still share a name; this list only shrinks."""

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def names(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def twice(source: str) -> list[str]:
    return [name for name, count in Counter(names(ast.parse(source))).items() if count > 1]


def parameters(function: Function) -> Iterator[ast.arg]:
    spec = function.args
    yield from (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)
    yield from (spread for spread in (spec.vararg, spec.kwarg) if spread)


def bound(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of each parameter and local; fields of classes are none."""
    fields = {
        id(part.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for part in node.body
        if isinstance(part, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield from ((parameter.lineno, parameter.arg) for parameter in parameters(node))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            if id(node) not in fields:
                yield node.lineno, node.id
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield node.lineno, node.name


def no_nouns(source: str) -> list[str]:
    return [f"{line}: {name}" for line, name in bound(ast.parse(source)) if name in NO_NAMES]


class Tree(NamedTuple):
    """Types of each parameter, and modules of each class."""

    types: dict[str, set[str]]
    classes: dict[str, list[str]]


@pytest.fixture(scope="module")
def tree() -> Tree:
    names_of_tree = Tree(defaultdict(set), defaultdict(list))
    for file in (file for folder in SOURCES for file in files_of(folder)):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef) and "generated" not in file.parts:
                names_of_tree.classes[node.name].append(str(file.relative_to(ROOT)))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for parameter in parameters(node):
                    if parameter.annotation is not None:
                        names_of_tree.types[parameter.arg].add(type_of(parameter.annotation))
    return names_of_tree


def type_of(annotation: ast.expr) -> str:
    """Without `None`, and without the quotes of a type that is imported late."""
    return ast.unparse(annotation).strip("'\"").replace(" | None", "")


def files_of(folder: str) -> list[Path]:
    path = ROOT / folder
    files = [path] if path.suffix else sorted(path.rglob("*.py"))
    return [file for file in files if ".venv" not in file.parts]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_of_a_module_is_given_twice(package: str) -> None:
    files = files_of(package)
    assert files
    repeated = {str(file.relative_to(ROOT)): twice(file.read_text("utf-8")) for file in files}
    assert {name: doubles for name, doubles in repeated.items() if doubles} == {}


def test_a_name_that_is_given_twice_is_found() -> None:
    assert twice("A = 1\nB: int = 2\nC: int\nC = 3\nA = B") == ["A"]


@pytest.mark.parametrize("folder", SOURCES)
def test_parameters_and_locals_are_nouns(folder: str) -> None:
    bad = {
        str(file.relative_to(ROOT)): no_nouns(file.read_text("utf-8")) for file in files_of(folder)
    }
    assert {name: places for name, places in bad.items() if places} == {}


POSSESSIVE_GROUP = re.compile(r"(?<![\\(])\)(?:[*+?]|\{{1,2}\d*,?\d*\}{1,2})\+|\(\?>")


@pytest.mark.parametrize("package", ["schemas", "streams", "sinks"])
def test_no_group_is_possessive(package: str) -> None:
    sources = {file: file.read_text("utf-8") for file in (ROOT / package).rglob("*.py")}
    assert sources
    assert [str(file) for file, text in sources.items() if POSSESSIVE_GROUP.search(text)] == []


@pytest.mark.parametrize("pattern", ["(?:a|b)*+", "(a)++", "(?:a){2,}+", r"(?:a){{0,8}}+", "(?>a)"])
def test_a_possessive_group_is_found(pattern: str) -> None:
    assert POSSESSIVE_GROUP.search(pattern)


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
