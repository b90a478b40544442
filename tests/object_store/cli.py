"""The command line called in this process: a second of CPU less than as a process of its own."""

from pathlib import Path
from typing import Any

from click.testing import CliRunner

from streams import cli
from tests.command import Done


def turnfold(*args: str | Path, **options: Any) -> Done:
    """Calls a command. An exception that it does not answer is raised."""
    done = CliRunner().invoke(cli.app, [str(arg) for arg in args], **options)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def printed(*args: str | Path) -> str:
    """What a command prints that ends well."""
    done = turnfold(*args)
    assert done.code == 0, done.err
    return done.out


def refusal(*args: str | Path, code: int = 3, **options: Any) -> str:
    """The line with which a command ends."""
    done = turnfold(*args, **options)
    assert (done.code, done.out, done.err.count("\n")) == (code, "", 1), done
    return done.err
