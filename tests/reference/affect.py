"""Moments of feeling, and the mood: one state of the user that follows from them.

A turn or a plan says what was felt at an event. These moments move a slow baseline and a quick
shock, the numbers of the mood. Plans may put the mood into words, which change no number.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from schemas.events import EventAnnotations, StateUpdate, Turn, WritePlan
from schemas.time import HOUR, SECOND, format_time
from tests.reference.wording import Document, Refused, evidence, first_given

Vad = tuple[float, float, float]
"""Valence, arousal and dominance, -1 to 1 each."""


class Moment(NamedTuple):
    session_id: str | None
    event_id: str
    vad: Vad
    confidence: float
    text: str
    labels: list[str]
    occurred_at: int
    from_plan: bool


def moment(said: Turn | WritePlan, felt: Any) -> Moment:
    """`felt` is the turn's `affect`, or the plan's `event_affect`: of its own event by default."""
    from_plan = isinstance(said, WritePlan)
    event_id = felt.event_id if from_plan and felt.event_id else str(said.event_id)
    v, a, d = (min(1.0, max(-1.0, axis)) + 0.0 for axis in (felt.vad.v, felt.vad.a, felt.vad.d))
    text, labels, sure = felt.text, list(felt.labels), felt.confidence + 0.0  # -0.0 becomes 0.0
    at = said.occurred_at
    return Moment(said.session_id, event_id, (v, a, d), sure, text, labels, at, from_plan)


def standing(moments: Sequence[Moment]) -> list[Moment]:
    """The one moment that stands for each event, in order of (occurred_at, event_id, session_id).

    An event is an event id in a session. A moment without a session (a plan's) speaks of its
    event id in all sessions: then all moments of that id are of one event.
    """
    anywhere = {one.event_id for one in moments if one.session_id is None}
    events: dict[tuple[str | None, str], list[Moment]] = {}
    for one in moments:
        session_id = None if one.event_id in anywhere else one.session_id
        events.setdefault((session_id, one.event_id), []).append(one)

    def weight(one: Moment) -> tuple[Any, ...]:
        # among equals the greater session id stands, None last
        said = (one.vad, one.confidence, one.text, one.labels, one.session_id or "")
        return (one.from_plan, one.occurred_at, *said)

    stand = [max(said, key=weight) for said in events.values()]
    return sorted(stand, key=lambda one: (one.occurred_at, one.event_id, one.session_id or ""))


def document(one: Moment) -> Document:
    said = {"text": one.text, "labels": one.labels, "confidence": one.confidence}
    said |= {"occurred_at": format_time(one.occurred_at), "from_plan": one.from_plan}
    return said | dict(zip("vad", one.vad, strict=True))


class Feeling(NamedTuple):
    """The mood's numbers after a moment; the half-life in microseconds."""

    baseline: Vad = (0.0, 0.0, 0.0)
    shock: Vad = (0.0, 0.0, 0.0)
    severity: float = 0.0
    halflife: float = HOUR
    last_at: int | None = None


def moved(before: Feeling, one: Moment) -> Feeling:
    if before.last_at is None:
        return Feeling(baseline=one.vad, last_at=one.occurred_at)
    passed = one.occurred_at - before.last_at
    baseline = lerp(before.baseline, one.vad, (1 - decay(passed, 24 * HOUR)) * one.confidence)
    v, a, d = (axis - base for axis, base in zip(one.vad, baseline, strict=True))
    severity = max(abs(v), abs(a), abs(d)) / 2
    faded = lerp((0.0, 0.0, 0.0), before.shock, decay(passed, before.halflife))
    shock = lerp(faded, (v, a, d), (0.6 + 0.3 * severity) * one.confidence)
    return Feeling(baseline, shock, severity, HOUR + 23 * HOUR * severity**2, one.occurred_at)


def decay(passed: int, halflife: float) -> float:
    return float(0.5 ** (passed / halflife))


def lerp(start: Vad, end: Vad, share: float) -> Vad:
    """That share of the way from `start` to `end`."""
    v, a, d = (x + (y - x) * share + 0.0 for x, y in zip(start, end, strict=True))
    return v, a, d


class Words(NamedTuple):
    """What plans say of the mood since a time: a text, a confidence, both or neither."""

    text: str = ""
    confidence: float | None = None
    evidence: list[str] = []  # noqa: RUF012  (never changed)
    plan_at: int = 0


def say_of_mood(words: dict[int, Words], plan: WritePlan, update: StateUpdate) -> None:
    """Words of one time correct each other. an empty text begins a version, too."""
    if update.op != "upsert":
        raise Refused("the mood cannot be closed or done")
    if update.kind != "long_mood_state":
        raise Refused("the mood's id is no other state's")
    about = plan.event_annotations or EventAnnotations()
    since = first_given(update.valid_from, about.about_start, plan.occurred_at)
    old = words.get(since, Words())
    words[since] = Words(
        text=update.body_text or old.text,
        confidence=old.confidence if update.confidence is None else update.confidence + 0.0,
        evidence=evidence(old.evidence, plan, update.evidence_event_ids),
        plan_at=plan.occurred_at,
    )


def mood(mood_id: str, moments: Sequence[Moment], words: dict[int, Words]) -> list[Document]:
    """Each time of a standing moment or of words begins a version; confidence 0 begins none."""
    felt = [one for one in moments if one.confidence > 0]
    versions = []
    for time in sorted({one.occurred_at for one in felt} | set(words)):
        past = [one for one in felt if one.occurred_at <= time]
        said = [words[since] for since in sorted(words) if since <= time]
        versions.append({"state_id": mood_id, "valid_from": time} | mood_version(past, said))
    return versions


def mood_version(past: Sequence[Moment], said: Sequence[Words]) -> Document:
    """The mood after these moments and words, oldest first."""
    feeling = Feeling()  # before any moment all is neutral and `last_at` is null
    for one in past:
        feeling = moved(feeling, one)
    last_at = None if feeling.last_at is None else format_time(feeling.last_at)
    of_moment, of_words = past[-1:], said[-1:]  # the latest, or none
    texts = [one.text for one in of_moment] + [one.text for one in said if one.text]
    given = [one.confidence for one in said if one.confidence is not None]
    times = [one.occurred_at for one in of_moment] + [one.plan_at for one in of_words]
    events = [event_id for one in of_words for event_id in one.evidence]
    events += [one.event_id for one in of_moment]
    return {
        "kind": "long_mood_state",
        "body_text": ["", *texts][-1],
        "payload": {
            "baseline_vad": dict(zip("vad", feeling.baseline, strict=True)),
            "shock_vad": dict(zip("vad", feeling.shock, strict=True)),
            "shock_halflife_seconds": feeling.halflife / SECOND,
            "shock_severity": feeling.severity,
            "last_at": last_at,
        },
        "confidence": [0.0, *(one.confidence for one in of_moment), *given][-1],
        "entities": [],  # the mood is about nobody
        "valid_to": None,  # the mood is never closed; the next version ends this one
        "last_confirmed_at": max(times),
        "evidence_event_ids": list(dict.fromkeys(events)),
        "updated_at": max(times),
    }
