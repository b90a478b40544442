"""What commands share: their options, and their arguments with a word of help."""

import functools
import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

import click
from click.core import ParameterSource

from schemas.dead_letters import REASONS
from sinks.generation import find_tables, generation_path
from sinks.history_root import HistoryError
from sinks.locations import Location, is_url, location_of
from streams import configuration, output
from streams.commands import errors
from streams.errors import ConfigurationError
from streams.extractors.registry import BUILT_IN, DEFAULT, MODEL, check_choice, choices
from streams.observability import logs
from streams.pipeline.retention import ABOUT, MEANING, check_days

if TYPE_CHECKING:  # not loaded by a command that has no use for them
    from click.shell_completion import CompletionItem

    from streams.folds.constants import Rules

P = ParamSpec("P")
R = TypeVar("R")
SETTINGS = {"help_option_names": ["-h", "--help"]}


class _Path(click.Path):
    """A path. The empty path is rejected, because Python takes it for the current folder.
    `in_stores`: allows the URL of an object store."""

    def __init__(self, *, in_stores: bool = False) -> None:
        super().__init__(path_type=Path)
        self._in_stores = in_stores

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("is empty; give a path, or leave it out", param, ctx)
        if not is_url(value):
            path = configuration.expand_home(value) if isinstance(value, str) else value
            return super().convert(path, param, ctx)
        try:
            if self._in_stores:
                return location_of(value)
            raise ConfigurationError(IN_FOLDERS.format(_typed(ctx)))
        except (HistoryError, ConfigurationError) as error:
            output.fail(str(error))
            raise click.exceptions.Exit(error.exit_code) from None


IN_FOLDERS = (
    "{} does not work on an object store; docs/object-stores.md lists the commands that do and "
    "says what to do instead"
)


def _typed(ctx: click.Context | None) -> str:
    """The command as it was typed: `generation list`."""
    return ctx.command_path.partition(" ")[2] if ctx else "this"


class _OfField(click.ParamType):
    """Text for a field of a record, validated like the field."""

    name = "text"

    def __init__(self, field: str, plain: str) -> None:
        """`field`: of schemas.base. `plain`: pattern of texts that are certainly valid; pydantic,
        which is slow to import, validates all others."""
        self._field = field
        self._is_plain = re.compile(plain).fullmatch

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if self._is_plain(value):
            return value
        from pydantic import TypeAdapter, ValidationError

        from schemas import base
        from schemas.validation_text import faults

        try:
            return TypeAdapter(getattr(base, self._field)).validate_python(value)
        except ValidationError as error:
            self.fail(faults(error)[0].reason, param, ctx)


ID = _OfField("Id", "[ -~]{1,128}")
ENTITY_ID = _OfField("EntityId", "[ -~]{1,256}")
TENANT = _OfField("Tenant", "[ -.0-~]{1,128}")
FOLDER = _Path()
LOCATION = _Path(in_stores=True)
REASON = click.Choice(REASONS)
COMPRESSION = click.Choice(["none", "gzip", "snappy", "lz4", "zstd"])


class _Argument(click.Argument):
    """An argument with help: click knows it from 8.5 on, Faust needs an older one."""

    def __init__(self, param_decls: Sequence[str], help: str = "", **attrs: Any) -> None:
        super().__init__(param_decls, **attrs)
        self.help = help or None

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        return (self.human_readable_name, self.help or "")


class Amount(click.FloatRange):
    """A number from `min` to `max`. Click takes NaN for one of every range."""

    def __init__(self, min: float, max: float = configuration.MOST) -> None:
        super().__init__(min, max)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value!r} is not a number from {self.min:g} to {self.max:g}", param, ctx)
        return number


class Whole(click.IntRange):
    """A whole number from `min` to `max`."""

    def __init__(self, min: int, max: int = int(configuration.MOST)) -> None:
        super().__init__(min, max)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            int(value)
        except ValueError:
            bounds = f"give one from {self.min} to {self.max}"
            self.fail(f"{value!r} is not a whole number; {bounds}", param, ctx)
        return super().convert(value, param, ctx)


