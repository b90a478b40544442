"""Settings of a worker. Separate from the worker, which loads Faust, for `config show` and
`doctor`."""

import json
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from sinks.generation import RESERVED
from streams.extractors.registry import DEFAULT, check_choice
from streams.folds.constants import Number, Rules, checked, parsed
from streams.kafka.transport.interfaces import SESSION_TIMEOUT
from streams.pipeline.retention import ABOUT, DEFAULT_DAYS, check_days, retention_of
from streams.quota import QuotaSettings

PREFIX = "TURNFOLD_WORKER_"


def _constants(value: Any) -> Any:
    """Parses constants from the environment, `turnfold.toml` (a table, as JSON) or `--set`."""
    if isinstance(value, str) and value.startswith("{"):
        value = json.loads(value)
    if isinstance(value, str):
        return parsed(filter(None, (text.strip() for text in value.split(","))))
    return checked(value) if isinstance(value, dict) else value


class WorkerSettings(QuotaSettings):
    """Settings of a worker besides the broker's."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    about = "worker settings"
    app_id: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9._-]{1,100}$",
            description="Consumer group, and prefix of its changelogs and transactions.",
        ),
    ] = "turnfold"
    instance: Annotated[
        str | None,
        Field(description="Name of this worker. Restarted under it, it keeps its partitions."),
    ] = None
    session_seconds: Annotated[
        float,
        Field(
            ge=6,
            le=300,
            description="Seconds without a sign of life from this worker until the others get its "
            "partitions. With `instance`, a worker that is back sooner finds them as they were.",
        ),
    ] = SESSION_TIMEOUT
    retention_days: Annotated[
        float,
        AfterValidator(check_days),
        Field(description=ABOUT),
    ] = DEFAULT_DAYS
    extractor: Annotated[
        str | None,
        AfterValidator(check_choice),
        Field(
            description="How to find memory in turns; plans go to write-plans. llm: rules at once, "
            "and a model in the background. The choice is stored; default: the stored choice, at "
            f"first {DEFAULT}."
        ),
    ] = None
    constants: Annotated[
        dict[str, Number],
        NoDecode,
        BeforeValidator(_constants),
        Field(
            description="Constants of the memory rules as NAME=VALUE, comma-separated. A memory "
            "keeps those it was begun with.",
        ),
    ] = Field(default_factory=dict)
    generation: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
            description="Rebuild memory from the input topics, in topics that end in this name.",
        ),
    ] = None
    max_records: Annotated[int, Field(ge=1, description="Maximum records per transaction.")] = 4_000
    compression: Annotated[
        Literal["none", "gzip", "snappy", "lz4", "zstd"],
        Field(description="Compression of messages."),
    ] = "zstd"
    store: Annotated[
        Literal["memory", "rocksdb"],
        Field(description="Where tables are kept. With rocksdb a restart reads only what is new."),
    ] = "memory"
    data: Annotated[
        Path | None, Field(description="Folder of the tables (rocksdb), on a local disk.")
    ] = None

    mapping: Annotated[
        Path | None,
        Field(
            description="YAML file that maps events of other topics to input records "
            "(docs/mapping.md)."
        ),
    ] = None
    standbys: Annotated[
        int,
        Field(ge=0, le=9, description="Number of other workers that keep a copy of each table."),
    ] = 0

    @model_validator(mode="after")
    def _together(self) -> Self:
        if self.generation in RESERVED:
            raise ValueError(f"generation {self.generation!r} is reserved; choose another name")
        if (self.store == "rocksdb") != (self.data is not None):
            raise ValueError("store rocksdb needs data, a folder; store memory takes none")
        return self

    @property
    def group(self) -> str:
        """Consumer group, and prefix of changelogs and transactions."""
        return f"{self.app_id}.{self.generation}" if self.generation else self.app_id

    @property
    def rules(self) -> Rules:
        """Rules of the folds."""
        return Rules.of(self.constants)

    @property
    def retention(self) -> int | None:
        """Retention in microseconds, or None for never."""
        return retention_of(self.retention_days)
