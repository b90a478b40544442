"""Ridge regression on sparse rows in plain Python, so that anyone can repeat the training.

Solved in the dual form, (X C² Xᵀ + alpha) a = y, by conjugate gradients; the weights are C² Xᵀ a.
"""

from collections.abc import Callable, Sequence
from operator import mul
from typing import NamedTuple

TOLERANCE = 1e-3  # of the residual, where the gradients end

Vector = list[float]


class Row(NamedTuple):
    """Names of features, each worth 1; those of `scaled` times the row's scale."""

    scaled: Sequence[str]
    plain: Sequence[str]
    scale: float


class Ridge:
    """Rows of named features; C holds `column_scale` of each name."""

    def __init__(self, rows: Sequence[Row], column_scale: Callable[[str], float]) -> None:
        self.index: dict[str, int] = {}
        self.scaled = [self._indices(row.scaled) for row in rows]
        self.plain = [self._indices(row.plain) for row in rows]
        self.scale = [row.scale for row in rows]
        self.squares = [column_scale(name) ** 2 for name in self.index]
        self.in_scaled = self._transposed(self.scaled)
        self.in_plain = self._transposed(self.plain)

    def _indices(self, names: Sequence[str]) -> list[int]:
        index = self.index
        return [index.setdefault(name, len(index)) for name in names]

    def _transposed(self, rows: list[list[int]]) -> list[list[int]]:
        columns: list[list[int]] = [[] for _ in self.index]
        for number, row in enumerate(rows):
            for column in row:
                columns[column].append(number)
        return columns

    def weights(self, dual: Vector) -> Vector:
        """C² Xᵀ a: a weight for each column."""
        plain, scaled = dual.__getitem__, list(map(mul, dual, self.scale)).__getitem__
        return [
            square * (sum(map(scaled, in_scaled)) + sum(map(plain, in_plain)))
            for square, in_scaled, in_plain in zip(
                self.squares, self.in_scaled, self.in_plain, strict=True
            )
        ]

    def predict(self, weights: Vector) -> Vector:
        """X w, for the rows trained on."""
        get = weights.__getitem__
        return [
            scale * sum(map(get, scaled)) + sum(map(get, plain))
            for scale, scaled, plain in zip(self.scale, self.scaled, self.plain, strict=True)
        ]

    def solve(self, target: Vector, alpha: float) -> dict[str, float]:
        """The weight of each name."""
        dual = [0.0] * len(target)
        left, step = target[:], target[:]
        size = sum(map(mul, left, left))
        enough = size * TOLERANCE**2
        while size > enough:
            pushed = self.predict(self.weights(step))
            pushed = [p + alpha * s for p, s in zip(pushed, step, strict=True)]
            length = size / sum(map(mul, step, pushed))
            dual = [x + length * s for x, s in zip(dual, step, strict=True)]
            left = [x - length * p for x, p in zip(left, pushed, strict=True)]
            before, size = size, sum(map(mul, left, left))
            step = [x + size / before * s for x, s in zip(left, step, strict=True)]
        return dict(zip(self.index, self.weights(dual), strict=True))
