"""Checks a model's answer: it becomes a write plan that the fold will take, or a list of faults.

Whatever the turns talk a model into, an answer can only change this user's memory, name turns of
the request as evidence, and change states and preferences that it was shown, or make new ones.
"""

import re
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any, NamedTuple

import msgspec
from pydantic import ValidationError

from schemas.base import JsonObject, format_time
from streams.dates import resolve
from streams.folds.ids import make_id, normalise
from streams.folds.quoting import quoted
from streams.llm.answers import NAMES, Answer, StateSaid, as_plan
from streams.llm.groups import Group
from streams.llm.known import Known, cut, like_key
from streams.pipeline.decode import Dead, decode, explain

FENCE = "```"
THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
"""What a model thinks aloud before it answers; a template may have written the opening tag."""
MOST_FAULTS = 12
CONTEXT = "context_updates"
LEFT_OUT_KEPT = 2000
ANSWER_KEPT = 20_000
"""Characters of an answer that a dead letter keeps."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder(order="sorted").encode


class Author(NamedTuple):
    """Who makes plans: `extractor.name` and `extractor.version`."""

    name: str
    version: str


class Usage(NamedTuple):
    """The calls made for one group; cost in the prices' currency, `made_at` by the wall clock."""

    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float
    made_at: int


class Fault(ValueError):  # noqa: N818 - what is wrong with an answer
    """The answer is invalid; the message says what to change."""


class Misfit(Fault):
    """It has not even the shape that was asked for."""


def plan_id(group: Group, author: Author) -> str:
    """The same for the same turns, model and prompt, so that a retry is a duplicate."""
    owner = (*group.owner, group.session_id)
    return make_id("plan", author.name, author.version, *owner, *group.event_ids)


class Planner(NamedTuple):
    """Makes the records of a group; what is `known` of its user, the model was shown. `categories`:
    those of states."""

    group: Group
    known: Known
    author: Author
    categories: Collection[str]

    def plan(self, text: str, usage: Usage) -> JsonObject:
        """The write plan of an answer. Raises Fault."""
        return self._plan(_decoded(text), usage)

    def valid_part(self, text: str, usage: Usage) -> JsonObject:
        """The same of an answer without the updates that are at fault; `extraction.left_out` has
        why. Raises Fault where nothing else is left, or the answer as a whole is at fault."""
        decoded = _decoded(text)
        if not isinstance(decoded, dict):
            raise Misfit("expected one JSON object")
        faults = list[str]()
        kept: JsonObject = {
            name: None if NAMES.get(name, name) in Answer.model_fields else value
            for name, value in decoded.items()
        }
        record = self._plan(kept, usage)
        for path, entry in _entries(decoded):  # each with those before it: they may depend on them
            more = _with(kept, path, entry)
            try:
                record = self._plan(more, usage)
            except Fault as fault:
                faults.append(str(fault))
            else:
                kept = more
        if not any(kept.values()):
            raise Fault("; ".join(faults))
        record["extraction"]["left_out"] = cut("; ".join(faults), LEFT_OUT_KEPT)
        return record

    def failure(self, error: str, answer: str, usage: Usage) -> JsonObject:
        """The record of a group without a valid answer; it becomes a dead letter, reason
        extraction_failed."""
        record = self._record(usage)
        record["extraction"] |= {"error": cut(error, 2000), "answer": cut(answer, ANSWER_KEPT)}
        return record

    def _plan(self, decoded: Any, usage: Usage) -> JsonObject:
        answer, group = _read(decoded), self.group
        if faults := list(_faults(answer, group, self.known, self.categories)):
            raise Fault("; ".join(faults[:MOST_FAULTS]))
        for update in answer.state_updates:
            _date(update, answer, group)
        updates = answer.model_dump(mode="json", exclude_defaults=True)
        named = [(one, one.pop("category", None)) for one in updates.get("state_updates", ())]
        new = [(one, category) for one, category in named if category and "state_id" not in one]
        _give_reasons(updates, group)
        _give_dates(updates, group)
        _replace(updates, self.known, self.author)
        for update, category in new:  # what rules know of a state that is repeated counts more
            update.setdefault("payload", {}).setdefault("category", category)
        record = {**self._record(usage), **updates}
        verdict = decode(_encode(record), ("", 0, 0))
        if isinstance(verdict, Dead):
            raise Fault(verdict.detail)
        return record

    def _record(self, usage: Usage) -> JsonObject:
        group, author = self.group, self.author
        tenant, user_id = group.owner
        record = {
            "type": "write_plan",
            "schema_version": 2,
            "tenant": tenant,
            "plan_id": plan_id(group, author),
            "user_id": user_id,
            "session_id": group.session_id,
            "occurred_at": format_time(group.valid_at),
            "extractor": author._asdict(),
            "extraction": {
                "event_ids": group.event_ids,
                **usage._asdict(),
                "made_at": format_time(usage.made_at),
            },
        }
        if len(group.turns) == 1:  # evidence of each update; of several each update names its own
            record["event_id"] = group.event_ids[0]
        return record


