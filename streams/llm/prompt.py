"""Builds the messages of a request: the instructions, then the user's turns and memory as data."""

import msgspec

from schemas.base import JsonObject, format_time
from streams.dates import Span, resolve
from streams.llm.debounce import Group, Turn
from streams.llm.prompted_memory import PROMPTED, ShownMemory, cut

ANSWER_SHARE = 4
"""Agent answers and tool results are cut to this fraction of a user text: enough context."""
MOST_RESULTS = 8
"""Maximum tool results per turn: the last ones."""

Message = dict[str, str]
_encode = msgspec.json.Encoder().encode


def messages(group: Group, memory: ShownMemory, instructions: str, max_text: int) -> list[Message]:
    """Returns a request's messages. All text of users and agents is inside one JSON document."""
    data: JsonObject = {"now": format_time(group.valid_at)}
    for name in PROMPTED:
        data[name] = memory.shown.get(name, ())
        data[f"{name}_left_out"] = memory.left_out.get(name, 0)
    data["turns"] = [_turn(turn, max_text) for turn in group.turns]
    return [
        {"role": "system", "content": instructions},
        {"role": "user", "content": _encode(data).decode()},
    ]


def repair(answer: str, faults: str) -> list[Message]:
    """Returns the messages that report an invalid answer to the model."""
    request = (
        f"That answer cannot be used: {faults}\n"
        "Answer again with the whole corrected JSON object and nothing else. Leave out what cannot "
        "be corrected."
    )
    return [{"role": "assistant", "content": answer}, {"role": "user", "content": request}]


def with_schema(messages: list[Message], schema: JsonObject) -> list[Message]:
    """Adds the schema to the instructions, for an endpoint without schema support."""
    system, *rest = messages
    text = _encode(schema).decode()
    return [{**system, "content": f"{system['content']}\nThe schema:\n{text}"}, *rest]


def _turn(turn: Turn, max_text: int) -> JsonObject:
    max_answer = max_text // ANSWER_SHARE
    document: JsonObject = {
        "event_id": turn.event_id,
        "occurred_at": format_time(turn.occurred_at),
        "source": turn.source,
        "user_input": cut(turn.user_input, max_text),
        "agent_answer": cut(turn.agent_answer, max_answer),
    }
    text = turn.user_input
    if dates := [_date(text, span) for span in resolve(text, turn.occurred_at)]:
        document["dates"] = dates
    if results := turn.tool_results[-MOST_RESULTS:]:
        document["tool_results"] = [cut(result, max_answer) for result in results]
    return document


def _date(text: str, span: Span) -> JsonObject:
    words = text[span.begin : span.stop]
    return {"said": words, "from": format_time(span.start), "to": format_time(span.end)}
