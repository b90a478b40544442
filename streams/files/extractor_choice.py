"""How the plans of a history are made, remembered: `_extractor.json` in a generation's folder.

The first `run` or `serve` stores it, the rules where no option names another; each later one
continues with it until another is chosen. A generation without such a file continues as `backfill`
made it. With `promote` its generation's own choice becomes the history's.
"""

import time
from collections.abc import Callable
from pathlib import Path
from shlex import quote

import msgspec

from schemas.base import format_time
from sinks.generation import folder_of, pointer
from sinks.locations import Location
from sinks.root import open_root, replace
from streams.errors import ConfigurationError, TurnfoldError
from streams.extractors.naming import MODEL, NAMES, chosen, in_process, version_of
from streams.files.manifest import load

FILE = "_extractor.json"
NONE = "none"


class Choice(msgspec.Struct, frozen=True):
    """The extractor of a generation, its version then, and when it was chosen (microseconds)."""

    name: str
    version: str | None = None
    chosen_at: int = 0

    @property
    def in_process(self) -> str:
        """What extracts while turns are folded."""
        return in_process(self.name)

    def shown(self) -> str:
        """With its version, where there are several."""
        return f"{self.name} {self.version}" if self.version else self.name


def choice_of(folder: Location) -> Choice | None:
    """What a generation's plans are made by; None where nobody has ever chosen.

    Raises ConfigurationError for a file that cannot be read.
    """
    own = own_choice(folder)
    if own is not None:
        return own
    made = load(folder)
    if made is None or made.extracts is None:
        return None
    return Choice(made.extracts, made.settings.extractor_version, made.started_at)


def own_choice(folder: Location) -> Choice | None:
    """What was chosen for this very generation since it was made."""
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
    """What turns are extracted with that come to a history, while they are folded.

    Raises HistoryError, ConfigurationError where the history's files say nothing of use.
    """
    choice = choice_of(_live(history))
    return in_process(chosen(None, None if choice is None else choice.name))


def asks_model(history: Path) -> bool:
    """Whether a model is asked about the turns of the live generation. Raises as `extractor_of`."""
    choice = choice_of(_live(history))
    return choice is not None and choice.name == MODEL


def settle(history: Path, told: str | None, say: Callable[[str], None]) -> Choice:
    """What extracts from now on (`streams.extractors.naming.chosen`); it is stored, `none` as well.
    The caller holds the history's lock. `say` receives a line about a change that the user may not
    expect.

    Raises ConfigurationError where what was chosen is not in this version.
    """
    folder = _live(history)
    known = choice_of(folder)
    if known is not None and told is None:
        return _gone_on(history, folder, known, say)
    name = chosen(told, None)
    now = Choice(name, version_of(name), time.time_ns() // 1000)
    before = known or Choice(NONE)
    if known is not None and (known.name, known.version) == (now.name, now.version):
        return known
    if (before.name != NONE or now.name != NONE) and (folder / "events").exists():
        say(_changed(history, before, now))
    _save(folder, now)
    return now


def remembered(history: Path, told: str | None) -> str | None:
    """What `turnfold dev` was told to extract with, now or before; None where it never was. It is
    for its parts to do; the folder is made a history, if it is none yet."""
    if told is not None:
        _save(open_root(history), Choice(told, version_of(told), time.time_ns() // 1000))
        return told
    known = own_choice(history)
    return None if known is None else known.name


def _live(history: Path) -> Path:
    return folder_of(history, pointer(history).current)


def _gone_on(history: Path, folder: Path, known: Choice, say: Callable[[str], None]) -> Choice:
    if known.name == NONE:
        return known
    if known.name not in (*NAMES, MODEL):
        raise ConfigurationError(
            f"{history}: its memory is made by {known.name!r}, which this version does not have; "
            f"give --extractor with one of {', '.join((*NAMES, MODEL))}"
        )
    version = version_of(known.name)
    if known.version in (None, version):
        day = format_time(known.chosen_at)[:10]
        say(f"memory is made by {known.name} (chosen on {day}); --extractor {NONE} ends it")
        return known
    now = Choice(known.name, version, time.time_ns() // 1000)
    say(_changed(history, known, now))
    _save(folder, now)
    return now


def _changed(history: Path, before: Choice, now: Choice) -> str:
    """What becomes of the plans already made: nothing, until somebody asks for it."""
    again = f"turnfold generation create NAME --history {quote(str(history))}"
    if now.name == NONE:
        return (
            f"{before.name} makes no plans from now on; those already made stay ({again} "
            f"--extractor {NONE} leaves them out)"
        )
    if now.name == before.name:
        what = f"until now by {before.shown()}; plans already made stay as they are"
    else:
        what = f"until now by {before.shown()}; turns already folded stay as they are"
    way = "" if now.name == MODEL else f" ({again} --extractor {now.name} makes all anew)"
    return f"memory is made by {now.shown()} from now on, {what}{way}"


def _save(folder: Path, choice: Choice) -> None:
    text = msgspec.json.format(msgspec.json.encode(choice).decode())
    try:
        replace(folder / FILE, text + "\n")
    except OSError as error:
        raise TurnfoldError(f"{folder / FILE}: {error.strerror or error}") from None
