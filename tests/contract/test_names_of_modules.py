"""A name of a module is given once: a second time would silently take the first away."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("schemas", "streams", "sinks", "clients", "tests", "benchmarks")


def names(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        yield from (one.id for one in targets if isinstance(one, ast.Name))


def twice(source: str) -> list[str]:
    return [name for name, count in Counter(names(ast.parse(source))).items() if count > 1]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_name_of_a_module_is_given_twice(package: str) -> None:
    files = [one for one in (ROOT / package).rglob("*.py") if ".venv" not in one.parts]
    assert files
    found = {str(one.relative_to(ROOT)): twice(one.read_text("utf-8")) for one in files}
    assert {name: some for name, some in found.items() if some} == {}


def test_a_name_that_is_given_twice_is_found() -> None:
    assert twice("A = 1\nB: int = 2\nC: int\nC = 3\nA = B") == ["A"]
