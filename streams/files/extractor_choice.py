"""Stores the choice of extractor: `_extractor.json` in a generation's folder.

The first `run` or `serve` stores it, by default the rules; later ones continue with it until
another is chosen. A generation without this file continues with the extractor of its `backfill`.
`promote` makes its generation's choice the history's.
"""

import time
from collections.abc import Callable
from pathlib import Path
from shlex import quote

import msgspec

from schemas.base import format_time
from sinks.generation import folder_of, pointer
from sinks.history_root import open_root, replace
from sinks.locations import Location
from streams.errors import ConfigurationError, TurnfoldError
from streams.extractors.registry import (
    MODEL,
    NONE,
    choices,
    chosen,
    in_process,
    is_choice,
    version_of,
)
from streams.files.manifest import load

FILE = "_extractor.json"


class Choice(msgspec.Struct, frozen=True):
    """Extractor of a generation, its version, and the time of the choice (microseconds)."""

    name: str
    version: str | None = None
    chosen_at: int = 0

    @property
    def in_process(self) -> str:
        """The extractor that runs while turns are folded."""
        return in_process(self.name)

    def shown(self) -> str:
        """Name, with the version if there is one."""
        return f"{self.name} {self.version}" if self.version else self.name


def choice_of(folder: Location) -> Choice | None:
    """Extractor of a generation's plans, or None if it was never chosen.

    Raises ConfigurationError for an unreadable file.
    """
    choice = stored_choice(folder)
    if choice is not None:
        return choice
    generation = load(folder)
    if generation is None or generation.extracts is None:
        return None
    return Choice(generation.extracts, generation.settings.extractor_version, generation.started_at)


def stored_choice(folder: Location) -> Choice | None:
    """Choice stored in this generation itself."""
    file = folder / FILE
    try:
        return msgspec.json.decode(file.read_bytes(), type=Choice)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, OSError) as error:
        raise ConfigurationError(
            f"{file}: not readable: {error}; remove it, and give --extractor to the next run"
        ) from None


def extractor_of(history: Path) -> str:
    """Name of the extractor that runs while a history's new turns are folded.

    Raises HistoryError, ConfigurationError if the history's files are unreadable.
    """
    choice = choice_of(_live(history))
    return in_process(chosen(None, None if choice is None else choice.name))


def asks_model(history: Path) -> bool:
    """Whether a model processes the turns of the live generation. Raises as `extractor_of`."""
    choice = choice_of(_live(history))
    return choice is not None and choice.name == MODEL


def update_choice(history: Path, option: str | None, say: Callable[[str], None]) -> Choice:
    """Determines and stores the extractor from now on (`streams.extractors.registry.chosen`),
    including `none`. The caller has the history's lock. `say` receives a line about a change that
    the user may not expect.

    Raises ConfigurationError if this version lacks the stored extractor.
    """
    folder = _live(history)
    stored = choice_of(folder)
    if stored is not None and option is None:
        return _continue_choice(history, folder, stored, say)
    name = chosen(option, None)
    choice = Choice(name, version_of(name), time.time_ns() // 1000)
    previous = stored or Choice(NONE)
    if stored is not None and (stored.name, stored.version) == (choice.name, choice.version):
        return stored
    if (previous.name != NONE or choice.name != NONE) and (folder / "events").exists():
        say(_change_message(history, previous, choice))
    _save(folder, choice)
    return choice


def dev_choice(history: Path, option: str | None) -> str | None:
    """Extractor option of `turnfold dev`, now or from an earlier run, or None without one. A new
    option is stored, which creates the history; the processes of `dev` apply it."""
    if option is not None:
        _save(open_root(history), Choice(option, version_of(option), time.time_ns() // 1000))
        return option
    stored = stored_choice(history)
    return None if stored is None else stored.name


def _live(history: Path) -> Path:
    return folder_of(history, pointer(history).current)


def _continue_choice(
    history: Path, folder: Path, stored: Choice, say: Callable[[str], None]
) -> Choice:
    if stored.name == NONE:
        return stored
    if not is_choice(stored.name):
        raise ConfigurationError(
            f"{history}: its memory is made by {stored.name!r}, which is not installed; "
            f"give --extractor with one of {', '.join(choices())}"
        )
    version = version_of(stored.name)
    if stored.version in (None, version):
        day = format_time(stored.chosen_at)[:10]
        maker = f"{stored.name} (chosen on {day})"
        say(f"memory is made by {maker}; --extractor {NONE} stops extraction")
        return stored
    choice = Choice(stored.name, version, time.time_ns() // 1000)
    say(_change_message(history, stored, choice))
    _save(folder, choice)
    return choice


def _change_message(history: Path, before: Choice, now: Choice) -> str:
    """Message about a changed extractor: existing plans stay unless they are rebuilt."""
    command = f"turnfold generation create NAME --history {quote(str(history))}"
    if now.name == NONE:
        return (
            f"{before.name} makes no plans from now on; existing plans stay ({command} "
            f"--extractor {NONE} leaves them out)"
        )
    if now.name == before.name:
        previous = f"until now by {before.shown()}; existing plans stay unchanged"
    else:
        previous = f"until now by {before.shown()}; folded turns stay unchanged"
    hint = "" if now.name == MODEL else f" ({command} --extractor {now.name} rebuilds all)"
    return f"memory is made by {now.shown()} from now on, {previous}{hint}"


def _save(folder: Path, choice: Choice) -> None:
    text = msgspec.json.format(msgspec.json.encode(choice).decode())
    try:
        replace(folder / FILE, text + "\n")
    except OSError as error:
        raise TurnfoldError(f"{folder / FILE}: {error.strerror or error}") from None
