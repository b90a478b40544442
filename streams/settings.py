"""The base of all settings: from the environment or from arguments, wrong ones told by name."""

from typing import Any, ClassVar, Self

from pydantic import ValidationError
from pydantic_settings import BaseSettings

from streams.errors import ConfigurationError


class Settings(BaseSettings):
    """Settings from the environment, or given. `about` begins their errors."""

    about: ClassVar[str]

    @classmethod
    def load(cls, **given: Any) -> Self:
        """The environment's settings, with those given that are not None.

        Raises ConfigurationError naming each setting that is wrong, and why.
        """
        try:
            return cls(**{name: value for name, value in given.items() if value is not None})
        except ValidationError as error:
            prefix = cls.model_config["env_prefix"]
            wrong = "; ".join(
                f"{_name(prefix, one['loc'])}: {one['msg'].removeprefix('Value error, ')}"
                for one in error.errors(include_input=False)
            )
            raise ConfigurationError(f"{cls.about}: {wrong}") from None


def _name(prefix: str, loc: tuple[int | str, ...]) -> str:
    return f"{prefix}{str(loc[0]).upper()}" if loc else prefix + "*"
