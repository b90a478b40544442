"""How likely a learner's next answer is right (docs/rules.md, Learners).

A learner's level starts at the prior, a topic's at the learner's level; in both the newest answers
count most, and an answer's weight falls by half with each few answers that follow it. Only answers
of this learner count, and the newest of each topic, so that any order of arrival ends the same.
"""

from collections.abc import Iterable, Mapping
from heapq import nlargest
from itertools import chain
from typing import NamedTuple

from streams.folds.rules import Rules


class Answer(NamedTuple):
    """One answer; `rate` is the share that was right, in millionths. Ordered by time, then id."""

    occurred_at: int
    event_id: str
    rate: int


class Expectation(NamedTuple):
    """Probabilities that the next answer is right: in each topic, and in one without answers."""

    topics: dict[str, float]
    elsewhere: float


def newest(answers: Iterable[Answer], rules: Rules) -> tuple[Answer, ...]:
    """The newest `max_answers` of them, oldest first."""
    return tuple(sorted(answers)[-rules.max_answers :])


def expectation(topics: Mapping[str, tuple[Answer, ...]], rules: Rules) -> Expectation:
    """From the newest answers of each topic, as `newest` returns them."""
    latest = nlargest(rules.max_answers, chain.from_iterable(topics.values()))
    learner = _faded(
        latest, rules.expected_learner_halflife, rules.expected_prior, rules.expected_prior_answers
    )
    return Expectation(
        {
            topic: round(
                _faded(
                    reversed(answers),
                    rules.expected_topic_halflife,
                    learner,
                    rules.expected_learner_answers,
                ),
                9,
            )
            for topic, answers in topics.items()
        },
        round(learner, 9),
    )


def _faded(answers: Iterable[Answer], halflife: float, start: float, weight: float) -> float:
    """The mean of `start`, which counts as `weight` answers, and the answers, newest first."""
    right, total = start * weight, weight
    for place, answer in enumerate(answers):
        counts = 0.5 ** (place / halflife)
        right += counts * answer.rate / 1_000_000
        total += counts
    return right / total
