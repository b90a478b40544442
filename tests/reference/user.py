"""The memory of each user, computed from the whole set of records.

What turns and signals say is a set: the order in which they came shows nowhere, and so are the
plans of the rules and of models. The plans of one user that others send are a list: they keep the
order given. Each applies whole or not at all, and which may is decided when it comes. Each part
has a page of its own: states, preferences, graph (threads and links), affect (moments and the
mood), learner.

Of the caps only the newest 20 of evidence is modelled: the records given must stay below 64
moments, 16 versions of a state, 64 ends of a family, 200 states that one tidying closes, and 500
topics.
"""

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas.events import Signal, Turn, WritePlan
from schemas.time import parse_time
from tests.reference import affect, ends, graph, learner, preferences, states
from tests.reference.records import Given, ended_turns, is_withheld
from tests.reference.wording import Document, Refused, made_id

Place = tuple[int, int, str, int]
"""Where a plan stands among its user's."""
Void = tuple[str, str, int]
"""An update of a plan."""


class UserMemory(NamedTuple):
    """What is known of a user: documents, confidences, and the plans that are dead letters."""

    profile: Document | None
    states: dict[str, list[Document]]
    preferences: dict[str, Document]
    threads: dict[tuple[str, str | None, str], float]
    links: dict[tuple[str, str, str, str | None], float]
    affects: dict[tuple[str | None, str], Document]
    refused: set[str]


@dataclass
class Planned:
    """What the plans of one user have made so far. `applied`: but for the rules' plans."""

    applied: list[str] = field(default_factory=list)
    states: dict[str, list[Document]] = field(default_factory=dict)
    preferences: dict[str, Document] = field(default_factory=dict)
    threads: graph.Entries = field(default_factory=dict)
    links: graph.Entries = field(default_factory=dict)
    over: list[ends.End] = field(default_factory=list)
    words: dict[int, affect.Words] = field(default_factory=dict)
    moments: list[affect.Moment] = field(default_factory=list)


def users(given: Sequence[Given]) -> dict[tuple[str, str], UserMemory]:
    """By (tenant, user_id): everybody of whom an ended turn, a signal or an applied plan speaks."""
    records: list[Any] = [one.record for one in given if not is_withheld(one.record)]
    turns = [turn for turn in ended_turns(given) if turn.user_id is not None]
    signals = user_signals(one for one in records if one.type == "signal")
    plans = [one for one in records if one.type == "write_plan"]
    memory: dict[tuple[str, str], UserMemory] = {}
    for key in {owner(one) for one in [*turns, *signals, *plans]}:
        own_turns = [turn for turn in turns if owner(turn) == key]
        own_signals = [signal for signal in signals if owner(signal) == key]
        own_plans = [plan for plan in plans if owner(plan) == key]
        planned, refused = after(own_plans)
        if own_turns or own_signals or {one.plan_id for one in own_plans} - refused:
            memory[key] = user_memory(key, own_turns, own_signals, planned, refused)
    return memory


def owner(record: Any) -> tuple[str, str]:
    return record.tenant, record.user_id


def user_signals(signals: Iterable[Signal]) -> list[Signal]:
    """Those of scope user, each once: their ids are unique in their user. the first."""
    known: dict[tuple[tuple[str, str], str], Signal] = {}
    for signal in signals:
        if signal.scope == "user":
            known.setdefault((owner(signal), signal.signal_id), signal)
    return list(known.values())


def after(plans: Iterable[WritePlan]) -> tuple[Planned, set[str]]:
    """What one user's plans have made, and which are refused: those that do not fit what is there
    when they come."""
    applied: dict[str, tuple[Place, WritePlan]] = {}
    refused = set()
    void: set[Void] = set()
    planned, clock = Planned(), 0
    for plan in plans:
        if plan.plan_id in applied:
            continue
        try:
            void |= apply(deepcopy(planned), plan, is_new=True)
        except Refused:
            refused.add(plan.plan_id)
            continue
        refused.discard(plan.plan_id)  # it may have been refused, and sent again
        place = place_of(plan, clock, len(applied))
        clock = place[0] if place[1] == 2 else clock
        applied[plan.plan_id] = place, plan
        planned = Planned()
        for _, one in sorted(applied.values(), key=lambda placed: placed[0]):
            apply(planned, one, void, is_new=False)
    return planned, refused


def place_of(plan: WritePlan, clock: int, number: int) -> Place:
    """The rules' and models' plans stand at their time; others behind all that was sent before."""
    if plan.extractor.name == "rules":
        return plan.occurred_at, 0, f"{plan.event_id or ''}\x1f{plan.plan_id}", 0
    if plan.extraction is not None:
        return plan.occurred_at, 1, plan.plan_id, 0
    return max(clock, plan.occurred_at), 2, "", number


