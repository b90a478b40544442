"""The mood's fold: moments of affect into a slow baseline and a fading shock.

Row `a` has the newest 64 moments in order, each with the mood after it, and the mood before them.
A late moment is inserted at its place and later moments are folded again, so the mood does not
depend on the order of arrival. Formulas and check values: docs/rules.md, Affect.
"""

from bisect import bisect_left
from typing import Any, NamedTuple

from schemas.base import format_time
from schemas.events import Affect
from schemas.row import Row, replace
from streams.folds.constants import Rules
from streams.folds.effects import Moment, RowKind
from streams.folds.revisions import add_evidence

MAX_WORDS = 16

Axes = tuple[float, float, float]


class Mood(Row, frozen=True):
    """The mood right after `last_at`; half-life in seconds. `last_at` is None without a moment."""

    last_at: int | None = None
    baseline: Axes = (0.0, 0.0, 0.0)
    shock: Axes = (0.0, 0.0, 0.0)
    halflife: float = 3600.0
    severity: float = 0.0
    text: str = ""
    confidence: float = 0.0
    event_id: str = ""


class Felt(NamedTuple):
    """A moment and the mood after it."""

    moment: Moment
    mood: Mood


class Words(NamedTuple):
    """Text and confidence of the mood from a plan, in force from `since` on. An empty text and a
    confidence of None leave the current ones: of earlier words, otherwise of the moment."""

    since: int
    text: str
    confidence: float | None
    confirmed_at: int
    evidence: tuple[str, ...]


class MoodRow(Row, frozen=True):
    """`before` is the newest moment inside the checkpoint; `words` the newest 16, in order."""

    checkpoint: Mood = Mood()
    before: tuple[int, str, str] | None = None
    felt: tuple[Felt, ...] = ()
    words: tuple[Words, ...] = ()


MOODS = RowKind("a", MoodRow)
MOOD = MOODS.key()


def moment_of(
    occurred_at: int, event_id: str, affect: Affect, from_plan: bool, session_id: str | None
) -> Moment:
    """Converts the affect of a turn or plan into a moment."""
    vad, labels = affect.vad, tuple(affect.labels)
    v, a, d = _axes((vad.v, vad.a, vad.d))
    everywhere = from_plan and session_id is None
    return Moment(
        occurred_at, event_id, v, a, d, affect.confidence, affect.text, labels,
        from_plan, session_id, everywhere,
    )  # fmt: skip


def decay(seconds: float, halflife: float) -> float:
    """Returns the remainder of 1 after `seconds`."""
    return float(0.5 ** (max(0.0, seconds) / halflife))


def feel(mood: Mood, moment: Moment, rules: Rules) -> Mood:
    """The mood after one more moment; a moment of confidence 0 leaves it unchanged."""
    confidence = moment.confidence
    if confidence <= 0:
        return mood
    axes: Axes = (moment.v, moment.a, moment.d)
    if mood.last_at is None:
        mood = Mood(baseline=axes, halflife=rules.shock_halflife_hours * 3600)
        return replace(mood, **_told(moment))
    seconds = (moment.occurred_at - mood.last_at) / 1e6
    pull = (1 - decay(seconds, rules.baseline_halflife_hours * 3600)) * confidence
    baseline = _axes(b + (m - b) * pull for b, m in zip(mood.baseline, axes, strict=True))
    distance = _axes(m - b for b, m in zip(baseline, axes, strict=True))
    severity = max(abs(axis) for axis in distance) / 2
    impact = (rules.shock_weight + rules.shock_weight_range * severity) * confidence
    remainder = decay(seconds, mood.halflife)
    shock = _axes(
        s * remainder + (d - s * remainder) * impact
        for s, d in zip(mood.shock, distance, strict=True)
    )
    hours = rules.shock_halflife_hours + rules.shock_halflife_range_hours * severity**2
    numbers = Mood(moment.occurred_at, baseline, shock, hours * 3600, severity)
    return replace(numbers, **_told(moment))


def _told(moment: Moment) -> dict[str, Any]:
    return {
        "last_at": moment.occurred_at,
        "text": moment.text,
        "confidence": moment.confidence,
        "event_id": moment.event_id,
    }


def mood_at(mood: Mood, at: int) -> Axes:
    """Returns the mood at a time. Decay is applied on reading, without a timer."""
    since = at if mood.last_at is None else mood.last_at
    remainder = decay((at - since) / 1e6, mood.halflife)
    return _axes(
        min(1.0, max(-1.0, b + s * remainder))
        for b, s in zip(mood.baseline, mood.shock, strict=True)
    )


def _axes(values: Any) -> Axes:
    v, a, d = values
    return v + 0.0, a + 0.0, d + 0.0  # of -0.0 and 0.0 one is written


class Put(NamedTuple):
    """A row with one more moment: the effective moment of its event, and the replaced ones."""

    row: MoodRow
    stands: Moment
    gone: list[Moment]


def put_moment(row: MoodRow, moment: Moment, rules: Rules) -> Put | None:
    """Inserts a moment. Returns None if the moods do not change: another moment of the event takes
    precedence, or the moment is older than the checkpoint.

    The row does not depend on the order of moments (tests/reference/affect.py).
    """
    rivals = [entry for entry in row.felt if _is_of_one_event(entry.moment, moment)]
    winner = max((moment, *(entry.moment for entry in rivals)), key=_rank)
    if winner is not moment and not moment.everywhere:
        return None
    replaced = [entry.moment for entry in rivals if entry.moment is not winner]
    sessions = (entry.moment.session_id for entry in rivals if entry.moment.session_id)
    winner = winner._replace(
        session_id=winner.session_id or next(sessions, None),
        everywhere=moment.everywhere or any(entry.moment.everywhere for entry in rivals),
    )
    entries = [entry for entry in row.felt if entry not in rivals]
    at = bisect_left(entries, _order(winner), key=_place)
    if at == 0 and row.before is not None and _order(winner) <= row.before:
        return None
    start = min([at, *(row.felt.index(entry) for entry in rivals)])
    entries.insert(at, Felt(winner, Mood()))
    for index in range(start, len(entries)):
        previous = entries[index - 1].mood if index else row.checkpoint
        entries[index] = Felt(entries[index].moment, feel(previous, entries[index].moment, rules))
    return Put(replace(row, felt=tuple(entries)), winner, replaced)


