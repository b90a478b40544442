"""The mood's fold (seed 003 §5): moments of feeling into a slow baseline and a fading shock.

Row `a`: the newest 64 moments in order, each with the mood after it, and the mood before them.
A late moment is put in its place and those after it are folded again, so that any order of
moments gives the same mood. Formulas and check values: design 04, Affect.
"""

from bisect import bisect_left
from typing import Any, NamedTuple

from schemas.base import format_time
from schemas.events import Affect
from schemas.row import Row, replace
from streams.folds.constants import CONSTANTS
from streams.folds.rows import Moment

MAX_WORDS = 16

Axes = tuple[float, float, float]


class Mood(Row, frozen=True):
    """The mood right after `last_at`; half-life in seconds. `last_at` None: nothing felt yet."""

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
    """A text that a plan wrote for the mood, standing from `since` on."""

    since: int
    text: str
    confidence: float
    confirmed_at: int
    evidence: tuple[str, ...]


class MoodRow(Row, frozen=True):
    """`before` is the newest moment inside the checkpoint; `words` the newest 16, in order."""

    checkpoint: Mood = Mood()
    before: tuple[int, str] | None = None
    felt: tuple[Felt, ...] = ()
    words: tuple[Words, ...] = ()


def moment_of(occurred_at: int, event_id: str, felt: Affect, from_plan: bool) -> Moment:
    """What a turn or a plan says of a feeling, as the mood takes it."""
    vad, labels = felt.vad, tuple(felt.labels)
    numbers = (vad.v, vad.a, vad.d, felt.confidence)
    return Moment(occurred_at, event_id, *numbers, felt.text, labels, from_plan)


def decay(seconds: float, halflife: float) -> float:
    """What is left of 1 after that time."""
    return float(0.5 ** (max(0.0, seconds) / halflife))


def feel(mood: Mood, moment: Moment) -> Mood:
    """The mood after one more moment; confidence 0 changes nothing."""
    sure = moment.confidence
    if sure <= 0:
        return mood
    now: Axes = (moment.v, moment.a, moment.d)
    if mood.last_at is None:
        mood = Mood(baseline=now, halflife=CONSTANTS.shock_halflife_hours * 3600)
        return replace(mood, **_told(moment))
    seconds = (moment.occurred_at - mood.last_at) / 1e6
    pull = (1 - decay(seconds, CONSTANTS.baseline_halflife_hours * 3600)) * sure
    baseline = _axes(b + (m - b) * pull for b, m in zip(mood.baseline, now, strict=True))
    away = _axes(m - b for b, m in zip(baseline, now, strict=True))
    severity = max(abs(one) for one in away) / 2
    blow = (CONSTANTS.shock_weight + CONSTANTS.shock_weight_range * severity) * sure
    left = decay(seconds, mood.halflife)
    shock = _axes(s * left + (d - s * left) * blow for s, d in zip(mood.shock, away, strict=True))
    hours = CONSTANTS.shock_halflife_hours + CONSTANTS.shock_halflife_range_hours * severity**2
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
    """The mood at a time: it fades when it is read, never by a timer."""
    since = at if mood.last_at is None else mood.last_at
    left = decay((at - since) / 1e6, mood.halflife)
    return _axes(
        min(1.0, max(-1.0, b + s * left)) for b, s in zip(mood.baseline, mood.shock, strict=True)
    )


def _axes(values: Any) -> Axes:
    v, a, d = values
    return v, a, d


def put_moment(row: MoodRow, moment: Moment) -> tuple[MoodRow, Moment | None] | None:
    """The row with one more moment, and the moment of the same event that it replaced.

    None where the moods stay as they are: the event's moment is a plan's and this a turn's, or
    the moment is older than the checkpoint.
    """
    key = moment.occurred_at, moment.event_id
    old = next((one for one in row.felt if one.moment.event_id == moment.event_id), None)
    if old is not None and _beats(old.moment, moment):
        return None
    felt = [one for one in row.felt if one is not old]
    at = bisect_left(felt, key, key=_order)
    if at == 0 and row.before is not None and key <= row.before:
        return None
    start = at if old is None else min(at, bisect_left(row.felt, _order(old), key=_order))
    felt.insert(at, Felt(moment, Mood()))
    for index in range(start, len(felt)):
        previous = felt[index - 1].mood if index else row.checkpoint
        felt[index] = Felt(felt[index].moment, feel(previous, felt[index].moment))
    return replace(row, felt=tuple(felt)), old.moment if old else None


