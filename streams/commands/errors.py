"""Errors of a command: one line on stderr, and an exit code."""

import functools
import os
import re
import sys
from collections.abc import Callable
from errno import EACCES, EBADF, EISDIR, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, EPERM
from traceback import walk_tb
from typing import ParamSpec, TypeVar

import click

from sinks.disk import TROUBLES, trouble, with_remedy
from sinks.generation import find_tables, generation_path
from sinks.history_root import HistoryError
from sinks.store_errors import of_duckdb
from streams import output
from streams.errors import TurnfoldError

P = ParamSpec("P")
R = TypeVar("R")
SURROGATE = re.compile("[\ud800-\udfff]")
SOURCE = click.types.StringParamType()
"""Name of a file of records, or -: the sources open it, and report its type."""
MISTAKEN = (EACCES, EISDIR, ELOOP, ENAMETOOLONG, ENOENT, ENOTDIR, EPERM)
"""System errors of a wrong path or wrong permissions."""
EXTRAS = {
    "aiokafka": "kafka", "faust": "kafka", "mode": "kafka", "pydantic_settings": "kafka",
    "httpx": "embeddings", "openai": "llm", "prometheus_client": "serve", "aiohttp": "kafka",
    "uvicorn": "serve", "fastapi": "serve", "starlette": "serve", "httptools": "serve",
    "numpy": "embeddings", "fastembed": "meaning",
    "mcp": "mcp", "mcp_types": "mcp", "httpx2": "mcp",
    "cryptography": "erasure", "cramjam": "kafka",
    "obstore": "object-stores", "fsspec": "object-stores", "jmespath": "mapping",
    "yaml": "mapping", "fastavro": "schema-registry", "grpc_tools": "schema-registry",
    "google": "schema-registry",
}  # fmt: skip
"""Modules that the core install leaves out, and what brings them."""
SHARED = ("httpx", "pydantic_settings", "aiokafka", "cramjam")
"""Those that several extras bring: who imports one decides."""
IMPORTING = {
    "streams.erasure_keys": "erasure", "streams.search": "embeddings",
    "streams.mapping": "schema-registry", "streams.broker": "broker", "streams.serving": "serve",
}  # fmt: skip


def extra_of(error: ModuleNotFoundError) -> str | None:
    """The extra that would bring the module, to the part that imports it."""
    module = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(module)
    if module in SHARED:
        for frame, _ in walk_tb(error.__traceback__):
            importing = frame.f_globals.get("__name__", "")
            part = ".".join(importing.split(".")[:2])
            extra = IMPORTING.get(part, extra)
    return extra


def reported(function: Callable[P, R]) -> Callable[P, R]:
    """Turns errors into one line on stderr and an exit code (docs/operations.md, "Exit codes")."""

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        _check_texts()
        try:
            result = function(*args, **kwargs)
            sys.stdout.flush()  # at the end of Python it would be too late to report an error
            return result
        except (TurnfoldError, HistoryError) as error:
            output.fail(with_remedy(str(error)))
            raise click.exceptions.Exit(error.exit_code) from None
        except ModuleNotFoundError as error:
            if (extra := extra_of(error)) is None:
                raise
            output.fail(
                f"this needs the extra {extra!r}: pip install 'turnfold[{extra}]', "
                f"or in a clone: uv run --extra {extra} turnfold ..."
            )
            raise click.exceptions.Exit(3) from None
        except BrokenPipeError:
            sys.stderr.close()  # the reader of our output has gone
            raise click.exceptions.Exit(0) from None
        except OSError as error:
            output.fail(with_remedy(f"{_place_of(error)}: {error.strerror or error}"))
            if error.filename is None:
                _give_up_stdout()
            raise click.exceptions.Exit(3 if error.errno in MISTAKEN else 1) from None
        except Exception as error:
            if (failure := of_duckdb(error)) is not None:
                output.fail(with_remedy(str(failure)))
                raise click.exceptions.Exit(failure.exit_code) from None
            message = trouble(error)  # DuckDB's and others' errors name no number
            if message is not None:
                output.fail(with_remedy(f"{message} ({type(error).__name__})"))
                raise click.exceptions.Exit(1) from None
            if (damaged := _damaged(error)) is None:
                raise
            output.fail(str(damaged))
            raise click.exceptions.Exit(damaged.exit_code) from None
        except KeyboardInterrupt:
            output.fail("interrupted; what was committed is kept; run again to continue")
            raise click.exceptions.Exit(130) from None

    return wrapped


def _check_texts() -> None:
    """Raises BadParameter for lone surrogates, which Python creates for bytes that are not UTF-8:
    no file, broker or database accepts them. A path may contain such a byte (`SOURCE`)."""
    ctx = click.get_current_context(silent=True)
    for param in ctx.command.params if ctx else ():
        if param.type is SOURCE:
            continue
        value = ctx.params.get(param.name) if ctx and param.name else None
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str) and not text.isascii() and SURROGATE.search(text):
                raise click.BadParameter("must not contain half of a surrogate pair", ctx, param)


def _damaged(error: Exception) -> HistoryError | None:
    """What is said of a data file of the command's history that DuckDB cannot read."""
    if not type(error).__module__.endswith("duckdb"):
        return None
    from sinks import file_checks

    ctx = click.get_current_context(silent=True)
    params = ctx.params if ctx else {}
    try:
        place = (
            generation_path(params["history"], params.get("generation"))
            if params.get("history")
            else None
        )
        return file_checks.of_duckdb(error, find_tables(place) if place else None)
    except HistoryError as failure:
        return failure


def _place_of(error: OSError) -> str:
    """The file; what fails without a name is stdout: no room for more, or closed."""
    if error.filename is None:
        return "stdout" if error.errno in (EBADF, *TROUBLES) else type(error).__name__
    names = [os.fspath(name) for name in (error.filename, error.filename2) if name is not None]
    return " to ".join(os.fsdecode(name) for name in names)


def _give_up_stdout() -> None:
    """What is still to be written there goes nowhere: Python would try again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
