"""Request parameters that an endpoint accepts for a model, negotiated by its 4xx replies.

Endpoints differ in three parameters: the response format, the name of the token limit, and the
temperature. A 4xx names the unsupported one.
"""

import re
from typing import Literal, NamedTuple

from schemas.base import JsonObject
from streams.llm.answers import strict_schema
from streams.llm.prompt import Message, with_schema
from streams.llm.settings import LlmSettings

Output = Literal["json_schema", "json_object", "text"]
OUTPUTS: tuple[Output, ...] = ("json_schema", "json_object", "text")
"""Output modes, best first: strict JSON schema, any JSON, text. In the last two, the instructions
contain the schema."""

_NAMED = re.compile(
    r"\b(max_completion_tokens|max_tokens|temperature|response_format|json_schema|json_object)\b"
)
_OF_OUTPUT = frozenset(["response_format", "json_schema", "json_object"])


class Dialect(NamedTuple):
    """The parameters of requests; `limit`: name of the parameter for the maximum output tokens."""

    output: Output = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True

    def body(self, messages: list[Message], settings: LlmSettings) -> JsonObject:
        """Returns the body of a request; `settings.body` overrides fields, null removes a field."""
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
        """Returns the dialect without the parameter that an error names; None if it names none."""
        named = set(_NAMED.findall(refusal))
        if self.limit == "max_tokens" and self.limit in named:
            return self._replace(limit="max_completion_tokens")
        if self.temperature and "temperature" in named:
            return self._replace(temperature=False)
        return next(iter(self.all_simpler()[1:]), None) if _OF_OUTPUT & named else None

    def all_simpler(self) -> "list[Dialect]":
        """This dialect, and the ones with simpler output modes."""
        return [self._replace(output=output) for output in OUTPUTS[OUTPUTS.index(self.output) :]]
