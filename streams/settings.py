"""The base of all settings: from arguments, the environment (in which `turnfold.toml` is read, see
`configuration`) or defaults; wrong ones are told by name."""

import logging
import os
from collections.abc import Sequence
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

from pydantic import ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from schemas.faults import reason
from streams import configuration
from streams.errors import ConfigurationError

log = logging.getLogger(__name__)


class Settings(BaseSettings):
    """Settings from the environment, or given. `about` begins their errors."""

    about: ClassVar[str]

    @field_validator("*", mode="before")
    @classmethod
    def _no_path_is_empty(cls, value: Any, info: ValidationInfo) -> Any:
        """Python takes an empty path for the current folder."""
        if value == "" and Path in get_args(cls.model_fields[str(info.field_name)].annotation):
            raise ValueError("is empty; give a path, or do not set it")
        return value

    @classmethod
    def load(cls, **given: Any) -> Self:
        """The environment's settings, with those given that are not None. Logs a warning of
        variables with the prefix that are no setting.

        Raises ConfigurationError naming each setting that is wrong, and why; also one that stands
        in the file and is none.
        """
        cls._tell_unknown()
        try:
            return cls(**{name: value for name, value in given.items() if value is not None})
        except ValidationError as error:
            prefix = cls.model_config["env_prefix"]
            wrong = "; ".join(
                f"{_name(prefix, one['loc'])}: {reason(one)}"
                for one in error.errors(include_input=False)
            )
            raise ConfigurationError(f"{cls.about}: {wrong}") from None

    @classmethod
    def _tell_unknown(cls) -> None:
        prefix = cls.model_config["env_prefix"]
        known = [name.upper() for name in cls.model_fields]
        given = [name.upper() for name in os.environ]
        ours = [one.removeprefix(prefix) for one in given if one.startswith(prefix)]
        unknown = sorted(one for one in ours if one not in known)
        for name in unknown:
            if configuration.is_from_file(prefix + name):
                place = configuration.name_of(prefix + name)
                said = configuration.unknown(name.lower(), list(cls.model_fields))
                raise ConfigurationError(f"{place}: {said}")
        if unknown:
            _warn(cls.about, tuple(_with_nearest(prefix, one, known) for one in unknown))


@lru_cache
def _warn(about: str, unknown: tuple[str, ...]) -> None:
    """Once a process, though settings may be loaded several times."""
    log.warning("%s: ignored, as there is no such setting: %s", about, ", ".join(unknown))


def _with_nearest(prefix: str, name: str, known: Sequence[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f"{prefix}{name} (did you mean {prefix}{close[0]}?)" if close else prefix + name


def _name(prefix: str, loc: tuple[int | str, ...]) -> str:
    return configuration.name_of(f"{prefix}{str(loc[0]).upper()}") if loc else prefix + "*"
