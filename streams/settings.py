"""The base of all settings: from arguments, the environment (in which `turnfold.toml` is read, see
`configuration`) or defaults; wrong ones are told by name."""

import logging
import os
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

from pydantic import ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsError

from schemas.faults import reason
from streams import configuration
from streams.errors import ConfigurationError

log = logging.getLogger(__name__)
_FIELD = re.compile(r'field "(\w+)"')


class Settings(BaseSettings):
    """Settings from the environment, or given. `about` begins their errors."""

    about: ClassVar[str]
    is_optional: ClassVar[bool] = False
    """Whether nothing reads them unless the user asks for it: then none may be set."""

    @field_validator("*", mode="before")
    @classmethod
    def _as_a_path(cls, value: Any, info: ValidationInfo) -> Any:
        """`~/` is the home folder, as in a shell. Python takes an empty path for the current
        one."""
        kind = cls.model_fields[str(info.field_name)].annotation
        if not isinstance(value, str) or (kind is not Path and Path not in get_args(kind)):
            return value
        if not value.strip():
            raise ValueError("is empty; give a path, or do not set it")
        return configuration.at_home(value)

    @field_validator("*", mode="after")
    @classmethod
    def _with_measure(cls, value: Any) -> Any:
        """A process that took an endless time or an endless number of bytes would wait for ever,
        or fail where it uses it."""
        if isinstance(value, int | float) and not abs(value) <= configuration.MOST:
            raise ValueError(f"must be a number of at most {configuration.MOST}")
        return value

    @classmethod
    def load(cls, **given: Any) -> Self:
        """The environment's settings, with those given that are not None. Logs a warning of
        variables with the prefix that are no setting.

        Raises ConfigurationError naming each setting that is wrong, and why; also one that stands
        in the file and is none.
        """
        wrong = cls._unknown()
        prefix = cls.model_config["env_prefix"]
        try:
            made = cls(**{name: value for name, value in given.items() if value is not None})
        except ValidationError as error:
            wrong += [
                f"{_name(prefix, one['loc'])}: {reason(one)}"
                for one in error.errors(include_input=False)
            ]
        except SettingsError as error:  # it names the field; its cause would show the value
            field = _FIELD.search(str(error))
            loc = (field[1],) if field else ()
            wrong.append(f"{_name(prefix, loc)}: not JSON; expected a list or an object as JSON")
        if wrong:
            raise ConfigurationError(f"{cls.about}: {'; '.join(wrong)}") from None
        return made

    @classmethod
    def _unknown(cls) -> list[str]:
        """What to say of the file's that are no setting; of variables a warning tells."""
        prefix = cls.model_config["env_prefix"]
        known = [name.upper() for name in cls.model_fields]
        given = [name.upper() for name in os.environ]
        ours = [one.removeprefix(prefix) for one in given if one.startswith(prefix)]
        unknown = sorted(one for one in ours if one not in known)
        of_file = [one for one in unknown if configuration.is_from_file(prefix + one)]
        if others := [one for one in unknown if one not in of_file]:
            _warn(cls.about, tuple(_with_nearest(prefix, one, known) for one in others))
        return [
            f"{configuration.name_of(prefix + name)}: "
            f"{configuration.unknown(name, list(cls.model_fields))}"
            for name in of_file
        ]


@lru_cache
def _warn(about: str, unknown: tuple[str, ...]) -> None:
    """Once a process, though settings may be loaded several times."""
    log.warning("%s: ignored, as there is no such setting: %s", about, ", ".join(unknown))


def _with_nearest(prefix: str, name: str, known: Sequence[str]) -> str:
    close = configuration.nearest(name, known)
    return f"{prefix}{name} (did you mean {prefix}{close}?)" if close else prefix + name


def _name(prefix: str, loc: tuple[int | str, ...]) -> str:
    """The setting, and the place in it where it is a table."""
    if not loc:
        return prefix + "*"
    return ".".join(
        [configuration.name_of(f"{prefix}{str(loc[0]).upper()}"), *map(_printable, loc[1:])]
    )


def _printable(part: int | str) -> str:
    """A key as the user wrote it, in one line."""
    text = str(part)
    return text if text.isprintable() else ascii(text)
