"""Ids and numbers on the command line: every argument and option that takes an id checks it as the
record's field does, with the same words; no text of a command is half of a surrogate pair; a
number has bounds."""

from collections.abc import Iterator
from typing import Any

import click
import pytest
from pydantic import TypeAdapter, ValidationError

from schemas import base
from schemas.validation_text import faults
from streams import cli
from streams.commands import options
from streams.importers.base import ImportFault, identifier

FIELDS: dict[object, Any] = {
    options.ID: base.Id,
    options.ENTITY_ID: base.EntityId,
    options.TENANT: base.Tenant,
}
VALUES = (
    "", " ", "a", "a/b", "é", "\N{FAMILY}", "\u2028", "\u202e", "a\nb", "\x00", "\x1f", "\x7f",
    "\x80", "\x9f", "\udcff", "a\ud800", "*", "x" * 128, "x" * 129, "é" * 128, "é" * 129, "x" * 256,
    "x" * 257, "x" * 10_000,
)  # fmt: skip
OF_KEYS = {"admin keys revoke"}
"""Their id is looked up in a file of keys, which names those that it has."""


def commands(
    group: click.Command = cli.app, parent: click.Context | None = None
) -> Iterator[tuple[str, click.Command]]:
    """Every command with its path, in which groups are."""
    context = click.Context(group, parent, info_name=None)
    if not isinstance(group, click.Group):
        yield "", group
        return
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        for path, one in commands(command, context):
            yield f"{name} {path}".strip(), one


EVERY = dict(commands())


def meant(field: Any, value: str) -> str | None:
    """Why the record's field refuses a value."""
    try:
        TypeAdapter(field).validate_python(value)
    except ValidationError as error:
        return faults(error)[0].reason
    return None


def refused(param: click.Parameter, value: str) -> str | None:
    context = click.Context(click.Command("c", params=[param]))
    try:
        param.type_cast_value(context, (value,) if param.multiple else value)
    except click.BadParameter as error:
        return error.message
    return None


def takes_id(param: click.Parameter) -> bool:
    """By its name or by its text of help."""
    name, help = param.name or "", getattr(param, "help", None) or ""
    named = name.endswith("_id") or name in ("user", "session", "tenant", "turn", "key")
    return named or help.startswith("Id of a ")


@pytest.mark.parametrize("path", EVERY)
def test_an_id_is_checked_as_its_field_is(path: str) -> None:
    for param in EVERY[path].params:
        if path in OF_KEYS or param.name in ("app_id", "instance"):
            continue  # names of Kafka, which have their own rules
        field = FIELDS.get(param.type)
        assert field is not None or not takes_id(param), param
        for value in VALUES if field is not None else ():
            assert refused(param, value) == meant(field, value), (param, value[:20])


def test_an_importer_takes_the_ids_that_a_record_takes() -> None:
    for value in VALUES:
        try:
            identifier(value, item=1, field="session_id")
            is_taken = True
        except ImportFault:
            is_taken = False
        assert is_taken == (meant(base.Id, value) is None), repr(value[:20])


@pytest.mark.parametrize("path", EVERY)
def test_half_of_a_surrogate_pair_is_refused(path: str) -> None:
    """Text of any parameter, before the command does anything. A name of a file may be bytes."""
    command = EVERY[path]
    for param in command.params:
        if param.type is not click.STRING or not param.expose_value:
            continue
        context = click.Context(command)
        context.params = {one.name: None for one in command.params if one.name}
        half = ("fine", "\udcff") if param.multiple or param.nargs == -1 else "\udcff"
        context.params[param.name or ""] = half
        assert command.callback is not None
        with context, pytest.raises(click.BadParameter, match="half of a surrogate pair") as error:
            command.callback(**context.params)
        assert error.value.param is param


@pytest.mark.parametrize("path", EVERY)
def test_a_number_has_bounds(path: str) -> None:
    """One that no database takes is refused before one is asked."""
    for param in EVERY[path].params:
        if isinstance(param.type, click.IntRange | click.FloatRange):
            for value in ("9" * 40, "-" + "9" * 40, "9" * 5_000, "nan", "inf", ""):
                assert refused(param, value), (param, value[:9])
