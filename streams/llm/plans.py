"""Checks a model's answer and converts it to a write plan that the fold accepts, or raises Fault.

Guardrail against prompt injection: an answer can change this user's memory alone, name the turns of
the request alone as evidence, and change only the states and preferences shown, or add new ones.
"""

import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import msgspec
from pydantic import ValidationError

from schemas.base import JsonObject, format_time
from streams.dates import resolve
from streams.folds.ids import make_id, normalise
from streams.folds.quote_reason import quoted
from streams.llm.answers import NAMES, Answer, StateSaid, without_nulls
from streams.llm.debounce import Group
from streams.llm.prompted_memory import ShownMemory, cut, like_key
from streams.pipeline.decode import Dead, decode, explain

FENCE = "```"
THOUGHT = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
"""A model's reasoning before its answer; the opening tag may be part of a chat template."""
MOST_FAULTS = 12
FIELDS = tuple(NAMES[name] for name in Answer.model_fields)
CONTEXT = "context"
LEFT_OUT_KEPT = 2000
BOUNDS = ("too_", "string_too_", "greater_", "less_", "string_pattern", "value_error")
"""Beginnings of pydantic's types of errors that strict structured output does not exclude."""
ANSWER_KEPT = 20_000
"""Maximum characters of an answer in a dead letter."""

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder(order="sorted").encode


class Author(NamedTuple):
    """The author of plans: `extractor.name` and `extractor.version`."""

    name: str
    version: str


class Fault(ValueError):  # noqa: N818 - what is wrong with an answer
    """The answer is invalid; the message specifies what to change."""


class Misfit(Fault):
    """The answer does not have the requested format, which strict structured output ensures."""


def plan_id(group: Group, author: Author) -> str:
    """Returns a deterministic id of turns, model and prompt, so that a retry is a duplicate."""
    owner = (*group.owner, group.session_id)
    return make_id("plan", author.name, author.version, *owner, *group.event_ids)


class Planner(NamedTuple):
    """Creates the records of a group. `memory`: shown to the model. `categories`: of states.
    `usage`: calls, tokens, cost, and the time of the plan, in `extraction`."""

    group: Group
    memory: ShownMemory
    author: Author
    categories: Collection[str]

    def plan(self, text: str, usage: JsonObject) -> JsonObject:
        """Returns the write plan of an answer. Raises Fault."""
        return self._plan(_decoded(text), usage)

    def valid_part(self, text: str, usage: JsonObject) -> JsonObject:
        """Returns the write plan of the valid updates; `extraction.left_out` has the faults of the
        others. Raises Fault if no update is valid, or for a fault of the whole answer."""
        decoded = _decoded(text)
        faults = list[str]()
        valid: JsonObject = {**decoded, **{name: None for name in decoded if name in FIELDS}}
        record = self._plan(valid, usage)
        for path, entry in _entries(decoded):  # each may depend on the valid ones before it
            extended = _with(valid, path, entry)
            try:
                record = self._plan(extended, usage)
            except Fault as fault:
                faults.append(str(fault))
            else:
                valid = extended
        if not any(valid.values()):
            raise Fault("; ".join(faults))
        record["extraction"]["left_out"] = cut("; ".join(faults), LEFT_OUT_KEPT)
        return record

    def failure(self, error: str, answer: str, usage: JsonObject) -> JsonObject:
        """Returns the record of a group without a valid answer, which becomes a dead letter with
        reason extraction_failed."""
        record = self._record(usage)
        record["extraction"] |= {"error": cut(error, 2000), "answer": cut(answer, ANSWER_KEPT)}
        return record

    def _plan(self, decoded: JsonObject, usage: JsonObject) -> JsonObject:
        answer, group = _read(decoded), self.group
        if faults := list(_faults(answer, group, self.memory, self.categories)):
            raise Fault("; ".join(faults[:MOST_FAULTS]))
        for update in answer.state_updates:
            _date(update, answer, group)
        updates = answer.model_dump(mode="json", exclude_defaults=True)
        states = updates.get("state_updates", ())
        categories = [(update, update.pop("category", None)) for update in states]
        new = [entry for entry in categories if entry[1] and "state_id" not in entry[0]]
        _set_reasons(updates, group)
        _set_dates(updates, group)
        _replace(updates, self.memory, self.author)
        for update, category in new:  # the rules' category of a repeated state has precedence
            update.setdefault("payload", {}).setdefault("category", category)
        record = {**self._record(usage), **updates}
        verdict = decode(_encode(record), ("", 0, 0))
        if isinstance(verdict, Dead):
            raise Fault(verdict.detail)
        return record

    def _record(self, usage: JsonObject) -> JsonObject:
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
            "extraction": {"event_ids": group.event_ids, **usage},
        }
        if len(group.turns) == 1:  # default evidence; with several turns each update names its own
            record["event_id"] = group.event_ids[0]
        return record


