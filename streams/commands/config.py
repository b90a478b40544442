"""The commands `config …`: which settings hold, and where each comes from."""

import os
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click

from streams import configuration, output
from streams.commands import options
from streams.configuration import COMMON, FAMILIES, SECRETS
from streams.errors import ConfigurationError

HIDDEN = "***"
DEFAULT = "default"
_PASSWORD = re.compile(r"(?<=://)[^/@\s]*@")


class Setting(NamedTuple):
    """A setting as it holds now. `source`: default, environment, or the file's path. No secret's
    value is in it."""

    name: str
    variable: str
    value: str | None
    source: str
    about: str


@click.group()
def config() -> None:
    """Show which settings hold, and where they come from."""


@config.command()
@click.option("--all", "every", is_flag=True, help="Also settings that have their default.")
@options.as_json
@options.fails_in_a_line
def show(every: bool, as_json: bool) -> None:
    """Print the settings that were set: value, and whether the file or the environment gave it.

    Values of keys and passwords are never printed. Exit code 3: a setting is wrong; stderr says
    which and why.

    \b
    turnfold config show
    turnfold config show --all --json
    """
    file = configuration.find(click.get_current_context().find_root().params["config"])
    given = {name.upper(): value for name, value in os.environ.items()}
    settings = [_as_set(one, given.get(one.variable)) for one in default_settings()]
    shown = [one for one in settings if every or one.source != DEFAULT]
    problems = list(_problems(file, settings))
    missing = {name: one.extra for name, one in FAMILIES.items() if not _class(name)}
    if as_json:
        output.say_json(
            {
                "file": str(file) if file else None,
                "settings": [one._asdict() for one in shown],
                "needs_extra": missing,
                "problems": problems,
            }
        )
    else:
        rows = [{"setting": one.name, "value": one.value, "from": one.source} for one in shown]
        if rows:
            output.table(rows, ["setting", "value", "from"])
        else:
            output.say(f"nothing is set: all have their defaults; set them in {configuration.FILE}")
    for family, extra in missing.items():
        output.note(f"turnfold: [{family}] is not shown: it needs the extra {extra!r}")
    for problem in problems:
        output.note(f"turnfold: {problem}")
    if problems:
        raise click.exceptions.Exit(ConfigurationError.exit_code)


def default_settings() -> list[Setting]:
    """Every setting with its default; those without have `value` None."""
    common = [
        Setting(name, _variable(name), None, DEFAULT, about) for name, about in COMMON.items()
    ]
    return common + [
        Setting(f"{family}.{name}", _variable(f"{family}.{name}"), default, DEFAULT, about)
        for family in FAMILIES
        for name, default, about in _fields(family)
    ]


def _fields(family: str) -> Iterator[tuple[str, str | None, str]]:
    """Name, default as text, meaning."""
    cls = _class(family)
    for name, field in cls.model_fields.items() if cls else ():
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        about = field.description or ""
        required = "Required. " if field.is_required() else ""
        yield name, None if default is None else _plain(default), required + about


def _variable(name: str) -> str:
    family, _, setting = name.rpartition(".")
    return configuration.variable(family, setting)


def _as_set(setting: Setting, given: str | None) -> Setting:
    """As the environment, into which the file was read, gives it."""
    if given is None:
        return setting
    place = configuration.name_of(setting.variable)
    source = place.removesuffix(f": {setting.name}") if place != setting.variable else "environment"
    secret = SECRETS.search(setting.variable)
    value = HIDDEN if secret else _PASSWORD.sub(f"{HIDDEN}@", given)
    return setting._replace(value=value, source=source)


def _plain(value: Any) -> str:
    return str(value) if isinstance(value, str | Path) else output.json_text(value, indent=0)


def _class(family: str) -> Any:
    """The class of a family's settings; None: its extra is not installed."""
    module, name = FAMILIES[family].settings.split(":")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in options.EXTRAS:
            raise
        return None


def _problems(file: Path | None, settings: list[Setting]) -> Iterator[str]:
    """What a command that uses the setting would refuse. A family that asks for a setting, as the
    model's address, is not asked unless one of it is set."""
    for family in FAMILIES:
        cls = _class(family)
        if cls is None:
            continue
        is_set = any(
            one.name.startswith(f"{family}.") and one.source != DEFAULT for one in settings
        )
        if is_set or not any(field.is_required() for field in cls.model_fields.values()):
            try:
                cls.load()
            except ConfigurationError as error:
                yield str(error)
    has_secret = any(
        SECRETS.search(one.variable) and one.source not in (DEFAULT, "environment")
        for one in settings
    )
    if file and has_secret and configuration.is_open_to_others(file):
        yield f"{file}: holds a secret, and other accounts can read it; chmod 600 {file}"
