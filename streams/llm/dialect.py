"""Which parameters an endpoint takes for a model: found out by its refusals, and then kept.

Real endpoints differ in three things: how an answer is bound to a schema, the name of the limit of
an answer, and whether a temperature may be given. A 4xx that names the parameter says which.
"""

import json
import re
from typing import Literal, NamedTuple

from schemas.base import JsonObject
from streams.llm.answers import strict_schema
from streams.llm.prompt import Message, with_schema
from streams.llm.settings import LlmSettings

Output = Literal["json_schema", "json_object", "tool", "text"]
OUTPUTS: tuple[Output, ...] = ("json_schema", "json_object", "tool", "text")
"""How JSON is asked for, the best first: by a schema in strict mode, as any JSON, as the arguments
of a tool, as text. For the second and the last the schema stands in the rules."""
TOOL = "write_memory"

_NAMED = re.compile(
    r"\b(max_completion_tokens|max_tokens|temperature|response_format|json_schema|json_object|"
    r"tool_choice|tools|functions?)\b"
)
_OF_OUTPUT = frozenset(
    ["response_format", "json_schema", "json_object", "tool_choice", "tools", "function"]
)


class Dialect(NamedTuple):
    """What a request has; `limit` is the name of the parameter that limits an answer's tokens."""

    output: Output = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    def body(self, messages: list[Message], settings: LlmSettings) -> JsonObject:
        """The body of a request; `settings.body` is put over it, and null removes a field."""
        in_rules = self.output in ("json_object", "text")
        schema = strict_schema(tuple(settings.all_categories))
        made: JsonObject = {
            "model": settings.model,
            "messages": with_schema(messages, schema) if in_rules else messages,
            "temperature": 0 if self.temperature else None,
            self.limit: settings.max_output_tokens,
            **_output(self.output, schema),
            **settings.body,
        }
        return {name: value for name, value in made.items() if value is not None}

    def without(self, refusal: str) -> "Dialect | None":
        """The dialect without the parameter that a refusal names; None if it names none that this
        one has."""
        named = set(_NAMED.findall(refusal))
        if self.limit == "max_tokens" and self.limit in named:
            return self._replace(limit="max_completion_tokens")
        if self.temperature and "temperature" in named:
            return self._replace(temperature=False)
        return self.simpler() if _OF_OUTPUT & named else None

    def simpler(self) -> "Dialect | None":
        """The next way to ask for JSON, if there is one."""
        place = OUTPUTS.index(self.output) + 1
        return self._replace(output=OUTPUTS[place]) if place < len(OUTPUTS) else None

    def all_simpler(self) -> "list[Dialect]":
        """This one, and each that asks for JSON in a simpler way."""
        return [self._replace(output=one) for one in OUTPUTS[OUTPUTS.index(self.output) :]]


def _output(output: Output, schema: JsonObject) -> JsonObject:
    if output == "json_schema":
        strict = {"name": "memory", "strict": True, "schema": schema}
        return {"response_format": {"type": output, "json_schema": strict}}
    if output == "json_object":
        return {"response_format": {"type": output}}
    if output == "tool":
        said = "Writes what should change in the memory. Call it once, with the whole answer."
        function = {"name": TOOL, "description": said, "parameters": schema}
        return {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": TOOL}},
        }
    return {}


def said_in(message: JsonObject) -> str:
    """What a message says: its text, or the arguments of the tool that it calls. Raises TypeError
    where it is neither."""
    content = message.get("content")
    if isinstance(content, list):  # in parts, as some endpoints have it
        content = "".join(one.get("text") or "" for one in content if one.get("type") == "text")
    if not isinstance(content, str | None):
        raise TypeError("content is no text")
    if content and content.strip():
        return content
    calls = [call.get("function") or {} for call in message.get("tool_calls") or ()]
    for call in (*calls, message.get("function_call") or {}):
        if (arguments := call.get("arguments")) is not None:
            return arguments if isinstance(arguments, str) else json.dumps(arguments)
    return content or ""