class _Days(click.ParamType):
    """Days of retention, validated in the same way by every command."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            days = float(value)
        except ValueError:
            days = nan
        try:
            return check_days(days)
        except ValueError:
            output.fail(f"--retention-days {value!r}: {MEANING}")
            raise click.exceptions.Exit(2) from None


argument = functools.partial(click.argument, cls=_Argument)
sources = argument(
    "files",
    nargs=-1,
    required=True,
    type=errors.SOURCE,
    help="NDJSON, .gz, .parquet, or - for stdin.",
)  # fmt: skip
HISTORY = "TURNFOLD_HISTORY"
DEFAULT_HISTORY = "turnfold"


def default_history() -> Path:
    """The default history of a command; its path is printed to stderr."""
    output.note(f"history: ./{DEFAULT_HISTORY} (the default; --history names another)")
    return Path(DEFAULT_HISTORY)


def _taken(ctx: click.Context, param: click.Parameter, value: Location | None) -> Location | None:
    """The history; one that was not typed is reported on stderr."""
    if ctx.resilient_parsing:
        return value
    if value is None:
        return default_history()
    if ctx.get_parameter_source("history") is not ParameterSource.COMMANDLINE:
        output.note(f"history: {value} ({configuration.name_of(HISTORY)})")
    return value


history = click.option(
    "--history",
    envvar=HISTORY,
    type=FOLDER,
    callback=_taken,
    help=f"Folder of the history. Default: ./{DEFAULT_HISTORY}.",
)
located_history = click.option(
    "--history",
    envvar=HISTORY,
    type=LOCATION,
    callback=_taken,
    help="Folder of the history, or its URL in an object store (s3://BUCKET/PREFIX). Default: "
    f"./{DEFAULT_HISTORY}.",
)
_generation = click.option(
    "--generation", metavar="NAME", help="Generation to read. Default: the live one."
)
tenant = click.option("--tenant", type=TENANT, default="default", help="Tenant. Default: default.")
any_tenant = click.option("--tenant", type=TENANT, help="Only this tenant. Default: all.")


def yes(action: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`--yes` of a command that destroys; without it the command is a dry run."""
    return click.option("-y", "--yes", is_flag=True, help=f"{action} Without it: a dry run.")


def forms(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`-o`: the output format. The first one, for people, is passed as None."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(names),
        default=names[0],
        callback=lambda ctx, param, name: None if name == names[0] else name,
        help=f"Form of the output. Default: {names[0]}.",
    )


form = forms("table", "json", "csv", "ndjson")
as_of = click.option(
    "--as-of", metavar="TIME", help="Read the state as of this time. A date means its end (UTC)."
)


