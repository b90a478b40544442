"""A model's answer, judged: a write plan that the fold will take, or faults in plain words.

What an answer may touch does not depend on what the turns talk a model into: this user alone,
evidence among the turns it was shown, states and preferences it was shown, or new ones.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import msgspec
from pydantic import ValidationError

from schemas.base import JsonObject, format_time
from streams.folds.ids import make_id
from streams.folds.quoting import quoted
from streams.llm.answers import Answer, StateSaid, without_nulls
from streams.llm.groups import Group
from streams.llm.known import Known, cut, like_key
from streams.pipeline.decode import Dead, decode, explain

FENCE = re.compile(r"\A\s*```\w*\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)
MOST_FAULTS = 12
ANSWER_KEPT = 20_000
"""Characters of an answer that a dead letter keeps."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="sorted").encode


class Author(NamedTuple):
    """Who makes plans: `extractor.name` and `extractor.version`. `timed`: a plan says when its
    turns were recorded, where no broker will."""

    name: str
    version: str
    timed: bool


class Usage(NamedTuple):
    """Of the calls of one group; cost in the prices' currency, `made_at` by the wall clock."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    made_at: int


class Fault(ValueError):  # noqa: N818 - what is wrong with an answer
    """The answer is none; the text says what to change."""


def plan_id(group: Group, author: Author) -> str:
    """The same for the same turns, model and prompt: a retry never doubles."""
    owner = (*group.owner, group.session_id)
    return make_id("plan", author.name, author.version, *owner, *group.event_ids)


def plan(text: str, group: Group, known: Known, author: Author, usage: Usage) -> JsonObject:
    """The record of an answer. Raises Fault."""
    answer = _read(text)
    if faults := list(_faults(answer, group, known)):
        raise Fault("; ".join(faults[:MOST_FAULTS]))
    for update in answer.state_updates:
        _date(update, answer, group)
    said = answer.model_dump(mode="json", exclude_defaults=True)
    _give_reasons(said, group)
    record = {**_record(group, author, usage), **said}
    verdict = decode(_encode(record), ("", 0, 0))
    if isinstance(verdict, Dead):
        raise Fault(verdict.detail)
    return record


def failure(error: str, answer: str, group: Group, author: Author, usage: Usage) -> JsonObject:
    """The record of a group no plan came of; ends as a dead letter, reason extraction_failed."""
    record = _record(group, author, usage)
    record["extraction"] |= {"error": cut(error, 2000), "answer": cut(answer, ANSWER_KEPT)}
    return record


def _record(group: Group, author: Author, usage: Usage) -> JsonObject:
    tenant, user_id = group.owner
    record = {
        "type": "write_plan",
        "schema_version": 2,
        "tenant": tenant,
        "plan_id": plan_id(group, author),
        "user_id": user_id,
        "session_id": group.session_id,
        "occurred_at": format_time(group.valid_at),
        "extractor": {"name": author.name, "version": author.version},
        "extraction": {
            "event_ids": group.event_ids,
            **usage._asdict(),
            "made_at": format_time(usage.made_at),
        },
    }
    if len(group.turns) == 1:  # of several each update names its own: `event_id` goes into all
        record["event_id"] = group.event_ids[0]
    if author.timed:
        record["recorded_at"] = format_time(group.known_at)
    return record


def _read(text: str) -> Answer:
    fenced = FENCE.match(text)
    try:
        given = _decode((fenced[1] if fenced else text).encode())
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise Fault(f"not JSON: {error}") from None
    if not isinstance(given, dict):
        raise Fault("expected one JSON object")
    try:
        return Answer.model_validate(without_nulls(given))
    except ValidationError as error:
        raise Fault(explain(error)) from None


def _give_reasons(said: JsonObject, group: Group) -> None:
    """Where the model gives no reason, the words of the first turn that it names as evidence."""
    words = {turn.event_id: turn.user_input for turn in group.turns if turn.user_input.strip()}
    context = said.get("context_updates", {})
    lists = (
        said.get("state_updates", ()), said.get("preference_updates", ()),
        context.get("threads", ()), context.get("links", ()),
    )  # fmt: skip
    for update in chain.from_iterable(lists):
        if not update.get("reason", "").strip() and words:
            named = (words.get(one) for one in update.get("evidence_event_ids", ()))
            update["reason"] = quoted(next(filter(None, named), next(iter(words.values()))))


def _date(update: StateSaid, answer: Answer, group: Group) -> None:
    """What is new was true from the first turn that says so, what ends until the last.

    Of what had ended by then only the end is known: an empty interval there.
    """
    notes = answer.event_annotations
    at = {turn.event_id: turn.occurred_at for turn in group.turns}
    said = sorted(at[event_id] for event_id in update.evidence_event_ids)
    if update.op == "upsert":
        is_new = update.state_id is None and update.kind != "long_mood_state"
        if is_new and update.valid_from is None and not (notes and notes.about_start):
            ended = said[0] if update.valid_to is None else update.valid_to
            update.valid_from = min(said[0], ended)
    elif update.op == "close" and update.valid_to is None and not (notes and notes.about_end):
        began = said[-1] if update.valid_from is None else update.valid_from
        update.valid_to = max(said[-1], began)


# --- what an answer may touch -----------------------------------------------------------------


def _faults(answer: Answer, group: Group, known: Known) -> Iterator[str]:
    """What the fold would refuse, and what is not this model's to say."""
    yield from _foreign(answer, set(group.event_ids))
    kinds = known.kinds()
    for number, update in enumerate(answer.state_updates):
        yield from (f"state_updates.{number}.{why}" for why in _state_faults(update, kinds))
    likes = known.likes()
    for number, like in enumerate(answer.preference_updates):
        key = like_key(like.model_dump())
        if like.op == "revoke" and key not in likes:
            yield f"preference_updates.{number}: no {like.polarity} of {like.subject!r} to revoke"
        likes.add(key)


def _state_faults(update: StateSaid, kinds: dict[str, str]) -> Iterator[str]:
    name = update.state_id
    kind = update.kind if name is None else kinds.get(name)
    if name is not None and kind is None:
        yield f"state_id: {name!r} is none of the states shown; leave it out for a new one"
    elif update.kind is not None and update.kind != kind:
        yield f"kind: {name} is a {kind}"
    elif update.op != "upsert" and kind == "long_mood_state":
        yield "op: a mood cannot end"
    elif update.op == "mark_done" and kind != "task":
        yield f"op: {name} is a {kind}, not a task"


def _foreign(answer: Answer, shown: set[str]) -> Iterator[str]:
    """Events that were not among the turns."""
    for path, event_id in _events(answer.model_dump(exclude_none=True)):
        if event_id not in shown:
            yield f"{path}: {event_id!r} is none of the turns given"


def _events(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from _events(one, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _events(one, f"{path}.{number}")
    elif re.search(r"event_ids?(\.\d+)?$", path):
        yield path, value
