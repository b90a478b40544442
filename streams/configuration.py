"""Reads `turnfold.toml`: settings of all commands, each equivalent to an environment variable.

A table is a family of settings: `bootstrap` in `[kafka]` is TURNFOLD_KAFKA_BOOTSTRAP. Settings
before the first table have no family: `history` is TURNFOLD_HISTORY. An option overrides its
variable, a variable the file, the file the default. docs/configuration.md.
"""

import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from streams.errors import ConfigurationError

FILE = "turnfold.toml"
VARIABLE = "TURNFOLD_CONFIG"
"""Path of another file; empty: no file is read."""
PREFIX = "TURNFOLD_"
MOST = 10**12
"""Upper limit of all numeric settings and options; most have a smaller one."""
NO_SETTINGS = frozenset({VARIABLE, "TURNFOLD_OUTAGES_TOLD_BY", "TURNFOLD_LOG_WARNINGS_ONLY"})
"""TURNFOLD_ variables that are not settings: the file's path, and two that `dev` sets for its
processes."""


class Family(NamedTuple):
    """A table of settings: `settings` is its class as MODULE:CLASS, `extra` the extra that installs
    it."""

    settings: str
    extra: str


FAMILIES = {
    "kafka": Family("streams.kafka.client.settings:KafkaSettings", "kafka"),
    "worker": Family("streams.apps.worker_settings:WorkerSettings", "kafka"),
    "serve": Family("streams.serving.http.settings:ServeSettings", "serve"),
    "erasure": Family("streams.erasure_keys.settings:ErasureSettings", "erasure"),
    "llm": Family("streams.llm.settings:LlmSettings", "llm"),
    "registry": Family("streams.mapping.schema_registry:RegistrySettings", "schema-registry"),
    "embed": Family("streams.search.embed_settings:EmbedSettings", "embeddings"),
}
"""Table -> family."""
COMMON = {
    "history": "Folder of the history: default of `--history`.",
    "search_folder": "Folder of search indexes for histories in object stores: default of "
    "`--search-folder`.",
    "meaning": "on or off: default of `--meaning`.",
    "meaning_model": "Model of search by meaning: a name that fastembed knows, or a folder. "
    "Default: sentence-transformers/all-MiniLM-L6-v2.",
    "tokenizer": "What counts the tokens of a context pack: MODULE:NAME of a function. Default: an "
    "estimate.",
    "metrics_port": "Port of /metrics, /healthz and /readyz, as [HOST:]PORT. Default: none.",
    "metrics_guarded": "true: only trusted machines reach metrics_port; `admin doctor` does not "
    "warn.",
    "log_format": "Format of logs: text or json.",
    "traces": "Send traces by OTLP.",
    "umask": "Which permissions new files lack, in octal. Default: 077, only this account reads.",
    "maven": "Mirror of Maven Central, from which `kafka broker` and `dev` fetch Kafka.",
    "key": "Key of the server that `mcp --url` asks.",
}
"""Settings without a family -> meaning."""
SECRETS = re.compile(r"_PASSWORD$|_SECRET$|_API_KEY$|^TURNFOLD_KEY$")
"""Variables with secret values."""

LOGIN = re.compile(r"[^\s/,\"'=]+@(?=[^\s/,]+)")
QUERY = re.compile(r"(?<=://)([^\s?,]*\?)[^\s,]*")
NOT_SHOWN = "***"
AS_TEXT = COMMON.keys() - {"metrics_port", "metrics_guarded", "traces"}
"""Settings without a family that must be text: TOML would read a number such as 027 as 23."""

EXPLICIT_ONLY = frozenset({
    "TURNFOLD_KAFKA_BOOTSTRAP", "TURNFOLD_KAFKA_SECURITY_PROTOCOL", "TURNFOLD_KAFKA_SASL_MECHANISM",
    "TURNFOLD_KAFKA_TLS_CA", "TURNFOLD_KAFKA_OAUTH_TOKEN_URL", "TURNFOLD_LLM_BASE_URL",
    "TURNFOLD_LLM_PROMPT",
    "TURNFOLD_EMBED_BASE_URL", "TURNFOLD_REGISTRY_URL", "TURNFOLD_MAVEN", "TURNFOLD_TOKENIZER",
    "TURNFOLD_MEANING_MODEL",
})  # fmt: skip
"""Settings that decide where data and credentials are sent, or which code runs. Only a file that
the user names can set them: the current folder may not be trusted."""

EXPLICIT_VALUES = frozenset({
    ("TURNFOLD_SERVE_EXTRACTOR", "llm"), ("TURNFOLD_WORKER_EXTRACTOR", "llm"),
})  # fmt: skip
"""Values with the same rule: with OPENAI_API_KEY set, turns are sent to a paid model."""

_origins: dict[str, str] = {}

UMASK = "TURNFOLD_UMASK"
"""Variable of the setting: octal, as in `umask`. 027 lets the group read."""
PRIVATE = "077"


def variable(family: str, name: str) -> str:
    """The environment variable of a setting; `family` may be empty."""
    return PREFIX + "_".join(filter(None, (family, name))).upper()


def name_of(variable: str) -> str:
    """Name of a setting for messages: its place in the file, or its variable."""
    return _origins.get(variable.upper(), variable)


def is_from_file(variable: str) -> bool:
    """Whether the variable's value comes from the file."""
    return variable.upper() in _origins


