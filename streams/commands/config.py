"""The command `admin config`: effective settings and their sources."""

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click

from streams import configuration, output
from streams.apps.metrics_port import Address
from streams.commands import errors, options
from streams.configuration import COMMON, FAMILIES, SECRETS, umask_of
from streams.errors import ConfigurationError

DEFAULT = "default"
OPEN_SECRET = "holds a secret, and other accounts can read it"


class Setting(NamedTuple):
    """An effective setting. `source`: default, environment, or the file's path. Values of secrets
    are masked."""

    name: str
    variable: str
    value: str | None
    source: str
    about: str


@click.command()
@click.option("--all", "every", is_flag=True, help="Also settings that have their default.")
@options.form
@errors.reported
def config(every: bool, form: str | None) -> None:
    """Show effective settings: from the file or the environment.

    Values of keys and passwords are never printed. Exit code 3: a setting is wrong; the error
    is printed to stderr.

    \b
    turnfold admin config
    turnfold admin config --all -o json
    """
    file = configuration.find(click.get_current_context().find_root().params["config"])
    settings = settings_as_set()
    visible = [setting for setting in settings if every or setting.source != DEFAULT]
    wrong, warnings = list(problems(settings)), list(_warnings(file, settings))
    missing = {name: family.extra for name, family in FAMILIES.items() if not class_of(name)}
    if form:
        listed = [setting._asdict() for setting in visible]
        document = {
            "file": str(file) if file else None,
            "settings": listed,
            "needs_extra": missing,
            "problems": wrong,
            "warnings": warnings,
        }
        output.say_as(form, document, listed)
    else:
        rows = [
            {"setting": setting.name, "value": setting.value, "from": setting.source}
            for setting in visible
        ]
        if rows:
            output.table(rows, ["setting", "value", "from"])
        elif not wrong:
            output.say(f"nothing is set: all have their defaults; set them in {configuration.FILE}")
    for family, extra in missing.items():
        output.note(f"turnfold: [{family}] is not shown: it needs the extra {extra!r}")
    for problem in (*wrong, *warnings):
        output.note(f"turnfold: {problem}")
    if wrong:
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


def settings_as_set() -> list[Setting]:
    """Every setting as the environment gives it now, into which the file was read."""
    return [_as_set(setting, _given(setting)) for setting in default_settings()]


def _fields(family: str) -> Iterator[tuple[str, str | None, str]]:
    """Name, default as text, meaning."""
    cls = class_of(family)
    for name, field in cls.model_fields.items() if cls else ():
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        about = field.description or ""
        required = "Required. " if field.is_required() else ""
        yield name, None if default is None else _plain(default), required + about


def _given(setting: Setting) -> str | None:
    """What the environment gives. Names of families may be in any case, as pydantic has it."""
    if "." not in setting.name:
        return os.environ.get(setting.variable)
    return {name.upper(): value for name, value in os.environ.items()}.get(setting.variable)


def _variable(name: str) -> str:
    family, _, setting = name.rpartition(".")
    return configuration.variable(family, setting)


def _as_set(setting: Setting, text: str | None) -> Setting:
    """As the environment, into which the file was read, gives it."""
    if text is None:
        return setting
    place = configuration.name_of(setting.variable)
    source = place.removesuffix(f": {setting.name}") if place != setting.variable else "environment"
    return setting._replace(value=configuration.masked(setting.variable, text), source=source)


def _plain(value: Any) -> str:
    return str(value) if isinstance(value, str | Path) else output.json_text(value, indent=0)


def class_of(family: str) -> Any:
    """The class of a family's settings, or None if its extra is not installed."""
    module, name = FAMILIES[family].settings.split(":")
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in errors.EXTRAS:
            raise
        return None


def problems(settings: list[Setting]) -> Iterator[str]:
    """Errors that the commands using a setting would report. A family's required settings are
    checked only if one of the family is set."""
    for setting in settings:
        if (check := CHECKS.get(setting.name)) and (text := os.environ.get(setting.variable)):
            try:
                check(text)
            except ConfigurationError as error:
                yield str(error)
            except (ValueError, click.BadParameter) as error:
                yield f"{configuration.name_of(setting.variable)}: {error}"
    for family in FAMILIES:
        cls = class_of(family)
        if cls is None:
            continue
        is_set = any(
            setting.name.startswith(f"{family}.") and setting.source != DEFAULT
            for setting in settings
        )
        has_required = any(field.is_required() for field in cls.model_fields.values())
        if is_set or not (cls.is_optional or has_required):
            try:
                cls.load()
            except ConfigurationError as error:
                yield str(error)


def _choice(text: str) -> None:
    if text not in ("text", "json"):
        raise ValueError("neither text nor json")


def _tokenizer(text: str) -> None:
    from streams.context.tokenizer import load

    load(text)


CHECKS: dict[str, Callable[[str], object]] = {
    "log_format": _choice,
    "traces": lambda text: click.BOOL.convert(text, None, None),
    "metrics_port": Address.parse,
    "metrics_guarded": lambda text: click.BOOL.convert(text, None, None),
    "umask": umask_of,
    "tokenizer": _tokenizer,
}
"""Checks of the settings without a family that are read by options."""


def _warnings(file: Path | None, settings: list[Setting]) -> Iterator[str]:
    """Probable mistakes that commands ignore."""
    names = {setting.variable for setting in settings} | configuration.NO_SETTINGS
    families = tuple(f"{configuration.PREFIX}{name.upper()}_" for name in FAMILIES)
    for name in sorted(os.environ):
        if name.startswith(configuration.PREFIX) and name not in names:
            if name.startswith(families):  # reported where the family is read
                continue
            warning = configuration.unknown_setting(name, sorted(names))
            yield f"{name}: ignored: {warning}"
    if file and has_open_secret(file, settings):
        yield f"{file}: {OPEN_SECRET}; chmod 600 {file}"


def has_open_secret(file: Path, settings: list[Setting]) -> bool:
    """Whether other accounts can read a secret in the file."""
    has_secret = any(
        SECRETS.search(setting.variable) and setting.source not in (DEFAULT, "environment")
        for setting in settings
    )
    return has_secret and configuration.is_open_to_others(file)
