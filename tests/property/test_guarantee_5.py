"""A fold reads no clock, randomness or environment; the same input makes the same rows."""

import ast
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import streams.folds
from tests.property.strategies import events, write_plans
from tests.property.world import Json, world

FOLDS = sorted(Path(streams.folds.__file__).parent.glob("*.py"))
ALLOWED = {
    "bisect", "collections", "functools", "hashlib", "heapq", "itertools", "json", "math",
    "operator", "re", "struct", "typing", "unicodedata", "uuid", "schemas", "streams",
}  # fmt: skip
UNSTEADY = {"uuid1", "uuid4", "now", "today", "utcnow", "random", "environ", "getenv", "id", "hash"}


def imported(tree: ast.AST) -> set[str]:
    """The top packages a module imports."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {one.name.split(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("path", FOLDS, ids=lambda path: path.stem)
def test_guarantee_5_a_fold_imports_nothing_that_changes_by_itself(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert imported(tree) <= ALLOWED
    called = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    assert not called & UNSTEADY


def test_guarantee_5_the_check_covers_every_fold() -> None:
    assert {"session", "task", "memory", "affect", "learner"} <= {path.stem for path in FOLDS}


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(events(), write_plans())
def test_guarantee_5_the_same_input_makes_the_same_rows_and_ids(
    said: list[Json], plans: list[Json]
) -> None:
    one, other = world(*said, *plans), world(*said, *plans)
    assert one.rows == other.rows
    assert one.documents() == other.documents()
    revision_ids = [row["revision_id"] for row in one.rows["revisions"]]
    assert len(set(revision_ids)) == len(revision_ids)
    assert len(set(revision_ids)) == one.counts.get("revisions", 0)
