"""Messages that come in any number of requests make the memory that they make at once, and the
records that an importer makes of the whole conversation."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.folds.ids import make_id
from streams.importers import openai_chat
from streams.importers.session_messages import Records, Request, records
from tests.property.test_guarantee_2_rules import final
from tests.property.world import START, Json, World

SESSION, USER = "s1", "u1"
TEXT = st.sampled_from(("tea", "I live in Oslo.", "物理", "Error: no", "a\nb"))
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
IMAGE = st.sampled_from((PICTURE, PICTURE | {"description": "a red door"}))
SAID = TEXT.map(lambda text: {"type": "text", "text": text})
PARTS = st.lists(SAID | IMAGE, min_size=1, max_size=3)
CALL_IDS = st.sampled_from(("c1", "c2", "c3"))
SECONDS = START // 1_000_000


def call(call_id: str) -> Json:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": "{}"}}


class Piece(NamedTuple):
    """A message, and whether a request may end before it."""

    message: Json
    may_begin: bool


@st.composite
def turns(draw: st.DrawFn, speaks_first: bool) -> list[Piece]:
    """What a user says and what follows: thoughts, calls, results, one answer or none."""
    pieces: list[Piece] = []
    if not speaks_first:
        pieces.append(Piece({"role": "user", "content": draw(TEXT | PARTS)}, True))
    called: list[str] = []
    is_answered, answer = False, 99
    for kind in draw(st.lists(st.sampled_from("tcrA"), max_size=5)):
        if kind == "r":
            if called:
                answered = {"role": "tool", "tool_call_id": draw(st.sampled_from(called))}
                pieces.append(Piece(answered | {"content": draw(TEXT | PARTS)}, True))
            continue
        message: Json = {"role": "assistant", "content": draw(TEXT)}
        if kind == "t":
            message = {"role": "assistant", "content": None, "reasoning_content": draw(TEXT)}
        elif kind == "c":
            ids = draw(st.lists(CALL_IDS, min_size=1, max_size=2))
            message["tool_calls"] = [call(one) for one in ids]
            called += ids
        if is_answered:  # a turn ends with the request of its answer: what follows comes at once
            pieces[answer:] = [Piece(one.message, False) for one in pieces[answer:]]
        elif kind == "A":
            is_answered, answer = True, len(pieces) + 1
        pieces.append(Piece(message, len(pieces) < answer))
    return pieces


@st.composite
def conversations(draw: st.DrawFn, everywhere: bool = True) -> list[Piece]:
    """Turns in their order, with ids and times; `everywhere`: systems speak between turns, too."""
    pieces: list[Piece] = []
    for number in range(draw(st.integers(1, 4))):
        speaks = st.integers(0, 2) if everywhere or not number else st.just(0)
        system = [{"role": "system", "content": draw(TEXT)} for _ in range(draw(speaks))]
        of_turn = draw(turns(not number and draw(st.booleans())))
        if not of_turn:
            continue
        first, *rest = of_turn
        pieces += [Piece(one, not at) for at, one in enumerate(system)]
        pieces += [Piece(first.message, not system), *rest]
    at = 0.0
    timed = []
    for number, (message, may_begin) in enumerate(pieces):
        at += draw(st.sampled_from((0.5, 1, 60, 90_000)))
        whole = message | {"id": f"m{number}", "created_at": SECONDS + at}
        timed.append(Piece(whole, may_begin))
    return timed


@st.composite
def requests(draw: st.DrawFn, pieces: Sequence[Piece]) -> list[list[Json]]:
    """The messages in as many requests as it pleases."""
    cut: list[list[Json]] = []
    for message, may_begin in pieces:
        if not cut or (may_begin and draw(st.booleans())):
            cut.append([])
        cut[-1].append(message)
    return cut


def add(memory: World, messages: Sequence[Json], clock: int = 0, **fields: Any) -> Records:
    """One request, read as the session stands, and applied."""
    ids = [one["id"] for one in messages]
    request = Request(SESSION, USER, ids, messages, fields)
    found = records(memory.rows_of("sessions", SESSION), request, lambda: clock)
    outcomes = memory.say(*(one.record for one in found.made))
    assert set(outcomes) <= {"applied", "duplicate"}, memory.rows["dead_letters"]
    return found


def after(cut: Sequence[Sequence[Json]]) -> World:
    memory = World()
    for messages in cut:
        add(memory, messages)
    return memory


def told(memory: World) -> Json:
    """The last that the history has of each turn, and all steps and results."""
    events = {row["event_id"]: row["doc"] for row in memory.rows["events"]}
    images = {row["event_id"]: row["image_summaries"] for row in memory.rows["events"]}
    steps = sorted(row["doc"] for row in memory.rows["recursions"])
    results = sorted({row["doc"] for row in memory.rows["tool_results"]})
    return {"events": [events], "images": [images], "steps": steps, "results": results}


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_requests_make_the_memory_of_the_whole(data: st.DataObject) -> None:
    pieces = data.draw(conversations())
    whole = after([[one.message for one in pieces]] if pieces else [])
    split = after(data.draw(requests(pieces)))
    assert final(split) == final(whole)
    assert told(split) == told(whole)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_every_request_may_come_again_at_any_later_time(data: st.DataObject) -> None:
    """Without times of their own: those of the first time stand. Nothing is doubled."""
    cut = data.draw(requests(data.draw(conversations())))
    bare = [[{k: v for k, v in m.items() if k != "created_at"} for m in some] for some in cut]
    once, often = World(), World()
    for number, messages in enumerate(bare):
        clock = START + number * 1_000_000
        add(once, messages, clock)
        add(often, messages, clock)
        for again in data.draw(st.lists(st.sampled_from(bare[: number + 1]), max_size=3)):
            found = add(often, again, clock + 500_000)
            assert not found.is_old
    assert final(often) == final(once)
    assert told(often) == told(once)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_records_are_those_of_an_import(data: st.DataObject) -> None:
    pieces = data.draw(conversations(everywhere=False))
    messages = [one.message for one in pieces]
    item = {"session_id": SESSION, "user_id": USER, "messages": messages}
    imported = {_key(one) for one in _renamed(openai_chat.parse([item]), len(messages))}
    memory = World()
    made = add(memory, messages).made if messages else []
    assert {_key(one.record) for one in made} == imported


def _renamed(found: Iterator[Json], count: int) -> Iterator[Json]:
    """An import's records under the ids that messages give: it makes its own of their positions."""
    names = {}
    for at in range(count):
        names[make_id("event", SESSION, at)] = names[make_id("trace", SESSION, at)] = f"m{at}"
        names[make_id("task", SESSION, at)] = f"m{at}"
    for record in found:
        yield {k: names.get(v, v) if isinstance(v, str) else v for k, v in record.items()}


def _key(record: Json) -> str:
    """What an import says too: it knows neither how many steps a task may have nor that the last
    turn may still be answered."""
    ours = ("max_iteration", "system_messages", "message_id", "earlier_messages")
    known = {k: v for k, v in record.items() if k not in ours}
    if record["type"] == "turn":
        known["task_id"] = known["event_id"]
        known["status"] = known["status"] if known["agent_answer"] else "done"
    return json.dumps(known, sort_keys=True)
