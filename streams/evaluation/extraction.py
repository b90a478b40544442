"""How much of what a careful reader notes an extractor stores, and how much else.

What is stored and what was noted are the same in substance, as far as words can tell: both are of
one user, both name an event in common as evidence, and at least half of the words of the shorter
are in the other (stems, without stop words and dates). A wording that shares no words is not
recognised, so both figures are lower bounds: compare them between extractors, on the same set.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from sinks.history import connect
from streams.dates import resolve
from streams.evaluation.labels import Labels, Observation
from streams.extractors.fixed_dates import WRITTEN
from streams.search.tokens import terms
from streams.search.words import STOP

_DATE = re.compile(rf"(?:\b(?:{WRITTEN}) )?\0")
"""Where one was, with what the rules write before it."""
ENOUGH = 0.5
"""Of the words of the shorter: what has to be in the other."""
STORED = """
SELECT owner_id, state_id, 'state', body_text, evidence_event_ids, status = 'active'
FROM state_current
WHERE tenant = $tenant AND kind <> 'long_mood_state' AND valid_to IS DISTINCT FROM valid_from
UNION ALL
SELECT owner_id, preference_id, 'preference', subject, evidence_event_ids, status = 'confirmed'
FROM preference_current WHERE tenant = $tenant
"""
"""Without states that were never true: a model's plan leaves those of the rules so."""


class Item(msgspec.Struct, frozen=True):
    """A state or preference that was stored, closed ones included; `matches`: the lines of the
    observations that say the same."""

    tenant: str
    user_id: str
    id: str
    kind: str
    text: str
    evidence: list[str]
    matches: list[int]


class Extracted(msgspec.Struct, frozen=True):
    """Observations and items of their users: how many, and how many have a match among the others.

    `precision` is the share of items, `recall` that of observations (0..1; None without any).
    """

    observations: int
    observations_found: int
    items: int
    items_matching: int
    precision: float | None
    recall: float | None


def match(history: Path, observations: Sequence[Observation]) -> list[Item]:
    """What a history, or one generation's folder, stores of the users who were observed."""
    by_user: dict[tuple[str, str | None], list[Observation]] = defaultdict(list)
    for one in observations:
        by_user[one.tenant, one.user_id].append(one)
    items = []
    with connect(history, views=["state_current", "preference_current"]) as db:
        for tenant in sorted({tenant for tenant, _ in by_user}):
            for row in sorted(db.execute(STORED, {"tenant": tenant}).fetchall()):
                user, *_ = row
                noted = by_user.get((tenant, user)) or by_user.get((tenant, None))
                if noted is not None:
                    items.append(_item(tenant, row, noted))
    return items


def extracted(observations: Sequence[Observation], items: Sequence[Item]) -> Extracted:
    """The figures."""
    found = {line for one in items for line in one.matches}
    matching = sum(bool(one.matches) for one in items)
    return Extracted(
        len(observations),
        len(found),
        len(items),
        matching,
        matching / len(items) if items else None,
        len(found) / len(observations) if observations else None,
    )


class Facts(msgspec.Struct, frozen=True):
    """Shares (0..1; None without any) of the judged items that are useful, and useful or arguable;
    wrong and missing current facts, and the users with a wrong one among those with such labels."""

    judged: int
    not_judged: int
    useful: float | None
    useful_or_arguable: float | None
    wrong: int
    missing: int
    users: int
    users_wrong: int


def facts(history: Path, labels: Labels) -> Facts | None:
    """The figures of judgements and current facts; None without such labels."""
    if not labels.judgements and not labels.current:
        return None
    verdicts = {(one.tenant, one.user_id, one.text): one.verdict for one in labels.judgements}
    judged = {(one.tenant, one.user_id) for one in labels.judgements}
    tenants = {one.tenant for one in (*labels.judgements, *labels.current)}
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
    own = [item for item in stored if item[:2] in judged]
    known = [verdicts[item] for item in own if item in verdicts]
    failed = []
    for one in labels.current:
        words, own_words = _words(one.text), current[one.tenant, one.user_id]
        if one.holds is not any(words <= some for some in own_words):
            failed.append(one)
    wrong = [one for one in failed if not one.holds]
    return Facts(
        len(known),
        len(own) - len(known),
        known.count("useful") / len(known) if known else None,
        1 - known.count("useless") / len(known) if known else None,
        len(wrong),
        len(failed) - len(wrong),
        len({(one.tenant, one.user_id) for one in labels.current}),
        len({(one.tenant, one.user_id) for one in wrong}),
    )


def _item(
    tenant: str, row: tuple[str, str, str, str, list[str], bool], noted: Iterable[Observation]
) -> Item:
    user, key, kind, text, evidence, _ = row
    same = [one.line for one in noted if _same(text, evidence or [], one)]
    return Item(tenant, user, key, kind, text, evidence or [], same)


def _same(text: str, evidence: list[str], noted: Observation) -> bool:
    if noted.evidence and set(evidence).isdisjoint(noted.evidence):
        return False
    stored, read = _words(text), _words(noted.text)
    shorter = min(len(stored), len(read))
    return shorter > 0 and len(stored & read) >= ENOUGH * shorter


def _words(text: str) -> set[str]:
    return {term for term in terms(_undated(text)) if term not in STOP}


def _undated(text: str) -> str:
    """Without its dates: where one says "last week", the other says which."""
    for span in reversed(resolve(text, 0)):
        text = f"{text[: span.begin]}\0{text[span.stop :]}"
    return _DATE.sub(" ", text)
