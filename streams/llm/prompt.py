"""What a request says: the rules (prompt_1.txt), then the user's turns and memory as data."""

from functools import cache
from importlib.resources import files

import msgspec

from schemas.base import JsonObject, format_time
from streams.llm.answers import strict_schema
from streams.llm.groups import Group, Turn
from streams.llm.known import PROMPTED, Known, cut

VERSION = "1"
"""Of the rules and of the answer's schema. Another one makes other plans of the same turns: they
are extracted anew (a test holds text and schema to it)."""
ANSWER_SHARE = 4
"""Of what the agent said a quarter is enough to understand the user."""

Message = dict[str, str]
_encode = msgspec.json.Encoder().encode


@cache
def rules() -> str:
    """The system's part."""
    return (files(__package__) / f"prompt_{VERSION}.txt").read_text("utf-8")


@cache
def response_formats() -> tuple[JsonObject, JsonObject]:
    """What to ask for, and what of a server that does not know it."""
    schema = {"name": "memory", "strict": True, "schema": strict_schema()}
    return {"type": "json_schema", "json_schema": schema}, {"type": "json_object"}


def messages(group: Group, known: Known, max_text: int) -> list[Message]:
    """A request's messages. Everything users or agents said is inside one JSON document."""
    data: JsonObject = {"now": format_time(group.valid_at)}
    for name in PROMPTED:
        data[name] = known.shown.get(name, ())
        data[f"{name}_left_out"] = known.left_out.get(name, 0)
    data["turns"] = [_turn(turn, max_text) for turn in group.turns]
    return [
        {"role": "system", "content": rules()},
        {"role": "user", "content": _encode(data).decode()},
    ]


def repair(answer: str, faults: str) -> list[Message]:
    """What is said after an answer that is none."""
    again = (
        f"That answer cannot be used: {faults}\n"
        "Answer again with the whole corrected JSON object and nothing else. Leave out what cannot "
        "be corrected."
    )
    return [{"role": "assistant", "content": answer}, {"role": "user", "content": again}]


def with_schema(asked: list[Message]) -> list[Message]:
    """The same messages for an endpoint that takes no schema: the rules hold it, too."""
    system, *rest = asked
    schema = _encode(strict_schema()).decode()
    return [{**system, "content": f"{system['content']}\nThe schema:\n{schema}"}, *rest]


def _turn(turn: Turn, max_text: int) -> JsonObject:
    return {
        "event_id": turn.event_id,
        "occurred_at": format_time(turn.occurred_at),
        "source": turn.source,
        "user_input": cut(turn.user_input, max_text),
        "agent_answer": cut(turn.agent_answer, max_text // ANSWER_SHARE),
    }
