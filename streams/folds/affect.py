"""The mood's fold: moments of feeling into a slow baseline and a fading shock.

Row `a`: the newest 64 moments in order, each with the mood after it, and the mood before them.
A late moment is put in its place and those after it are folded again, so that any order of
moments gives the same mood. Formulas and check values: docs/rules.md, Affect.
"""

from bisect import bisect_left
from typing import Any, NamedTuple

from schemas.base import format_time
from schemas.events import Affect
from schemas.row import Row, replace
from streams.folds.revisions import add_evidence
from streams.folds.rows import Moment, RowKind
from streams.folds.rules import Rules

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
    """What a plan said of the mood, standing from `since` on. No text ("") and no confidence
    (None) leave those that stand: of earlier words, else of the moment."""

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
    occurred_at: int, event_id: str, felt: Affect, from_plan: bool, session_id: str | None
) -> Moment:
    """What a turn or a plan says of a feeling, as the mood takes it."""
    vad, labels = felt.vad, tuple(felt.labels)
    v, a, d = _axes((vad.v, vad.a, vad.d))
    everywhere = from_plan and session_id is None
    return Moment(
        occurred_at, event_id, v, a, d, felt.confidence, felt.text, labels,
        from_plan, session_id, everywhere,
    )  # fmt: skip


def decay(seconds: float, halflife: float) -> float:
    """What is left of 1 after that time."""
    return float(0.5 ** (max(0.0, seconds) / halflife))


def feel(mood: Mood, moment: Moment, rules: Rules) -> Mood:
    """The mood after one more moment; confidence 0 changes nothing."""
    sure = moment.confidence
    if sure <= 0:
        return mood
    now: Axes = (moment.v, moment.a, moment.d)
    if mood.last_at is None:
        mood = Mood(baseline=now, halflife=rules.shock_halflife_hours * 3600)
        return replace(mood, **_told(moment))
    seconds = (moment.occurred_at - mood.last_at) / 1e6
    pull = (1 - decay(seconds, rules.baseline_halflife_hours * 3600)) * sure
    baseline = _axes(b + (m - b) * pull for b, m in zip(mood.baseline, now, strict=True))
    away = _axes(m - b for b, m in zip(baseline, now, strict=True))
    severity = max(abs(one) for one in away) / 2
    blow = (rules.shock_weight + rules.shock_weight_range * severity) * sure
    left = decay(seconds, mood.halflife)
    shock = _axes(s * left + (d - s * left) * blow for s, d in zip(mood.shock, away, strict=True))
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
    """The mood at a time: it fades when it is read, never by a timer."""
    since = at if mood.last_at is None else mood.last_at
    left = decay((at - since) / 1e6, mood.halflife)
    return _axes(
        min(1.0, max(-1.0, b + s * left)) for b, s in zip(mood.baseline, mood.shock, strict=True)
    )


def _axes(values: Any) -> Axes:
    v, a, d = values
    return v + 0.0, a + 0.0, d + 0.0  # of -0.0 and 0.0 one is written


class Put(NamedTuple):
    """A row with one more moment: which moment of its event stands, and which no longer do."""

    row: MoodRow
    stands: Moment
    gone: list[Moment]


def put_moment(row: MoodRow, moment: Moment, rules: Rules) -> Put | None:
    """The row with one more moment. None where the moods stay as they are: a moment that stands
    beats it, or it is older than the checkpoint.

    Any order of moments ends at the same row (tests/reference/affect.py says which).
    """
    rivals = [one for one in row.felt if _is_of_one_event(one.moment, moment)]
    stands = max((moment, *(one.moment for one in rivals)), key=_rank)
    if stands is not moment and not moment.everywhere:
        return None
    gone = [one.moment for one in rivals if one.moment is not stands]
    known = (one.moment.session_id for one in rivals if one.moment.session_id)
    stands = stands._replace(
        session_id=stands.session_id or next(known, None),
        everywhere=moment.everywhere or any(one.moment.everywhere for one in rivals),
    )
    felt = [one for one in row.felt if one not in rivals]
    at = bisect_left(felt, _order(stands), key=_place)
    if at == 0 and row.before is not None and _order(stands) <= row.before:
        return None
    start = min([at, *(row.felt.index(one) for one in rivals)])
    felt.insert(at, Felt(stands, Mood()))
    for index in range(start, len(felt)):
        previous = felt[index - 1].mood if index else row.checkpoint
        felt[index] = Felt(felt[index].moment, feel(previous, felt[index].moment, rules))
    return Put(replace(row, felt=tuple(felt)), stands, gone)


