"""How well a profile tells whether the next answer is right: AUC and RMSE on a log of answers.

    python -m benchmarks.learner answers.csv
    python -m benchmarks.learner --generate 400

The CSV has a header with the columns `learner`, `topic` and `correct` (0 to 1), and `occurred_at`
(ISO 8601) if times are known; without it a learner's rows are in order, a minute apart. Each answer
is predicted from the profile that the fold made of the answers before it. Half of the learners are
tested; the topic's mean is that of the other half, which no profile sees.

`--generate` makes a log instead. A learner's ability is drawn from N(0.7, 1), a topic's difficulty
from N(0, 1). A learner starts each topic N(0, 0.5) off, gains 0.15 by each answer, loses half of
what was gained in 20 answers to other topics, and stays in a topic for 8 answers on average. An
answer is right with the logistic function of ability - difficulty + what the learner has there.
"""

import csv
import math
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.common import arguments, show
from schemas.time import parse_time
from streams.folds import learner
from streams.folds.constants import Rules
from streams.folds.effects import UserSignal
from streams.pipeline.entity import Entity

MINUTE = 60_000_000
RULES = Rules()
LENGTH, TOPICS = 120, 40


class Answered(NamedTuple):
    """One answer of a log; the time is in microseconds."""

    learner: str
    topic: str
    correct: float
    occurred_at: int


class Predictions(NamedTuple):
    """What was said before an answer, and what the answer was."""

    level: float
    expected: float
    topic_mean: float
    correct: float


def read(path: Path) -> list[Answered]:
    """The log, as this module's docstring says it. Ends the program at a line it cannot read."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        missing = {"learner", "topic", "correct"} - set(rows.fieldnames or ())
        if missing:
            sys.exit(f"{path}: the header lacks {', '.join(sorted(missing))}")
        return [_answered(path, rows.line_num, place, row) for place, row in enumerate(rows)]


def _answered(path: Path, line: int, place: int, row: dict[str, str]) -> Answered:
    try:
        correct = float(row["correct"])
        if not 0 <= correct <= 1:
            raise ValueError(f"correct: expected 0 to 1, not {row['correct']}")
        at = parse_time(row["occurred_at"]) if row.get("occurred_at") else place * MINUTE
    except (TypeError, ValueError) as fault:
        sys.exit(f"{path}, line {line}: {fault}")
    return Answered(row["learner"], row["topic"], correct, at)


def generated(learners: int, seed: int = 1) -> Iterator[Answered]:
    """A log of an item-response learner who gains and forgets."""
    drawn = random.Random(seed)
    difficulty = [drawn.gauss(0, 1) for _ in range(TOPICS)]
    for number in range(learners):
        ability = drawn.gauss(0.7, 1)
        offset = [drawn.gauss(0, 0.5) for _ in range(TOPICS)]
        gained, last = [0.0] * TOPICS, [0] * TOPICS
        topic = drawn.randrange(TOPICS)
        for place in range(LENGTH):
            if drawn.random() < 1 / 8:
                topic = drawn.randrange(TOPICS)
            gained[topic] *= 0.5 ** ((place - last[topic]) / 20)
            ease = ability - difficulty[topic] + offset[topic] + gained[topic]
            right = drawn.random() < 1 / (1 + math.exp(-ease))
            yield Answered(f"l{number}", f"t{topic}", float(right), place * MINUTE)
            gained[topic], last[topic] = gained[topic] + 0.15, place + 1


def predicted(log: Iterable[Answered]) -> list[Predictions]:
    """For every second learner's answers, in order."""
    by_learner: defaultdict[str, list[Answered]] = defaultdict(list)
    for answer in log:
        by_learner[answer.learner].append(answer)
    learners = [sorted(answers, key=lambda one: one.occurred_at) for answers in by_learner.values()]
    means, overall = topic_means(one for answers in learners[1::2] for one in answers)
    return [
        Predictions(level, expected, means.get(answer.topic, overall), answer.correct)
        for answers in learners[::2]
        for answer, (level, expected) in zip(answers, profiles(answers), strict=True)
    ]


def topic_means(answers: Iterable[Answered]) -> tuple[dict[str, float], float]:
    """Each topic's mean, and that of all."""
    by_topic: defaultdict[str, list[float]] = defaultdict(list)
    for answer in answers:
        by_topic[answer.topic].append(answer.correct)
    everything = [correct for said in by_topic.values() for correct in said]
    means = {topic: sum(said) / len(said) for topic, said in by_topic.items()}
    return means, sum(everything) / max(1, len(everything))


def profiles(answers: Sequence[Answered]) -> Iterator[tuple[float, float]]:
    """The level's number and what is expected, from the profile before each of the answers."""
    rows = Entity("users", "default", "learner", {})
    level, expected = 0.5, RULES.expected_prior
    for place, answer in enumerate(answers):
        profile = learner.document(rows, RULES, answer.learner)
        if profile is not None:
            level = profile["mastery_score"].get(answer.topic, 0.5)
            elsewhere = profile["expected_correct_elsewhere"]
            expected = profile["expected_correct"].get(answer.topic, elsewhere)
        yield level, expected
        said = UserSignal(
            f"{place:06}", answer.learner, None, answer.occurred_at, None, answer.topic, None, None,
            answer.correct, None,
        )  # fmt: skip
        learner.fold(rows, said, RULES)


def area(said: Sequence[float], correct: Sequence[float]) -> float:
    """AUC: how often a right answer (at least half) had the higher figure; ties count half."""
    order = sorted(range(len(said)), key=said.__getitem__)
    right = [one >= 0.5 for one in correct]
    ranks, start = 0.0, 0
    while start < len(order):
        end = start
        while end < len(order) and said[order[end]] == said[order[start]]:
            end += 1
        ranks += (start + end + 1) / 2 * sum(right[one] for one in order[start:end])
        start = end
    hits = sum(right)
    if not 0 < hits < len(right):
        sys.exit("the tested half of the log has answers of one outcome only")
    return (ranks - hits * (hits + 1) / 2) / (hits * (len(right) - hits))


def error(said: Sequence[float], correct: Sequence[float]) -> float:
    """The root of the mean squared error."""
    squares = ((one - other) ** 2 for one, other in zip(said, correct, strict=True))
    return math.sqrt(sum(squares) / len(said))


def main() -> None:
    parser = arguments(__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("log", nargs="?", type=Path, help="CSV of answers")
    source.add_argument("--generate", type=int, metavar="LEARNERS", help="make a log of so many")
    options = parser.parse_args()
    log = list(generated(options.generate)) if options.log is None else read(options.log)
    found = predicted(log)
    if not found:
        sys.exit("the log has no answers")
    correct = [one.correct for one in found]
    columns = {
        "the topic's mean among other learners": [one.topic_mean for one in found],
        "the level (`mastery_score`)": [one.level for one in found],
        "`expected_correct`": [one.expected for one in found],
    }
    show(
        f"{len(found):,} answers",
        ("predicted by", "AUC", "RMSE"),
        [
            (name, f"{area(said, correct):.3f}", f"{error(said, correct):.3f}")
            for name, said in columns.items()
        ],
    )


if __name__ == "__main__":
    main()
