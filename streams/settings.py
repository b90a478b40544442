"""Base class of all settings: from arguments, the environment (which includes `turnfold.toml`, see
`configuration`) or defaults; errors name the setting."""

import logging
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

from pydantic import ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsError

from schemas.validation_text import reason
from streams import configuration
from streams.errors import ConfigurationError

log = logging.getLogger(__name__)
_FIELD = re.compile(r'field "(\w+)"')


class Settings(BaseSettings):
    """Settings from the environment or arguments. `about` is the prefix of their errors."""

    about: ClassVar[str]
    is_optional: ClassVar[bool] = False
    """Whether only some commands read them: then they may all be unset."""

    @field_validator("*", mode="before")
    @classmethod
    def _as_a_path(cls, value: Any, info: ValidationInfo) -> Any:
        """Expands `~/`; rejects an empty path, which Python reads as the current folder."""
        kind = cls.model_fields[str(info.field_name)].annotation
        if not isinstance(value, str) or (kind is not Path and Path not in get_args(kind)):
            return value
        if not value.strip():
            raise ValueError("is empty; give a path, or do not set it")
        return configuration.expand_home(value)

    @field_validator("*", mode="after")
    @classmethod
    def _with_measure(cls, value: Any) -> Any:
        """Rejects infinite numbers, with which a process would wait forever or fail later."""
        if isinstance(value, int | float) and not abs(value) <= configuration.MOST:
            raise ValueError(f"must be a number of at most {configuration.MOST}")
        return value

    @classmethod
    def load(cls, **arguments: Any) -> Self:
        """Loads settings from the environment; arguments that are not None override it. Logs a
        warning for unknown variables with the prefix.

        Raises ConfigurationError with each invalid setting and the reason, including unknown
        settings of the file.
        """
        errors = cls._unknown()
        prefix = cls.model_config["env_prefix"]
        try:
            settings = cls(
                **{name: value for name, value in arguments.items() if value is not None}
            )
        except ValidationError as error:
            errors += [
                f"{_name(prefix, problem['loc'])}: {reason(problem)}"
                for problem in error.errors(include_input=False)
            ]
        except SettingsError as error:  # it names the field; its cause would show the value
            field = _FIELD.search(str(error))
            loc = (field[1],) if field else ()
            errors.append(f"{_name(prefix, loc)}: not JSON; expected a list or an object as JSON")
        if errors:
            raise ConfigurationError(f"{cls.about}: {'; '.join(errors)}") from None
        return settings

    @classmethod
    def _unknown(cls) -> list[str]:
        """Messages for unknown settings of the file; warns of unknown variables."""
        prefix = cls.model_config["env_prefix"]
        names = [name.upper() for name in cls.model_fields]
        variables = [name.upper() for name in os.environ]
        suffixes = [
            variable.removeprefix(prefix) for variable in variables if variable.startswith(prefix)
        ]
        unknown = sorted(variable for variable in suffixes if variable not in names)
        of_file = [
            variable for variable in unknown if configuration.is_from_file(prefix + variable)
        ]
        if in_environment := [variable for variable in unknown if variable not in of_file]:
            _warn(
                cls.about,
                tuple(_with_nearest(prefix, variable, names) for variable in in_environment),
            )
        return [
            f"{configuration.name_of(prefix + name)}: "
            f"{configuration.unknown_setting(name, list(cls.model_fields))}"
            for name in of_file
        ]


@lru_cache
def _warn(about: str, unknown: tuple[str, ...]) -> None:
    """Warns once per process: settings may be loaded several times."""
    log.warning("%s: unknown settings are ignored: %s", about, ", ".join(unknown))


def _with_nearest(prefix: str, name: str, names: Sequence[str]) -> str:
    close = configuration.nearest(name, names)
    return f"{prefix}{name} (did you mean {prefix}{close}?)" if close else prefix + name


def _name(prefix: str, loc: tuple[int | str, ...]) -> str:
    """Name of a setting, with the path inside of it."""
    if not loc:
        return prefix + "*"
    return ".".join(
        [configuration.name_of(f"{prefix}{str(loc[0]).upper()}"), *map(_printable, loc[1:])]
    )


def _printable(part: int | str) -> str:
    """A key in one line."""
    text = str(part)
    return text if text.isprintable() else ascii(text)