def trim(row: MoodRow, rules: Rules) -> MoodRow:
    """At most 64 moments; the oldest goes into the checkpoint."""
    if len(row.felt) <= rules.max_moments:
        return row
    oldest = row.felt[0]
    return replace(row, checkpoint=oldest.mood, before=_place(oldest), felt=row.felt[1:])


def _place(felt: Felt) -> tuple[int, str, str]:
    return _order(felt.moment)


def _order(moment: Moment) -> tuple[int, str, str]:
    return moment.occurred_at, moment.event_id, moment.session_id or ""


def _is_of_one_event(one: Moment, other: Moment) -> bool:
    return one.event_id == other.event_id and (
        one.everywhere or other.everywhere or one.session_id == other.session_id
    )


def _rank(moment: Moment) -> tuple[Any, ...]:
    """A plan's moment beats a turn's, then the latest stands, then the greater."""
    numbers = (moment.v, moment.a, moment.d, moment.confidence)
    return moment.from_plan, moment.occurred_at, *numbers, moment.text, moment.labels


# --- the mood as a state ----------------------------------------------------------------------
# Each moment begins a version of the one `long_mood_state`, and so does each text a plan writes:
# `state_as_of` then finds the mood of any date in the revisions.


def put_words(row: MoodRow, words: Words, rules: Rules) -> MoodRow:
    """The row with what one more plan said; words of one time correct each other."""
    same = next((one for one in row.words if one.since == words.since), None)
    others = (one for one in row.words if one is not same)
    ordered = sorted(
        (*others, _over(same, words, rules) if same else words), key=lambda one: one.since
    )
    if len(ordered) > MAX_WORDS:  # what the oldest said stands on in the next
        oldest, after, *rest = ordered
        kept = after._replace(
            text=after.text or oldest.text,
            confidence=oldest.confidence if after.confidence is None else after.confidence,
        )
        ordered = [kept, *rest]
    return replace(row, words=tuple(ordered))


def _over(known: Words, words: Words, rules: Rules) -> Words:
    return words._replace(
        text=words.text or known.text,
        confidence=known.confidence if words.confidence is None else words.confidence,
        evidence=add_evidence(known.evidence, words.evidence, rules),
    )


def begins(row: MoodRow, since: int) -> set[int]:
    """When the versions from that time on begin."""
    felt = {one.mood.last_at for one in row.felt if one.mood.last_at is not None}
    return {at for at in felt | {one.since for one in row.words} if at >= since}


def standing(row: MoodRow, at: int) -> int | None:
    """When the version that stands just before that time began."""
    first = row.checkpoint.last_at
    earlier = begins(row, -(2**62)) | (set() if first is None else {first})
    return max((one for one in earlier if one < at), default=None)


def newest(row: MoodRow) -> int | None:
    """When the newest version began; None without a moment."""
    return standing(row, 2**62)


def version(row: MoodRow, state_id: str, at: int) -> dict[str, Any]:
    """The version that begins then, as a state's document."""
    moods = [row.checkpoint, *(one.mood for one in row.felt)]
    mood = next((m for m in reversed(moods) if m.last_at is not None and m.last_at <= at), Mood())
    said = [one for one in row.words if one.since <= at]
    newest = said[-1:]
    text = next((one.text for one in reversed(said) if one.text), mood.text)
    confidence = next(
        (one.confidence for one in reversed(said) if one.confidence is not None), mood.confidence
    )
    felt_at = (mood.event_id,) if mood.event_id else ()
    evidence = (*(one for words in newest for one in words.evidence), *felt_at)
    told = [words.confirmed_at for words in newest]
    confirmed = max([*told, *(() if mood.last_at is None else (mood.last_at,))], default=at)
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