def apply(
    planned: Planned, plan: WritePlan, void: Collection[Void] = (), *, is_new: bool
) -> set[Void]:
    """All of a plan: states, preferences, ends, threads, links, the moment, tidying. Of a plan that
    is not new, what does not fit in its place changes nothing. Which updates are `void` shows when
    it comes: with `unchanged_since`, what would end something unknown."""
    ends_nothing: set[Void] = set()
    refusals = () if is_new else (Refused,)
    if plan.extraction is not None and plan.extraction.error is not None:
        raise Refused("its extractor says that no plan came of it")
    for ordinal, update in enumerate(plan.state_updates):
        name = plan.plan_id, "state", ordinal
        if update.op != "upsert" and update.unchanged_since is not None:
            ends_nothing |= set() if update.state_id in planned.states else {name}
        if name in (ends_nothing if is_new else void):
            continue
        with suppress(*refusals):
            # an update is about the mood if its kind or its id says so
            is_mood = update.op == "upsert" and update.kind == "long_mood_state"
            if is_mood and update.state_id in planned.states:
                raise Refused("that is a state of another kind")
            if update.kind == "long_mood_state" or update.state_id == mood_id(*owner(plan)):
                affect.say_of_mood(planned.words, plan, update)
            else:
                states.update_state(planned.states, plan, update, ordinal)
    for ordinal, preference in enumerate(plan.preference_updates):
        name = plan.plan_id, "preference", ordinal
        if preference.op == "revoke" and preference.unchanged_since is not None:
            known = preferences.id_of(plan, preference, preference.polarity)
            ends_nothing |= set() if known in planned.preferences else {name}
        if name in (ends_nothing if is_new else void):
            continue
        if preferences.comes_too_late(planned.preferences, plan, preference):
            continue
        with suppress(*refusals):
            preferences.update_preference(planned.preferences, plan, preference)
            preferences.revoke_opposite(planned.preferences, planned.over, plan, preference)
    planned.over += [ends.end_of(plan, ordinal, over) for ordinal, over in enumerate(plan.ends)]
    for thread in plan.context_updates.threads if plan.context_updates else []:
        graph.update_thread(planned.threads, plan, thread)
    for link in plan.context_updates.links if plan.context_updates else []:
        graph.update_link(planned.links, plan, link)
    if plan.event_affect:
        planned.moments.append(affect.moment(plan, plan.event_affect))
    if plan.extractor.name == "rules":
        return ends_nothing
    planned.applied.append(plan.plan_id)
    if len(planned.applied) == 10 or len(planned.applied) % 200 == 0:
        states.tidy(planned.states, planned.over, plan.occurred_at)
    return ends_nothing


def mood_id(tenant: str, user_id: str) -> str:
    """The mood's own, also while there is no mood yet: against turns no order may show."""
    return made_id("long_mood_state", tenant, user_id)


def user_memory(
    key: tuple[str, str],
    turns: Sequence[Turn],
    signals: Sequence[Signal],
    planned: Planned,
    refused: set[str],
) -> UserMemory:
    felt = [affect.moment(turn, turn.affect) for turn in turns if turn.affect]
    moments = affect.standing([*felt, *planned.moments])
    mood = affect.mood(mood_id(*key), moments, planned.words)
    for holding in planned.states.values():
        holding[:] = [ends.closed(one, planned.over) for one in holding]
    versions = planned.states | ({mood_id(*key): mood} if mood else {})
    liked = planned.preferences.items()
    threads, links = planned.threads.items(), planned.links.items()
    return UserMemory(
        profile=learner.profile(key[1], [*turns, *signals]),
        states={name: [states.document(one) for one in versions[name]] for name in versions},
        preferences={
            name: preferences.document(ends.revoked(one, planned.over)) for name, one in liked
        },
        threads={(thread, known, event): sure for ((thread, event), known), sure in threads},
        links={(one, other, label, known): sure for ((one, other, label), known), sure in links},
        affects={(one.session_id, one.event_id): affect.document(one) for one in moments},
        refused=refused,
    )


def state_as_of(user: UserMemory, valid_at: int) -> dict[str, Document]:
    """The version of each state that holds at a time, where one does."""
    holding = {}
    for state_id, versions in user.states.items():
        begun = [one for one in versions if parse_time(one["valid_from"]) <= valid_at]
        end = begun[-1]["valid_to"] if begun else None
        if begun and (end is None or valid_at < parse_time(end)):
            holding[state_id] = begun[-1]
    return holding
