"""Manifest of a generation, its settings and progress: `_generation.json` in its folder."""

import time
from datetime import date
from typing import Any, Literal

import msgspec

from sinks.locations import Location, replace
from streams.errors import ConfigurationError, TurnfoldError
from streams.extractors.registry import modules
from streams.files.retraction import Retraction
from streams.folds.constants import Rules

FILE = "_generation.json"
WORK = "_source"
"""Folder of the records that a pass has gathered."""
FORMAT = 1
Stage = Literal["reading", "folding", "complete"]


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a generation differs from its source.

    `extractor`: "none" omits plans of the rules, "rules" omits them and extracts again, None
    replays the stored plans. `first` and `last`: days (UTC) of the records that are read,
    inclusive. `constants`: name -> value, and `retracted`: filters of the records that are left
    out, both including the source's.
    """

    extractor: str | None = None
    extractor_version: str | None = None
    first: date | None = None
    last: date | None = None
    constants: dict[str, int | float] = {}
    retracted: tuple[Retraction, ...] = ()

    @property
    def left_out(self) -> list[str]:
        """Extractors without replay of their stored plans."""
        return sorted(modules()) if self.extractor is not None else []

    @property
    def whole(self) -> bool:
        """Whether all days are read."""
        return self.first is None and self.last is None

    def covers(self, day: date) -> bool:
        """Whether a day's records are read."""
        return (self.first or date.min) <= day <= (self.last or date.max)

    def on(self, base: "Settings") -> "Settings":
        """These settings with the constants and retractions that another generation has."""
        return msgspec.structs.replace(
            self,
            constants=base.constants | self.constants,
            retracted=tuple(dict.fromkeys((*base.retracted, *self.retracted))),
        )

    def differs_from(self, previous: "Settings") -> list[str]:
        """`name: now NEW, before OLD` for each setting that differs."""
        now, before = msgspec.to_builtins(self), msgspec.to_builtins(previous)
        return [f"{name}: now {_said(now[name])}, before {_said(before[name])}"
                for name in now if now[name] != before[name]]  # fmt: skip


def _said(value: object) -> str:
    return "not given" if value is None else msgspec.json.encode(value).decode()


class Generation(msgspec.Struct, kw_only=True):
    """A generation that `backfill` builds. Times are microseconds UTC.

    `passes`: how often it has read from its source; `records`: number of records of the last pass;
    `parts`: their end in each part, if several processes fold them. `split`: number of commands
    that fold one part of the first pass each (`--part`), 0 for one command; `folded`: finished
    parts. `counts` of all passes: `read` records were folded, `left_out` plans omitted.
    `inherited`: constants and retractions of the generation that was live at the start.
    `receipt`: number of retracted records by table in the first pass, and digests of the live
    generation and of this one after it. `ended_at`: end of the last
    pass, None before the first. `seconds`: total time of its commands. `pass_extractor`: extractor
    of the current pass, if `settings` has another one. `made_of`: the generation that was live at
    the start; `run_extractor`: that generation's extractor when it was last read, if one was
    chosen.
    """

    name: str
    settings: Settings
    started_at: int
    stage: Stage = "reading"
    source: str = ""
    made_of: str = ""
    inherited: Settings = Settings()
    receipt: dict[str, Any] = {}
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
        """Settings of the current pass."""
        if self.pass_extractor is None:
            return self.settings
        return msgspec.structs.replace(self.settings, extractor=self.pass_extractor)

    @property
    def missing_parts(self) -> list[str]:
        """Parts that no command has folded yet, in the form of `--part`."""
        missing = sorted({*range(self.split)} - {*self.folded})
        return [f"{part}/{self.split}" for part in missing]

    @property
    def extracts(self) -> str | None:
        """Extractor of new turns: a replay continues with its source's."""
        return self.settings.extractor or self.run_extractor


def load(folder: Location) -> Generation | None:
    """Reads a generation's manifest, or returns None if it was not built by `backfill`.

    Raises ConfigurationError for an unreadable file.
    """
    file = folder / FILE
    try:
        generation = msgspec.json.decode(file.read_bytes(), type=Generation)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, OSError) as error:
        raise ConfigurationError(
            f"{file}: not readable: {error}; drop the generation and run backfill again"
        ) from None
    if generation.format != FORMAT:
        raise ConfigurationError(
            f"{file}: format {generation.format}, this version reads {FORMAT}; drop the generation "
            "and run backfill again"
        )
    return generation


def rules_of(folder: Location) -> Rules:
    """Rules of a generation, by default without changed constants.

    Raises ConfigurationError for constants that are unknown or invalid in this version.
    """
    generation = load(folder)
    try:
        return Rules.of(generation.settings.constants if generation else {})
    except ValueError as error:
        raise ConfigurationError(
            f"{folder / FILE}: {error}; drop the generation and run backfill again"
        ) from None


def note_constants(folder: Location, name: str, rules: Rules, *, is_new: bool) -> None:
    """Stores the constants of workers in the folder of a sink's generation, for its readers. Raises
    ConfigurationError if the generation exists already with other constants."""
    stored = rules_of(folder)
    if stored == rules:
        return
    if not is_new:
        raise ConfigurationError(
            f"{folder}: its rows were folded under {stored.shown()}; "
            "leave --set out, or sink the topics into a new history"
        )
    now = time.time_ns() // 1000
    settings = Settings(constants=rules.changed())
    save(folder, Generation(name=name, settings=settings, started_at=now, stage="complete",
                            ended_at=now))  # fmt: skip


def save(folder: Location, generation: Generation) -> None:
    """Replaces the manifest atomically; durable when it returns. Raises TurnfoldError."""
    text = msgspec.json.format(msgspec.json.encode(generation).decode())
    try:
        replace(folder / FILE, text + "\n")
    except OSError as error:
        raise TurnfoldError(f"{folder / FILE}: {error.strerror or error}") from None


def as_json(generation: Generation) -> dict[str, Any]:
    """The manifest as JSON-compatible values."""
    document: dict[str, Any] = msgspec.to_builtins(generation)
    return document
