"""Parts of the generated models: times, and the two kinds of JSON object."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from turnfold_client.times import format_time, parse_time


def _micros(value: Any) -> int:
    return value if type(value) is int else parse_time(value)


Micros = Annotated[
    int,
    BeforeValidator(_micros),
    PlainSerializer(format_time, return_type=str, when_used="json"),
]
"""RFC 3339 text in JSON, microseconds since 1970-01-01 UTC in Python. A model takes both."""


class Open(BaseModel):
    """A JSON object that keeps fields it does not know."""

    model_config = ConfigDict(
        extra="allow",
        strict=True,
        populate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,  # when it is first used: a program uses few of the models
    )


class Closed(BaseModel):
    """A JSON object of the fields it names; from a newer server, others are passed over."""

    model_config = ConfigDict(
        extra="forbid",
        populate_by_name=True,
        serialize_by_alias=True,
        defer_build=True,  # as above
    )