Path = tuple[str, ...]


def _entries(node: JsonObject, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yields the entries of an answer's lists, and its other fields, with their paths."""
    for name, value in node.items():
        if isinstance(value, list):
            yield from (((*path, name), [entry]) for entry in value)
        elif isinstance(value, dict) and name == CONTEXT:
            yield from _entries(value, (*path, name))
        elif value is not None:
            yield (*path, name), value


def _with(node: JsonObject, path: Path, entry: Any) -> JsonObject:
    """Returns a copy with one more entry."""
    name, *inner = path
    present = node.get(name)
    if inner:
        return {**node, name: _with(present or {}, tuple(inner), entry)}
    return {**node, name: [*(present or ()), *entry] if isinstance(entry, list) else entry}


def _read(decoded: JsonObject) -> Answer:
    """Validates an answer. All fields are required: a plan replaces the results of the rules, so an
    empty object must not count as "nothing to remember"."""
    if missing := [f"{name}: Field required" for name in FIELDS if name not in decoded]:
        raise Misfit("; ".join(missing))
    try:
        return Answer.model_validate(without_nulls(decoded))
    except ValidationError as error:
        is_bound = all(fault["type"].startswith(BOUNDS) for fault in error.errors())
        raise (Fault if is_bound else Misfit)(explain(error)) from None


def _decoded(text: str) -> JsonObject:
    """Parses the JSON object of an answer: the whole text, otherwise the text after the reasoning,
    the last fenced block, or the text from the first brace to the last. Raises Misfit."""
    answer = THOUGHT.sub("", text)
    braced = answer[answer.find("{") : answer.rfind("}") + 1]
    faults = list[Exception]()
    for part in (text, answer, *_fenced(answer), braced):
        try:
            return _decode(part.encode())
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            faults.append(error)
    raise Misfit(f"not JSON: {faults[0]}")


def _fenced(text: str) -> list[str]:
    """The content of the last fenced block, if any, without its language. Searches from the end, so
    that an answer of many fences takes linear time."""
    end = text.rfind(FENCE)
    start = text.rfind(FENCE, 0, end)
    if start < 0:
        return []
    language, _, fenced = text[start + len(FENCE) : end].partition("\n")
    return [fenced] if language.strip().isalnum() or not language.strip() else []


def _set_dates(updates: JsonObject, group: Group) -> None:
    """Sets the date of a state whose text, otherwise whose evidence, names exactly one
    (docs/dates.md)."""
    turns = {turn.event_id: turn for turn in group.turns}
    states = updates.get("state_updates", ())
    for update in states:
        evidence = [turns[event_id] for event_id in update["evidence_event_ids"]]
        first = evidence[0]
        dates = _dates(update.get("body_text", ""), first.occurred_at)
        if not dates and update.get("op", "upsert") == "upsert" and len(evidence) == 1:
            uses = sum(first.event_id in state["evidence_event_ids"] for state in states)
            dates = _dates(first.user_input, first.occurred_at) if uses == 1 else set()
        if len(dates) == 1:
            ((start, end),) = dates
            update["payload"] = {"about_start": format_time(start), "about_end": format_time(end)}


def _dates(text: str, at: int) -> set[tuple[int, int]]:
    return {(span.start, span.end) for span in resolve(text, at)}


def _replace(updates: JsonObject, memory: ShownMemory, author: Author) -> None:
    """Invalidates the rules' results from these turns: gives their states an empty interval, and
    revokes their preferences. `unchanged_since` keeps later changes and confirmations, whenever the
    plan is applied, and accepts items that another version of the rules has not created."""
    for row in memory.replaced:
        if _is_repeated(row, updates):
            continue
        evidence = {
            "evidence_event_ids": row["evidence_event_ids"],
            "reason": f"replaced by {author.name}",
            "unchanged_since": row["updated_at"],
        }
        if row["entity"] == "state":
            fields = {name: row[name] for name in ("state_id", "kind", "body_text", "valid_from")}
            update = {**fields, "valid_to": row["valid_from"], **evidence}
            updates.setdefault("state_updates", []).append(update)
        else:
            fields = {name: row[name] for name in ("domain", "polarity", "subject", "confidence")}
            revocation = {"op": "revoke", **fields, **evidence}
            updates["preference_updates"] = [revocation, *updates.get("preference_updates", ())]


def _is_repeated(row: JsonObject, updates: JsonObject) -> bool:
    """Whether the model repeats the rules' result with the same time: then it stays, with its id
    and payload, and the model's update confirms it."""
    if row["entity"] == "preference":
        likes = updates.get("preference_updates", ())
        return any(
            like.get("op") == "confirm" and like_key(like) == like_key(row) for like in likes
        )
    for update in updates.get("state_updates", ()):
        is_same = _content_key(update) == _content_key(row)
        if is_same and "state_id" not in update and "valid_to" not in update:
            update["state_id"] = row["state_id"]
            update["unchanged_since"] = row["updated_at"]
            update["payload"] = {**(row.get("payload") or {}), **update.get("payload", {})}
            return True
    return False


def _content_key(state: JsonObject) -> tuple[str, str, str]:
    text = normalise(state.get("body_text", "")).rstrip(".。")
    return state["kind"], text, str(state.get("valid_from"))


def _set_reasons(updates: JsonObject, group: Group) -> None:
    """Sets missing reasons to the words of the first turn in the update's evidence."""
    words = {turn.event_id: turn.user_input for turn in group.turns if turn.user_input.strip()}
    lists = {**updates, **updates.get("context_updates", {})}
    for name in ("state_updates", "preference_updates", "threads", "links"):
        for update in lists.get(name, ()):
            if not update.get("reason", "").strip() and words:
                texts = (words.get(event_id) for event_id in update.get("evidence_event_ids", ()))
                update["reason"] = quoted(next(filter(None, texts), next(iter(words.values()))))


def _date(update: StateSaid, answer: Answer, group: Group) -> None:
    """Sets missing times: a new state is valid from the first turn of its evidence, an ended one
    until the last.

    A new state that has ended by then has an empty interval: only its end is known.
    """
    notes = answer.event_annotations
    at = {turn.event_id: turn.occurred_at for turn in group.turns}
    times = sorted(at[event_id] for event_id in update.evidence_event_ids)
    if update.op == "upsert":
        is_new = update.state_id is None and update.kind != "long_mood_state"
        if is_new and update.valid_from is None and not (notes and notes.about_start):
            end = times[0] if update.valid_to is None else update.valid_to
            update.valid_from = min(times[0], end)
    elif update.op == "close" and update.valid_to is None and not (notes and notes.about_end):
        start = times[-1] if update.valid_from is None else update.valid_from
        update.valid_to = max(times[-1], start)


# --- guardrails -------------------------------------------------------------------------------


def _faults(
    answer: Answer, group: Group, memory: ShownMemory, categories: Collection[str]
) -> Iterator[str]:
    """Yields updates that the fold would reject, and changes that an answer may not make."""
    yield from _foreign(answer, set(group.event_ids))
    kinds = memory.kinds()
    for number, update in enumerate(answer.state_updates):
        yield from (f"states.{number}.{why}" for why in _state_faults(update, kinds))
        if update.category is not None and update.category not in categories:
            expected = ", ".join(categories)
            yield f"states.{number}.category: {update.category!r} is none of {expected}"
    likes = memory.likes()
    for number, like in enumerate(answer.preference_updates):
        key = like_key(like.model_dump())
        if like.op == "revoke" and key not in likes:
            yield f"preferences.{number}: no {like.polarity} of {like.subject!r} to revoke"
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


def _foreign(answer: Answer, turn_ids: set[str]) -> Iterator[str]:
    """Yields the events in the answer that are not among the turns."""
    for path, event_id in _events(answer.model_dump(exclude_none=True, by_alias=True)):
        if event_id not in turn_ids:
            yield f"{path}: {event_id!r} is none of the turns given"


def _events(node: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for name, inner in node.items():
            yield from _events(inner, f"{path}.{name}" if path else name)
    elif isinstance(node, list):
        for number, inner in enumerate(node):
            yield from _events(inner, f"{path}.{number}")
    elif re.search(r"event_ids?(\.\d+)?$", path):
        yield path, node
