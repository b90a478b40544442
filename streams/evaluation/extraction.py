"""Precision and recall of an extractor against a careful reader's observations.

A stored item matches an observation if both are of one user, both have an event in common as
evidence, and at least half of the words of the shorter are in the other (stems, without stop words
and dates). Paraphrases without shared words do not match, so both figures are lower bounds: compare
them between extractors on the same set.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from sinks.history import connect
from streams.dates import resolve
from streams.evaluation.labels import Labels, Observation
from streams.extractors.absolute_dates import WRITTEN
from streams.search.stopwords import STOP
from streams.search.tokens import terms

_DATE = re.compile(rf"(?:\b(?:{WRITTEN}) )?\0")
"""The place of a removed date, with the words that the rules write before it."""
ENOUGH = 0.5
"""Minimum share of the shorter text's words in the other."""
STORED = """
SELECT owner_id, state_id, 'state', body_text, evidence_event_ids, status = 'active'
FROM state_current
WHERE tenant = $tenant AND kind <> 'long_mood_state' AND valid_to IS DISTINCT FROM valid_from
UNION ALL
SELECT owner_id, preference_id, 'preference', subject, evidence_event_ids, status = 'confirmed'
FROM preference_current WHERE tenant = $tenant
"""
"""Omits states that were never valid: a model's plan that replaces a state of the rules leaves such
a state."""


class Item(msgspec.Struct, frozen=True):
    """A stored state or preference, including closed ones; `matches`: the lines of the matching
    observations."""

    tenant: str
    user_id: str
    id: str
    kind: str
    text: str
    evidence: list[str]
    matches: list[int]


class ExtractionFigures(msgspec.Struct, frozen=True):
    """Counts of observations and of their users' items, in all and with a match.

    `precision`: share of items with a match; `recall`: share of observations (0..1, or None without
    any).
    """

    observations: int
    observations_found: int
    items: int
    items_matching: int
    precision: float | None
    recall: float | None


def match(history: Path, observations: Sequence[Observation]) -> list[Item]:
    """Returns the items of the observed users in a history or a generation's folder."""
    by_user: dict[tuple[str, str | None], list[Observation]] = defaultdict(list)
    for observation in observations:
        by_user[observation.tenant, observation.user_id].append(observation)
    items = []
    with connect(history, views=["state_current", "preference_current"]) as db:
        for tenant in sorted({tenant for tenant, _ in by_user}):
            for row in sorted(db.execute(STORED, {"tenant": tenant}).fetchall()):
                user, *_ = row
                candidates = by_user.get((tenant, user)) or by_user.get((tenant, None))
                if candidates is not None:
                    items.append(_item(tenant, row, candidates))
    return items


def figures(observations: Sequence[Observation], items: Sequence[Item]) -> ExtractionFigures:
    """Computes precision and recall."""
    lines = {line for item in items for line in item.matches}
    matching = sum(bool(item.matches) for item in items)
    return ExtractionFigures(
        len(observations),
        len(lines),
        len(items),
        matching,
        matching / len(items) if items else None,
        len(lines) / len(observations) if observations else None,
    )


class Facts(msgspec.Struct, frozen=True):
    """Shares (0..1, or None without any) of judged items that are useful, and useful or arguable;
    counts of wrong and missing current facts, of labelled users, and of users with a wrong one."""

    judged: int
    not_judged: int
    useful: float | None
    useful_or_arguable: float | None
    wrong: int
    missing: int
    users: int
    users_wrong: int


def facts(history: Path, labels: Labels) -> Facts | None:
    """Returns the figures of judgements and current facts, or None without such labels."""
    if not labels.judgements and not labels.current:
        return None
    verdicts = {
        (judgement.tenant, judgement.user_id, judgement.text): judgement.verdict
        for judgement in labels.judgements
    }
    judged = {(tenant, user) for tenant, user, _ in verdicts}
    tenants = {label.tenant for label in (*labels.judgements, *labels.current)}
    stored: list[tuple[str, str, str]] = []
    current: dict[tuple[str, str | None], list[set[str]]] = defaultdict(list)
    with connect(history, views=["state_current", "preference_current"]) as db:
        for tenant in sorted(tenants):
            for user, _, _, text, _, is_current in db.execute(
                STORED, {"tenant": tenant}
            ).fetchall():
                stored.append((tenant, user, text))
                if is_current:
                    current[tenant, user].append(_words(text))
    items = [item for item in stored if item[:2] in judged]
    item_verdicts = [verdicts[item] for item in items if item in verdicts]
    failed = []
    for label in labels.current:
        words, fact_words = _words(label.text), current[label.tenant, label.user_id]
        if label.holds is not any(words <= fact for fact in fact_words):
            failed.append(label)
    wrong = [label for label in failed if not label.holds]
    count = len(item_verdicts)
    return Facts(
        count,
        len(items) - count,
        item_verdicts.count("useful") / count if count else None,
        1 - item_verdicts.count("useless") / count if count else None,
        len(wrong),
        len(failed) - len(wrong),
        len({(label.tenant, label.user_id) for label in labels.current}),
        len({(label.tenant, label.user_id) for label in wrong}),
    )


def _item(
    tenant: str,
    row: tuple[str, str, str, str, list[str], bool],
    observations: Iterable[Observation],
) -> Item:
    user, key, kind, text, evidence, _ = row
    lines = [
        observation.line
        for observation in observations
        if _matches(text, evidence or [], observation)
    ]
    return Item(tenant, user, key, kind, text, evidence or [], lines)


def _matches(text: str, evidence: list[str], observation: Observation) -> bool:
    if observation.evidence and set(evidence).isdisjoint(observation.evidence):
        return False
    stored, observed = _words(text), _words(observation.text)
    shorter = min(len(stored), len(observed))
    return shorter > 0 and len(stored & observed) >= ENOUGH * shorter


def _words(text: str) -> set[str]:
    return {term for term in terms(_undated(text)) if term not in STOP}


def _undated(text: str) -> str:
    """Removes the dates: one text may have "last week" where the other has the date."""
    for span in reversed(resolve(text, 0)):
        text = f"{text[: span.begin]}\0{text[span.stop :]}"
    return _DATE.sub(" ", text)
