"""What a request says: the instructions, then the user's turns and memory as data."""

import msgspec

from schemas.base import JsonObject, format_time
from streams.dates import Span, resolve
from streams.llm.answers import as_written
from streams.llm.groups import Group, Turn
from streams.llm.known import PROMPTED, Known, cut

ANSWER_SHARE = 4
"""Of what the agent said a quarter is enough to understand the user; of what tools told it, too."""
MOST_RESULTS = 8
"""Of tools, for one turn: the last ones."""

Message = dict[str, str]
_encode = msgspec.json.Encoder().encode


def messages(group: Group, known: Known, instructions: str, max_text: int) -> list[Message]:
    """A request's messages. Everything users or agents said is inside one JSON document."""
    data: JsonObject = {"now": format_time(group.valid_at)}
    for name in PROMPTED:
        data[name] = known.shown.get(name, ())
        data[f"{name}_left_out"] = known.left_out.get(name, 0)
    data["turns"] = [_turn(turn, max_text) for turn in group.turns]
    return [
        {"role": "system", "content": instructions},
        {"role": "user", "content": _encode(data).decode()},
    ]


def repair(answer: str, faults: str) -> list[Message]:
    """What the model is told after an invalid answer."""
    again = (
        f"That answer cannot be used: {as_written(faults)}\n"
        "Answer again with the whole corrected JSON object and nothing else. Leave out what cannot "
        "be corrected."
    )
    return [{"role": "assistant", "content": answer}, {"role": "user", "content": again}]


def with_schema(asked: list[Message], schema: JsonObject) -> list[Message]:
    """The same messages for an endpoint that takes no schema: the instructions hold it, too."""
    system, *rest = asked
    text = _encode(schema).decode()
    return [{**system, "content": f"{system['content']}\nThe schema:\n{text}"}, *rest]


def _turn(turn: Turn, max_text: int) -> JsonObject:
    less = max_text // ANSWER_SHARE
    shown: JsonObject = {
        "event_id": turn.event_id,
        "occurred_at": format_time(turn.occurred_at),
        "source": turn.source,
        "user_input": cut(turn.user_input, max_text),
        "agent_answer": cut(turn.agent_answer, less),
    }
    if dates := [_date(turn.user_input, one) for one in resolve(turn.user_input, turn.occurred_at)]:
        shown["dates"] = dates
    if results := turn.tool_results[-MOST_RESULTS:]:
        shown["tool_results"] = [cut(one, less) for one in results]
    return shown


def _date(text: str, span: Span) -> JsonObject:
    said = text[span.begin : span.stop]
    return {"said": said, "from": format_time(span.start), "to": format_time(span.end)}
