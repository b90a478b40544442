"""Mutants of the folds: how many of them the worlds and the tests of the rules notice.

    python -m tests.reference.mutants --count 100

Each mutant has one operator, condition or constant changed, chosen by a seed. It is put into a fork
of this process, where worlds are folded and compared with the reference; one that they do not
notice goes through the tests of the rules. Exits 1 where fewer than `LEAST` in a hundred are
noticed. Some mutants change nothing that anybody could see, so not all can be.
"""

import argparse
import ast
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from inspect import getattr_static, iscode, unwrap
from pathlib import Path
from random import Random
from resource import RLIMIT_CPU, setrlimit
from types import CodeType, FunctionType
from typing import NamedTuple

import pytest
from _pytest.runner import runtestprotocol

from tests.property.world import World
from tests.reference import worlds
from tests.reference.test_worlds import faults

ROOT = Path(__file__).parents[2]
FOLDS = sorted(
    file for file in (ROOT / "streams" / "folds").glob("*.py")
    if file.stem not in ("__init__", "rules", "summary")
)  # fmt: skip
"""Without the constants and the sentences, which have tables of their own."""
WORLDS = 40
LEAST = 55
SECONDS = 120
"""Of the processor: a mutant that never ends is noticed, too."""
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add,
    ast.Div: ast.Mult, ast.FloorDiv: ast.Add, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr,
}  # fmt: skip


class Mutant(NamedTuple):
    """A function's other code, and where it differs."""

    module: str
    function: str
    line: int
    change: str
    code: CodeType


def changes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Changes one place after the other; each is undone when the next is asked for."""
    for node in [inner for statement in function.body for inner in ast.walk(statement)]:
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPPED:
            first = node.ops[0]
            node.ops[0] = SWAPPED[type(first)]()  # type: ignore[call-overload]
            yield node
            node.ops[0] = first
        elif isinstance(node, ast.BoolOp | ast.BinOp) and type(node.op) in SWAPPED:
            operator = node.op
            node.op = SWAPPED[type(operator)]()  # type: ignore[assignment]
            yield node
            node.op = operator
        elif isinstance(node, ast.If | ast.IfExp):
            test = node.test
            node.test = ast.UnaryOp(ast.Not(), test)
            yield node.test
            node.test = test
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            value = node.value
            node.value = not value if isinstance(value, bool) else value + 1
            yield node
            node.value = value


def mutants() -> Iterator[Mutant]:
    """Every mutant of every function of the folds; methods are left out."""
    for file in FOLDS:
        tree = ast.parse(file.read_text("utf-8"))
        for function in tree.body:
            if isinstance(function, ast.FunctionDef):
                for node in changes(function):
                    module = ast.fix_missing_locations(tree)
                    compiled = compile(module, str(file), "exec")
                    codes = [one for one in compiled.co_consts if iscode(one)]
                    code = next(one for one in codes if one.co_name == function.name)
                    line = getattr(node, "lineno", function.lineno)
                    yield Mutant(file.stem, function.name, line, ast.unparse(node), code)


class Mutating:
    """Runs mutants, each in a fork, in place of the tests that pytest has collected."""

    def __init__(self, count: int, seed: int) -> None:
        self.chosen = Random(seed).sample(list(mutants()), count)
        draws = [Random(number) for number in range(WORLDS)]
        self.worlds = [worlds.arranged(draw, worlds.world(draw)) for draw in draws]
        self.noticed = 0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        assert not self._is_noticed([]), "the worlds pass without a mutant"
        for mutant in self.chosen:
            process = os.fork()
            if not process:
                setrlimit(RLIMIT_CPU, (SECONDS, SECONDS))
                module = import_module(f"streams.folds.{mutant.module}")
                function = unwrap(getattr_static(module, mutant.function))
                assert isinstance(function, FunctionType)
                function.__code__ = mutant.code
                os._exit(self._is_noticed(session.items))
            noticed = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) != 0
            self.noticed += noticed
            place = f"streams/folds/{mutant.module}.py:{mutant.line}"
            sys.stdout.write(f"{'noticed ' if noticed else 'SURVIVES'} {place} {mutant.change}\n")
        return True

    def _is_noticed(self, items: list[pytest.Item]) -> bool:
        for records in self.worlds:
            world = World()
            try:
                world.say(*records)
                if faults(records, world):
                    return True
            except Exception:
                return True
        return any(report.failed for item in items for report in runtestprotocol(item, log=False))


def main() -> int:
    parser = argparse.ArgumentParser(description="Mutants of the folds")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    mutating = Mutating(options.count, options.seed)
    tests = [str(file) for file in sorted((ROOT / "tests" / "unit").glob("test_rules_*.py"))]
    silent = ("-o", "addopts=", "-W", "ignore::pytest.PytestAssertRewriteWarning",
              "-p", "no:cacheprovider", "-p", "no:terminal")  # fmt: skip
    code = pytest.main([*silent, *tests, str(ROOT / "tests/unit/test_folds_edges.py")], [mutating])
    share = 100 * mutating.noticed // options.count
    sys.stdout.write(f"{mutating.noticed} of {options.count} noticed; {LEAST} % are the least\n")
    return int(code) or int(share < LEAST)


if __name__ == "__main__":
    sys.exit(main())
