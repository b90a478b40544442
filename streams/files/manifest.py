"""What a generation is made with and how far it is: `_generation.json` in its folder."""

import time
from datetime import date
from typing import Any, Literal

import msgspec

from sinks.locations import Location, replace
from streams.errors import ConfigurationError, TurnfoldError
from streams.extractors.naming import OURS
from streams.folds.rules import Rules

FILE = "_generation.json"
WORK = "_source"
"""What a pass has gathered, until it ends."""
FORMAT = 1
Stage = Literal["reading", "folding", "complete"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a generation is to differ from its source.

    `extractor`: None replays the stored plans; "none" leaves those of rules out; "rules" does,
    and extracts again. `without`: plans of these extractors are left out, too. `first` and `last`:
    the days (UTC) whose records are read, both included. `constants`: name -> value, those of the
    generation that was live included.
    """

    extractor: str | None = None
    extractor_version: str | None = None
    without: tuple[str, ...] = ()
    first: date | None = None
    last: date | None = None
    constants: dict[str, int | float] = {}

    @property
    def left_out(self) -> list[str]:
        """The extractors whose stored plans are not replayed."""
        replaced = OURS if self.extractor is not None else ()
        return sorted({*replaced, *self.without})

    @property
    def whole(self) -> bool:
        """Whether all days are read."""
        return self.first is None and self.last is None

    def covers(self, day: date) -> bool:
        """Whether a day's records are read."""
        return (self.first or date.min) <= day <= (self.last or date.max)

    def differs_from(self, other: "Settings") -> list[str]:
        """`name: now this, before that` for each setting that differs."""
        mine, theirs = msgspec.to_builtins(self), msgspec.to_builtins(other)
        return [f"{name}: now {_said(mine[name])}, before {_said(theirs[name])}"
                for name in mine if mine[name] != theirs[name]]  # fmt: skip


def _said(value: object) -> str:
    return "not given" if value is None else msgspec.json.encode(value).decode()


class Generation(msgspec.Struct, kw_only=True):
    """A generation that `backfill` makes.

    `passes` counts how often it has read on from its source; `records` what the last pass folds;
    `parts` where each part of them ends, if several processes do. `split`: as many commands fold a
    part of the first pass each (`--part`), and `folded` are those that have; 0: one command does.
    `counts` are those of all passes: `read` is what was folded, `left_out` plans that were not.
    `inherited` are constants of the generation that was live when this one was begun. `ended_at`
    is when a pass last ended: None before the first has. Times are microseconds UTC.
    `seconds` are those of all its commands. `pass_extractor` is that of the pass under way, where
    it is not that of `settings`.
    `made_of` is the generation that was live when this one was begun; `run_extractor` what that one
    extracted with, when this one last read from it, if anybody had chosen.
    """

    name: str
    settings: Settings
    started_at: int
    stage: Stage = "reading"
    source: str = ""
    made_of: str = ""
    inherited: dict[str, int | float] = {}
    run_extractor: str | None = None
    pass_extractor: str | None = None
    passes: int = 0
    records: int = 0
    parts: tuple[int, ...] = ()
    split: int = 0
    folded: tuple[int, ...] = ()
    ended_at: int | None = None
    seconds: float = 0.0
    counts: dict[str, int] = {}
    format: int = FORMAT

    @property
    def pass_settings(self) -> Settings:
        """Those of the pass under way."""
        if self.pass_extractor is None:
            return self.settings
        return msgspec.structs.replace(self.settings, extractor=self.pass_extractor)

    @property
    def missing_parts(self) -> list[str]:
        """Those that no command has folded yet, as `--part` names them."""
        left = sorted({*range(self.split)} - {*self.folded})
        return [f"{one}/{self.split}" for one in left]

    @property
    def extracts(self) -> str | None:
        """What turns are extracted with that come to it: a replay continues as its source did."""
        return self.settings.extractor or self.run_extractor


def load(folder: Location) -> Generation | None:
    """What a folder's generation says of itself; None where `backfill` has not made it.

    Raises ConfigurationError for a file that cannot be read.
    """
    file = folder / FILE
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Generation)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, OSError) as error:
        raise ConfigurationError(
            f"{file}: not readable: {error}; drop the generation and run backfill again"
        ) from None
    if found.format != FORMAT:
        raise ConfigurationError(
            f"{file}: format {found.format}, this version reads {FORMAT}; drop the generation "
            "and run backfill again"
        )
    return found


def rules_of(folder: Location) -> Rules:
    """The rules that a generation is folded and read under; the defaults where none are named.

    Raises ConfigurationError for constants that this version does not know or allow.
    """
    made = load(folder)
    try:
        return Rules.of(made.settings.constants if made else {})
    except ValueError as error:
        raise ConfigurationError(
            f"{folder / FILE}: {error}; drop the generation and run backfill again"
        ) from None


def note_constants(folder: Location, name: str, rules: Rules, *, is_new: bool) -> None:
    """Notes the constants that workers fold under, in the folder of a generation that a sink
    writes: its readers use them. Raises ConfigurationError where it `is_new` no more and has
    others."""
    noted = rules_of(folder)
    if noted == rules:
        return
    if not is_new:
        raise ConfigurationError(
            f"{folder}: its rows were folded under {noted.shown()}; "
            "leave --set out, or sink the topics into a new history"
        )
    now = time.time_ns() // 1000
    settings = Settings(constants=rules.changed())
    save(folder, Generation(name=name, settings=settings, started_at=now, stage="complete",
                            ended_at=now))  # fmt: skip


def save(folder: Location, generation: Generation) -> None:
    """Replaces the file in one step; on disk when it returns. Raises TurnfoldError."""
    text = msgspec.json.format(msgspec.json.encode(generation).decode())
    try:
        replace(folder / FILE, text + "\n")
    except OSError as error:
        raise TurnfoldError(f"{folder / FILE}: {error.strerror or error}") from None


def as_json(generation: Generation) -> dict[str, Any]:
    """For programs."""
    said: dict[str, Any] = msgspec.to_builtins(generation)
    return said