def _into_environment(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    """Passes settings to every Kafka client, including child processes."""
    if value is not None:
        os.environ["TURNFOLD_KAFKA_TOPIC_PREFIX"] = value


def _path_setting(
    option: str, setting: str, help: str, metavar: str = "DIR"
) -> Callable[[Any], Any]:
    """A path that is named by this option or by the environment, where its user finds it."""

    def into_environment(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:
        if value is not None:
            os.environ[setting] = str(value.absolute())

    return click.option(
        option, envvar=setting, metavar=metavar, type=FOLDER, expose_value=False,
        callback=into_environment, help=help,
    )  # fmt: skip


search_folder = _path_setting(
    "--search-folder",
    "TURNFOLD_SEARCH_FOLDER",
    "Folder of the search indexes of histories in object stores; they contain texts of users. "
    "Default: ~/.cache/turnfold/search.",
)


def _meaning_into_environment(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> None:
    if value is not None:
        os.environ["TURNFOLD_MEANING"] = value


meaning = click.option(
    "--meaning",
    envvar="TURNFOLD_MEANING",
    type=click.Choice(["on", "off"]),
    expose_value=False,
    callback=_meaning_into_environment,
    help="Search by meaning in addition to words. Default: on, if the extra `meaning` is installed "
    "or TURNFOLD_EMBED_BASE_URL is set.",
)
prompt = _path_setting(
    "--prompt",
    "TURNFOLD_LLM_PROMPT",
    "Template of the model's instructions (docs/extract.md). Default: ours.",
    "FILE",
)
topic_prefix = click.option(
    "--topic-prefix",
    metavar="TEXT",
    expose_value=False,
    callback=_into_environment,
    help="Stands before the names of all topics, groups and transactional ids. Default: none.",
)
_bootstrap = click.option(
    "--bootstrap",
    envvar="TURNFOLD_KAFKA_BOOTSTRAP",
    help="Kafka bootstrap servers: host:port, comma-separated. Default: localhost:9092.",
)


def bootstrap(function: Callable[P, R]) -> Callable[P, R]:
    """How Kafka is reached, and what topics are called there."""
    return _bootstrap(topic_prefix(function))


def _log_by(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if value == "json" and not ctx.resilient_parsing:
        logs.stderr_as_json()
    return value


_observing = (
    click.option(
        "--metrics-port", metavar="[HOST:]PORT", envvar="TURNFOLD_METRICS_PORT",
        help="Serve /metrics, /healthz and /readyz on this port. HOST defaults to localhost; "
        "0: any free one, named in the log. Without the option no port is opened.",
    ),
    click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text",
        envvar="TURNFOLD_LOG_FORMAT", help="json: one object per line. Default: text.",
        is_eager=True, callback=_log_by,  # so that an error in another option is JSON as well
    ),
    click.option(
        "--traces", is_flag=True, envvar="TURNFOLD_TRACES",
        help="Send traces by OTLP. Default: only if OTEL_EXPORTER_OTLP_ENDPOINT is set.",
    ),
)  # fmt: skip
retention = click.option("--retention-days", metavar="DAYS", type=_Days(), help=ABOUT)
mapping = click.option(
    "--mapping",
    metavar="FILE",
    type=FOLDER,
    help="YAML file that maps events of another shape to input records (docs/mapping.md).",
)


class Extractor(click.ParamType):
    """The name of an extractor; without `model` of one that runs while turns are folded."""

    name = "extractor"

    def __init__(self, model: bool = True) -> None:
        self._model = model

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return check_choice(value, self._model)
        except (ValueError, ConfigurationError) as error:
            return self.fail(str(error), param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        names = [name for name in BUILT_IN if self._model or name != MODEL]
        return f"[{'|'.join(names)}|NAME]"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        names = choices(self._model)
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def extractor(about: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`--extractor` of a command that folds turns."""
    return click.option(
        "--extractor",
        type=Extractor(),
        help=f"{about} The choice is stored. Default: the stored choice, at first {DEFAULT}.",
    )


known_at = click.option("--known-at", metavar="TIME", help="Only what was known at this time.")


class _Constant(click.ParamType):
    """`NAME=VALUE`, checked: the pair."""

    name = "constant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from streams.folds.constants import parsed

        if not isinstance(value, str):
            return value
        try:
            return next(iter(parsed([value]).items()))
        except ValueError as error:
            output.fail(f"--set {error}")
            raise click.exceptions.Exit(2) from None


def reasons(which: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The option `--reason`, of the letters that a command is about."""
    return click.option(
        "--reason",
        "reasons",
        multiple=True,
        metavar="REASON",
        type=REASON,
        help=f"{which} letters with this reason. Can be repeated.",
    )


def constants(about: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`--set`, any number of times: constants of the rules by name."""
    return click.option(
        "--set", "constants", type=_Constant(), multiple=True, metavar="CONSTANT=VALUE", help=about,
        callback=lambda ctx, param, pairs: dict(pairs),
    )  # fmt: skip


class Observing(NamedTuple):
    """How a command that runs on is observed."""

    metrics_port: str | None
    log_format: str
    traces: bool

    def begin(self, part: str, verbose: bool = False) -> None:
        """Begins to log and to trace. Raises ConfigurationError."""
        from streams.observability import traces

        logs.log_to_stderr(verbose, self.log_format == "json")
        traces.begin(part, self.traces)

    def answering(
        self, samples: Callable[[], Iterable[Any]], readiness: Callable[[], Any]
    ) -> AbstractAsyncContextManager[None]:
        """Answers at the metrics port while the context lasts; without a configured port it is a
        no-op."""
        if self.metrics_port is None:
            return nullcontext()
        from streams.apps.metrics_port import served

        return served(self.metrics_port, samples, readiness)


def observed(function: Callable[..., R]) -> Callable[..., R]:
    """`--metrics-port`, `--log-format` and `--traces` of a command: its `observing`."""

    @functools.wraps(function)
    def wrapped(metrics_port: str | None, log_format: str, traces: bool, **options: Any) -> R:
        return function(observing=Observing(metrics_port, log_format, traces), **options)

    options: Callable[..., R] = wrapped
    for option in reversed(_observing):
        options = option(options)
    return options


def asked_history(function: Callable[..., R]) -> Callable[..., R]:
    """`--history` and `--generation` of a reading command, as one location `history`. Rejects a
    generation with constants that this version does not know."""
    return located_history(_generation(_asked(function)))


def _asked(function: Callable[..., R]) -> Callable[..., R]:
    @errors.reported
    @functools.wraps(function)
    def wrapped(history: Location, generation: str | None, **options: Any) -> R:
        location = generation_path(history, generation)
        rules_of(location)
        return function(history=location, **options)

    return wrapped


def rules_of(location: Location) -> "Rules":
    """The rules of the generation that answers for a path. Raises HistoryError,
    ConfigurationError."""
    from streams.files import manifest

    return manifest.rules_of(find_tables(location))
