"""Turnfold's server and commands. `__version__` is that of the installed distribution."""

from typing import TYPE_CHECKING

__version__: str

if not TYPE_CHECKING:  # a checker would take every name for an attribute

    def __getattr__(name: str) -> str:
        """`__version__`, when it is asked for: commands start without reading metadata."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version

        return version("turnfold")
