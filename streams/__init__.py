"""Turnfold's server and commands. `__version__` is the installed distribution's."""

from typing import TYPE_CHECKING

__version__: str

if not TYPE_CHECKING:  # hidden from type checkers, which would accept any attribute

    def __getattr__(name: str) -> str:
        """Loads `__version__` lazily: commands start without reading metadata."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version

        return version("turnfold")
