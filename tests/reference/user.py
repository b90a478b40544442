"""The memory of each user, computed from the whole set of records.

What turns and signals say is a set: the order in which they came shows nowhere. The write plans
of one user are a list: they apply in the order given, each whole or not at all. Each part has a
page of its own: states, preferences, graph (threads and links), affect (moments and the mood),
learner.

Of the caps only the newest 20 of evidence is modelled: the records given must stay below 64
moments, 16 versions of a state, 64 ends of a family, 200 states that one tidying closes, and 500
topics.
"""

from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas.events import Signal, Turn, WritePlan
from schemas.time import parse_time
from tests.reference import affect, ends, graph, learner, preferences, states
from tests.reference.records import Given, ended_turns, is_withheld
from tests.reference.wording import Document, Refused, made_id


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
    """What the plans of one user have made so far."""

    applied: list[str] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)
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
        planned = after(plan for plan in plans if owner(plan) == key)
        if own_turns or own_signals or planned.applied:
            memory[key] = user_memory(key, own_turns, own_signals, planned)
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


def after(plans: Iterable[WritePlan]) -> Planned:
    """What one user's plans have made, in their order. Each works on a copy, dropped if refused."""
    planned = Planned()
    for plan in plans:
        if plan.plan_id in planned.applied:
            continue
        copy = deepcopy(planned)
        try:
            apply(copy, plan)
        except Refused:
            planned.refused.add(plan.plan_id)
        else:
            planned = copy
            planned.refused.discard(plan.plan_id)  # it may have been refused, and sent again
    return planned


def apply(planned: Planned, plan: WritePlan) -> None:
    """All of a plan: states, preferences, ends, threads, links, the moment, tidying."""
    if plan.extraction is not None and plan.extraction.error is not None:
        raise Refused("its extractor says that no plan came of it")
    for ordinal, update in enumerate(plan.state_updates):
        # an update is about the mood if its kind or its id says so
        is_mood = update.op == "upsert" and update.kind == "long_mood_state"
        if is_mood and update.state_id in planned.states:
            raise Refused("that is a state of another kind")
        if update.kind == "long_mood_state" or update.state_id == mood_id(*owner(plan)):
            affect.say_of_mood(planned.words, plan, update)
        else:
            states.update_state(planned.states, plan, update, ordinal)
            hold(planned, plan)
    for preference in plan.preference_updates:
        if preferences.comes_too_late(planned.preferences, plan, preference):
            continue
        preferences.update_preference(planned.preferences, plan, preference)
        hold(planned, plan)
        preferences.revoke_opposite(planned.preferences, plan, preference)
    for ordinal, over in enumerate(plan.ends):
        planned.over.append(ends.end_of(plan, ordinal, over))
        hold(planned, plan)
    for thread in plan.context_updates.threads if plan.context_updates else []:
        graph.update_thread(planned.threads, plan, thread)
    for link in plan.context_updates.links if plan.context_updates else []:
        graph.update_link(planned.links, plan, link)
    if plan.event_affect:
        planned.moments.append(affect.moment(plan, plan.event_affect))
    planned.applied.append(plan.plan_id)
    if len(planned.applied) == 10 or len(planned.applied) % 200 == 0:
        states.tidy(planned.states, plan.occurred_at)


def hold(planned: Planned, plan: WritePlan) -> None:
    """No end that is known has to wait."""
    ends.hold(planned.over, planned.states, planned.preferences, plan)


def mood_id(tenant: str, user_id: str) -> str:
    """The mood's own, also while there is no mood yet: against turns no order may show."""
    return made_id("long_mood_state", tenant, user_id)


def user_memory(
    key: tuple[str, str], turns: Sequence[Turn], signals: Sequence[Signal], planned: Planned
) -> UserMemory:
    felt = [affect.moment(turn, turn.affect) for turn in turns if turn.affect]
    moments = affect.standing([*felt, *planned.moments])
    mood = affect.mood(mood_id(*key), moments, planned.words)
    versions = planned.states | ({mood_id(*key): mood} if mood else {})
    liked = planned.preferences.items()
    threads, links = planned.threads.items(), planned.links.items()
    return UserMemory(
        profile=learner.profile(key[1], [*turns, *signals]),
        states={name: [states.document(one) for one in versions[name]] for name in versions},
        preferences={name: preferences.document(one) for name, one in liked},
        threads={(thread, known, event): sure for ((thread, event), known), sure in threads},
        links={(one, other, label, known): sure for ((one, other, label), known), sure in links},
        affects={(one.session_id, one.event_id): affect.document(one) for one in moments},
        refused=planned.refused,
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
