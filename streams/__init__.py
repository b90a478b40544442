"""Turnfold's server and commands. `__version__` is that of the installed distribution."""

__version__: str


def __getattr__(name: str) -> str:
    """`__version__`, read when it is asked for: commands start without reading metadata."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version

    return version("turnfold")