def masked(variable: str, value: str) -> str:
    """Masks secrets in a value: secret settings, logins and queries of URLs, keys pasted instead of
    their file, request bodies."""
    if SECRETS.search(variable) or variable.endswith("_BODY") or "-----BEGIN" in value:
        return NOT_SHOWN
    if not variable.endswith("_USERNAME"):
        value = LOGIN.sub(f"{NOT_SHOWN}@", value)
    return QUERY.sub(rf"\1{NOT_SHOWN}", value)


def expand_home(path: str) -> str:
    """Expands `~/`, as a shell does not in variables and files."""
    return str(Path(path).expanduser()) if path.startswith("~/") else path


def is_open_to_others(path: Path) -> bool:
    """Whether accounts other than the owner's may read the file."""
    return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def find(path: str | None) -> Path | None:
    """Path of the file: the argument, otherwise the current folder's if it exists. Returns None if
    TURNFOLD_CONFIG is empty, which click treats as unset."""
    if path is not None:
        return Path(path)
    default = Path(FILE)
    return default if os.environ.get(VARIABLE) != "" and os.path.lexists(default) else None


def apply(path: Path, explicit: bool) -> None:
    """Sets environment variables from the file, unless they are set; child processes inherit them.
    `explicit`: the user named the file.

    Raises ConfigurationError: the file cannot be read, is not TOML (with line and column), has an
    unknown table or setting (with its name), or, unless `explicit`, one of `EXPLICIT_ONLY`.
    """
    variables = {name.upper() for name in os.environ}
    settings = {name: setting for name, setting in read(path).items() if name not in variables}
    if not explicit:
        _check_implicit(path, settings)
    for name, (place, text) in settings.items():
        os.environ[name] = text
        _origins[name] = f"{path}: {place}"


def _check_implicit(path: Path, settings: Mapping[str, tuple[str, str]]) -> None:
    places = [
        place
        for name, (place, text) in settings.items()
        if name in EXPLICIT_ONLY or (name, text) in EXPLICIT_VALUES
    ]
    if places:
        raise ConfigurationError(
            f"{path}: {', '.join(places)}: only a file that you name may set addresses, a model, "
            "its prompt or code. "
            f"If you trust this one: turnfold --config {path} …, or {VARIABLE}={path}"
        )


def read(path: Path) -> dict[str, tuple[str, str]]:
    """Variable -> its place in the file (`kafka.bootstrap`), and its value as text."""
    try:
        if path.exists() and not path.is_file():  # reading a pipe would block
            raise ConfigurationError(f"{path}: not a file")
        raw = path.read_bytes()
        content = tomllib.loads(raw.decode("utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        *lines, last = raw[: error.start].split(b"\n")
        position = f"(at line {len(lines) + 1}, column {len(last) + 1})"
        raise ConfigurationError(f"{path}: not UTF-8 {position}") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{path}: not TOML: {error}") from None
    return {
        variable(family, name): (f"{family}.{name}" if family else name, text)
        for family, name, text in _settings(path, content)
    }


def _settings(path: Path, content: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    for key, value in content.items():
        if key in FAMILIES:
            if not isinstance(value, dict):
                raise ConfigurationError(f"{path}: {key}: expected a table, [{key}]")
            for name, entry in value.items():
                if name != name.lower():
                    raise ConfigurationError(
                        f"{path}: {key}.{name}: {unknown_setting(name, [name.lower()])}"
                    )
                place = f"{path}: {key}.{name}"
                if SECRETS.search(variable(key, name)) and not isinstance(entry, str):
                    raise ConfigurationError(f"{place}: {NOT_TEXT}")
                yield key, name, _text(place, entry)
        elif key in COMMON:
            if key in AS_TEXT and not isinstance(value, str):
                raise ConfigurationError(f"{path}: {key}: {NOT_TEXT}")
            yield "", key, _text(f"{path}: {key}", value)
        else:
            raise ConfigurationError(f"{path}: {key}: {unknown_setting(key, [*COMMON, *FAMILIES])}")


NOT_TEXT = "expected text, in quotes"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The most similar name, ignoring case, or None without a similar one."""
    by_name = {candidate.lower(): candidate for candidate in names}
    close = get_close_matches(name.lower(), by_name, 1)
    return by_name[close[0]] if close else None


def unknown_setting(name: str, names: list[str]) -> str:
    """Message for an unknown setting."""
    close = nearest(name, names)
    return "there is no such setting" + (f"; did you mean {close}?" if close else "")


def _text(place: str, value: Any) -> str:
    """Value of the environment variable: text unchanged, others as JSON."""
    if isinstance(value, str):
        if "\0" in value:
            raise ConfigurationError(f"{place}: contains the character NUL")
        return value
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"{place}: a {_kind(value)} cannot be a setting; expected text in quotes, a number, "
            "true, false, a list or a table of them"
        ) from None


def _kind(value: Any) -> str:
    """TOML type of a value. Messages omit the value, which may be a secret without quotes."""
    return (
        "list or table with such a value"
        if isinstance(value, list | dict)
        else ("number that is none" if isinstance(value, float) else "date or time")
    )


def keep_files_private() -> None:
    """Creates files with mode 0600 and folders with 0700 from now on, including files of libraries
    and child processes.

    Raises ConfigurationError for an invalid setting, or one that excludes the owner.
    """
    os.umask(umask_of(os.environ.get(UMASK) or PRIVATE))


def umask_of(text: str) -> int:
    """The setting as a number. Raises ConfigurationError."""
    try:
        umask = int(text, 8)
    except ValueError:
        umask = -1
    if not 0 <= umask <= 0o077:
        raise ConfigurationError(
            f"{UMASK}: {text!r} is not a umask from 000 to 077; 077 limits files to this account, "
            "027 lets its group read them"
        )
    return umask