def trim(row: MoodRow) -> MoodRow:
    """At most 64 moments; the oldest goes into the checkpoint."""
    if len(row.felt) <= CONSTANTS.max_moments:
        return row
    oldest = row.felt[0]
    return replace(row, checkpoint=oldest.mood, before=_order(oldest), felt=row.felt[1:])


def _order(felt: Felt) -> tuple[int, str]:
    return felt.moment[:2]


def _beats(old: Moment, new: Moment) -> bool:
    """Whether the standing moment of an event stays: a plan's beats a turn's, then the latest.

    Two of one time: plans have an order, turns have none, so of theirs the greater one stands.
    """
    if old.from_plan != new.from_plan:
        return old.from_plan
    if old.occurred_at != new.occurred_at:
        return old.occurred_at > new.occurred_at
    return old == new or (not new.from_plan and old > new)


# --- the mood as a state ----------------------------------------------------------------------
# Each moment begins a version of the one `long_mood_state`, and so does each text a plan writes:
# `state_as_of` then finds the mood of any date in the revisions.


def put_words(row: MoodRow, words: Words) -> MoodRow:
    """The row with a text from a plan; one of the same time replaces it."""
    others = (one for one in row.words if one.since != words.since)
    return replace(row, words=tuple(sorted((*others, words)))[-MAX_WORDS:])


def begins(row: MoodRow, since: int) -> set[int]:
    """When the versions from that time on begin."""
    felt = {one.mood.last_at for one in row.felt if one.mood.last_at is not None}
    return {at for at in felt | {one.since for one in row.words} if at >= since}


def standing(row: MoodRow, at: int) -> int | None:
    """When the version that stands just before that time began."""
    first = row.checkpoint.last_at
    earlier = begins(row, -(2**62)) | (set() if first is None else {first})
    return max((one for one in earlier if one < at), default=None)


def version(row: MoodRow, state_id: str, at: int) -> dict[str, Any]:
    """The version that begins then, as a state's document."""
    moods = [row.checkpoint, *(one.mood for one in row.felt)]
    mood = next((m for m in reversed(moods) if m.last_at is not None and m.last_at <= at), Mood())
    words = next((one for one in reversed(row.words) if one.since <= at), None)
    evidence = (*(words.evidence if words else ()), *((mood.event_id,) if mood.event_id else ()))
    confirmed = max(mood.last_at or at, words.confirmed_at if words else at)
    return {
        "state_id": state_id,
        "kind": "long_mood_state",
        "body_text": words.text if words else mood.text,
        "payload": payload(mood),
        "confidence": words.confidence if words else mood.confidence,
        "entities": [],
        "valid_from": format_time(at),
        "valid_to": None,
        "last_confirmed_at": format_time(confirmed),
        "status": "active",
        "evidence_event_ids": list(dict.fromkeys(evidence)),
        "updated_at": format_time(confirmed),
    }


def payload(mood: Mood) -> dict[str, Any]:
    """The numbers as `long_mood_state` carries them."""
    return {
        "baseline_vad": dict(zip("vad", mood.baseline, strict=True)),
        "shock_vad": dict(zip("vad", mood.shock, strict=True)),
        "shock_halflife_seconds": mood.halflife,
        "shock_severity": mood.severity,
        "last_at": None if mood.last_at is None else format_time(mood.last_at),
    }


def from_payload(numbers: dict[str, Any], last_at: int | None) -> Mood:
    """The mood behind a payload read from the history."""
    base, shock = numbers["baseline_vad"], numbers["shock_vad"]
    return Mood(
        last_at,
        (base["v"], base["a"], base["d"]),
        (shock["v"], shock["a"], shock["d"]),
        numbers["shock_halflife_seconds"],
        numbers["shock_severity"],
    )
