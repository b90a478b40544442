"""Probability that a learner's next answer is correct (docs/rules.md, Learners).

A learner's level starts at the prior, a topic's at the learner's level. The weight of an answer
halves after a number of later answers. Only the newest answers of each topic count, so the result
does not depend on the order of arrival.
"""

from collections.abc import Iterable, Mapping
from heapq import nlargest
from itertools import chain
from typing import NamedTuple

from streams.folds.constants import Rules


class Answer(NamedTuple):
    """One answer; `rate` is the correct share in millionths. Ordered by time, then id."""

    occurred_at: int
    event_id: str
    rate: int


class Expectation(NamedTuple):
    """Probability that the next answer is correct, by topic, and for a topic without answers."""

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