Path = tuple[str, ...]


def _entries(node: JsonObject, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What an answer consists of: the entries of its lists, and its other fields."""
    for name, value in node.items():
        if isinstance(value, list):
            yield from (((*path, name), [entry]) for entry in value)
        elif isinstance(value, dict) and NAMES.get(name, name) == CONTEXT:
            yield from _entries(value, (*path, name))
        elif value is not None:
            yield (*path, name), value


def _with(node: JsonObject, path: Path, entry: Any) -> JsonObject:
    """A copy with one entry more."""
    name, *inner = path
    had = node.get(name)
    if inner:
        return {**node, name: _with(had or {}, tuple(inner), entry)}
    return {**node, name: [*(had or ()), *entry] if isinstance(entry, list) else entry}


def _read(decoded: Any) -> Answer:
    """Every field of the answer has to be there, as the schema says: a plan takes the place of what
    rules found, so an object that says nothing must not be taken for "nothing to remember"."""
    if not isinstance(decoded, dict):
        raise Misfit("expected one JSON object")
    given = {NAMES.get(name, name) for name in decoded}
    faults = [f"{name}: Field required" for name in Answer.model_fields if name not in given]
    try:
        answer = Answer.model_validate(as_plan(decoded))
    except ValidationError as error:
        faults.append(explain(error))
    if faults:
        raise Misfit("; ".join(faults))
    return answer


def _decoded(text: str) -> Any:
    """The JSON of an answer: all of it, else what follows the thoughts, else what is in the last
    fence, else from the first brace to the last. Raises Misfit."""
    said = THOUGHT.sub("", text)
    braced = said[said.find("{") : said.rfind("}") + 1]
    fault = None
    for part in (text, said, *_fenced(said), braced):
        try:
            return _decode(part.encode())
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            fault = fault or error
    raise Misfit(f"not JSON: {fault}")


def _fenced(text: str) -> list[str]:
    """What is in the last fence, if there is one, without the language in its first line. The marks
    are found from the end, so that an answer of nothing but fences is read once."""
    end = text.rfind(FENCE)
    start = text.rfind(FENCE, 0, end)
    if start < 0:
        return []
    language, _, fenced = text[start + len(FENCE) : end].partition("\n")
    return [fenced] if language.strip().isalnum() or not language.strip() else []


def _give_dates(updates: JsonObject, group: Group) -> None:
    """A state that names one date, or whose evidence does, is about it (docs/dates.md)."""
    turns = {turn.event_id: turn for turn in group.turns}
    for update in updates.get("state_updates", ()):
        told = [turns[event_id] for event_id in update["evidence_event_ids"]]
        at = told[0].occurred_at
        named = {(one.start, one.end) for one in resolve(update.get("body_text", ""), at)}
        if not named and update.get("op", "upsert") == "upsert" and len(told) == 1:
            alone = sum(
                told[0].event_id in one["evidence_event_ids"] for one in updates["state_updates"]
            )
            spans = resolve(told[0].user_input, at) if alone == 1 else []
            named = {(one.start, one.end) for one in spans}
        if len(named) == 1:
            ((start, end),) = named
            update["payload"] = {"about_start": format_time(start), "about_end": format_time(end)}


def _replace(updates: JsonObject, known: Known, author: Author) -> None:
    """What rules made of these turns was never so: their states are left without a moment, their
    preferences revoked. What others changed or confirmed since stays, whenever the plan comes, and
    what another version of the rules has not made does not refuse it."""
    for row in known.replaced:
        if _is_repeated(row, updates):
            continue
        evidence = {
            "evidence_event_ids": row["evidence_event_ids"],
            "reason": f"replaced by {author.name}",
            "unchanged_since": row["updated_at"],
        }
        if row["entity"] == "state":
            said = {name: row[name] for name in ("state_id", "kind", "body_text", "valid_from")}
            update = {**said, "valid_to": row["valid_from"], **evidence}
            updates.setdefault("state_updates", []).append(update)
        else:
            said = {name: row[name] for name in ("domain", "polarity", "subject", "confidence")}
            revoked = {"op": "revoke", **said, **evidence}
            updates["preference_updates"] = [revoked, *updates.get("preference_updates", ())]


def _is_repeated(row: JsonObject, updates: JsonObject) -> bool:
    """Whether the model says the same as rules did, of the same time: then theirs stays, with its
    id and with what they know of it besides, and the model's word confirms it."""
    if row["entity"] == "preference":
        likes = updates.get("preference_updates", ())
        return any(one.get("op") == "confirm" and like_key(one) == like_key(row) for one in likes)
    for update in updates.get("state_updates", ()):
        if _says(update) == _says(row) and "state_id" not in update and "valid_to" not in update:
            update["state_id"] = row["state_id"]
            update["unchanged_since"] = row["updated_at"]
            update["payload"] = {**(row.get("payload") or {}), **update.get("payload", {})}
            return True
    return False


def _says(state: JsonObject) -> tuple[str, str, str]:
    text = normalise(state.get("body_text", "")).rstrip(".。")
    return state["kind"], text, str(state.get("valid_from"))


def _give_reasons(updates: JsonObject, group: Group) -> None:
    """An update without a reason gets the words of the first turn that it names as evidence."""
    words = {turn.event_id: turn.user_input for turn in group.turns if turn.user_input.strip()}
    context = updates.get("context_updates", {})
    lists = (
        updates.get("state_updates", ()), updates.get("preference_updates", ()),
        context.get("threads", ()), context.get("links", ()),
    )  # fmt: skip
    for update in chain.from_iterable(lists):
        if not update.get("reason", "").strip() and words:
            named = (words.get(event_id) for event_id in update.get("evidence_event_ids", ()))
            update["reason"] = quoted(next(filter(None, named), next(iter(words.values()))))


def _date(update: StateSaid, answer: Answer, group: Group) -> None:
    """A new state is true from the first turn that says so, one that ends until the last.

    If a new state had ended by then, only its end is known: its interval is empty.
    """
    notes = answer.event_annotations
    at = {turn.event_id: turn.occurred_at for turn in group.turns}
    told_at = sorted(at[event_id] for event_id in update.evidence_event_ids)
    if update.op == "upsert":
        is_new = update.state_id is None and update.kind != "long_mood_state"
        if is_new and update.valid_from is None and not (notes and notes.about_start):
            ended = told_at[0] if update.valid_to is None else update.valid_to
            update.valid_from = min(told_at[0], ended)
    elif update.op == "close" and update.valid_to is None and not (notes and notes.about_end):
        began = told_at[-1] if update.valid_from is None else update.valid_from
        update.valid_to = max(told_at[-1], began)


# --- what an answer may touch -----------------------------------------------------------------


def _faults(
    answer: Answer, group: Group, known: Known, categories: Collection[str]
) -> Iterator[str]:
    """What the fold would refuse, and what an answer may not change."""
    yield from _foreign(answer, set(group.event_ids))
    kinds = known.kinds()
    for number, update in enumerate(answer.state_updates):
        yield from (f"state_updates.{number}.{why}" for why in _state_faults(update, kinds))
        if update.category is not None and update.category not in categories:
            expected = ", ".join(categories)
            yield f"state_updates.{number}.category: {update.category!r} is none of {expected}"
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
    """Events named in the answer that are not among the turns."""
    for path, event_id in _events(answer.model_dump(exclude_none=True)):
        if event_id not in shown:
            yield f"{path}: {event_id!r} is none of the turns given"


def _events(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _events(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _events(inner, f"{path}.{number}")
    elif re.search(r"event_ids?(\.\d+)?$", path):
        yield path, value