def trim(row: MoodRow, rules: Rules) -> MoodRow:
    """At most 64 moments; the oldest goes into the checkpoint."""
    if len(row.felt) <= rules.max_moments:
        return row
    oldest = row.felt[0]
    return replace(row, checkpoint=oldest.mood, before=_place(oldest), felt=row.felt[1:])


def _place(entry: Felt) -> tuple[int, str, str]:
    return _order(entry.moment)


def _order(moment: Moment) -> tuple[int, str, str]:
    return moment.occurred_at, moment.event_id, moment.session_id or ""


def _is_of_one_event(first: Moment, second: Moment) -> bool:
    return first.event_id == second.event_id and (
        first.everywhere or second.everywhere or first.session_id == second.session_id
    )


def _rank(moment: Moment) -> tuple[Any, ...]:
    """Sort key: a plan's moment outranks a turn's, then a later one an earlier one, then the
    greater values the lesser."""
    numbers = (moment.v, moment.a, moment.d, moment.confidence)
    return moment.from_plan, moment.occurred_at, *numbers, moment.text, moment.labels


# --- the mood as a state ----------------------------------------------------------------------
# Each moment and each text of a plan starts a version of the one `long_mood_state`, so that
# `state_as_of` finds the mood of any date in the revisions.


def put_words(row: MoodRow, words: Words, rules: Rules) -> MoodRow:
    """Adds the words of a plan; words with the same `since` correct each other."""
    same = next((entry for entry in row.words if entry.since == words.since), None)
    rest = (entry for entry in row.words if entry is not same)
    ordered = sorted(
        (*rest, _over(same, words, rules) if same else words), key=lambda entry: entry.since
    )
    if len(ordered) > MAX_WORDS:  # the next one takes over the oldest one's text
        oldest, after, *newer = ordered
        merged = after._replace(
            text=after.text or oldest.text,
            confidence=oldest.confidence if after.confidence is None else after.confidence,
        )
        ordered = [merged, *newer]
    return replace(row, words=tuple(ordered))


def _over(earlier: Words, words: Words, rules: Rules) -> Words:
    return words._replace(
        text=words.text or earlier.text,
        confidence=earlier.confidence if words.confidence is None else words.confidence,
        evidence=add_evidence(earlier.evidence, words.evidence, rules),
    )


def begins(row: MoodRow, since: int) -> set[int]:
    """Returns the start times of the versions that start at `since` or later."""
    times = {entry.mood.last_at for entry in row.felt if entry.mood.last_at is not None}
    return {at for at in times | {entry.since for entry in row.words} if at >= since}


def standing(row: MoodRow, at: int) -> int | None:
    """Returns the start time of the version in force just before `at`, or None without one."""
    first = row.checkpoint.last_at
    earlier = begins(row, -(2**62)) | (set() if first is None else {first})
    return max((start for start in earlier if start < at), default=None)


def newest(row: MoodRow) -> int | None:
    """Returns the start time of the newest version, or None without a moment."""
    return standing(row, 2**62)


def version(row: MoodRow, state_id: str, at: int) -> dict[str, Any]:
    """Returns the version that starts at `at`, as a state's document."""
    moods = [row.checkpoint, *(moment.mood for moment in row.felt)]
    mood = next((m for m in reversed(moods) if m.last_at is not None and m.last_at <= at), Mood())
    texts = [words for words in row.words if words.since <= at]
    newest = texts[-1:]
    text = next((words.text for words in reversed(texts) if words.text), mood.text)
    confidence = next(
        (words.confidence for words in reversed(texts) if words.confidence is not None),
        mood.confidence,
    )
    event_ids = (mood.event_id,) if mood.event_id else ()
    evidence = (*(event_id for words in newest for event_id in words.evidence), *event_ids)
    times = [words.confirmed_at for words in newest]
    confirmed = max([*times, *(() if mood.last_at is None else (mood.last_at,))], default=at)
    return {
        "state_id": state_id,
        "kind": "long_mood_state",
        "body_text": text,
        "payload": payload(mood),
        "confidence": confidence,
        "entities": [],
        "valid_from": format_time(at),
        "valid_to": None,
        "last_confirmed_at": format_time(confirmed),
        "status": "active",
        "evidence_event_ids": list(dict.fromkeys(evidence)),
        "updated_at": format_time(confirmed),
    }


def payload(mood: Mood) -> dict[str, Any]:
    """Returns the payload of a `long_mood_state`."""
    return {
        "baseline_vad": dict(zip("vad", mood.baseline, strict=True)),
        "shock_vad": dict(zip("vad", mood.shock, strict=True)),
        "shock_halflife_seconds": mood.halflife,
        "shock_severity": mood.severity,
        "last_at": None if mood.last_at is None else format_time(mood.last_at),
    }


def from_payload(numbers: dict[str, Any], last_at: int | None) -> Mood:
    """Parses the payload of a `long_mood_state`."""
    base, shock = numbers["baseline_vad"], numbers["shock_vad"]
    return Mood(
        last_at,
        (base["v"], base["a"], base["d"]),
        (shock["v"], shock["a"], shock["d"]),
        numbers["shock_halflife_seconds"],
        numbers["shock_severity"],
    )
