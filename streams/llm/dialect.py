"""Which parameters an endpoint takes for a model: found out by its refusals, and then kept.

Real endpoints differ in three things: how an answer is bound to a schema, the name of the limit of
an answer, and whether a temperature may be given. A 4xx that names the parameter says which.
"""

import re
from typing import Literal, NamedTuple

from schemas.base import JsonObject
from streams.llm.answers import strict_schema
from streams.llm.prompt import Message, with_schema
from streams.llm.settings import LlmSettings

Output = Literal["json_schema", "json_object", "text"]
OUTPUTS: tuple[Output, ...] = ("json_schema", "json_object", "text")
"""How JSON is asked for, the best first: by a schema in strict mode, as any JSON, as text. For the
last two the schema stands in the rules."""

_NAMED = re.compile(
    r"\b(max_completion_tokens|max_tokens|temperature|response_format|json_schema|json_object)\b"
)
_OF_OUTPUT = frozenset(["response_format", "json_schema", "json_object"])


class Dialect(NamedTuple):
    """What a request has; `limit` is the name of the parameter that limits an answer's tokens."""

    output: Output = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    def body(self, messages: list[Message], settings: LlmSettings) -> JsonObject:
        """The body of a request; `settings.body` is put over it, and null removes a field."""
        schema = strict_schema(tuple(settings.all_categories))
        form: JsonObject | None = None if self.output == "text" else {"type": self.output}
        if form and self.output == "json_schema":
            form["json_schema"] = {"name": "memory", "strict": True, "schema": schema}
        body: JsonObject = {
            "model": settings.model,
            "messages": messages if self.output == "json_schema" else with_schema(messages, schema),
            "temperature": 0 if self.temperature else None,
            self.limit: settings.max_output_tokens,
            "response_format": form,
            **settings.body,
        }
        return {name: value for name, value in body.items() if value is not None}

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
        return next(iter(self.all_simpler()[1:]), None)

    def all_simpler(self) -> "list[Dialect]":
        """This one, and each that asks for JSON in a simpler way."""
        return [self._replace(output=one) for one in OUTPUTS[OUTPUTS.index(self.output) :]]
