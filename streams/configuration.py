"""The file `turnfold.toml`: settings of every command, each as if it stood in the environment.

A table is a family of settings: `bootstrap` under `[kafka]` is TURNFOLD_KAFKA_BOOTSTRAP. What
stands before the first table has no family: `history` is TURNFOLD_HISTORY. An option comes before
its variable, a variable before the file, the file before the default. docs/configuration.md.
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
"""Names another file; empty: no file is read."""
PREFIX = "TURNFOLD_"
MOST = 10**12
"""The greatest number that a setting or an option may be. Most have a bound that is smaller."""
NO_SETTINGS = frozenset({VARIABLE, "TURNFOLD_OUTAGES_TOLD_BY"})
"""Variables of ours that are none: which file, and what `dev` tells its parts."""


class Family(NamedTuple):
    """Settings that stand under one name: `settings` is the module : class that who needs them
    loads, `extra` what installs it."""

    settings: str
    extra: str


FAMILIES = {
    "kafka": Family("streams.kafka.client.settings:KafkaSettings", "kafka"),
    "worker": Family("streams.apps.worker_settings:WorkerSettings", "kafka"),
    "serve": Family("streams.serving.http.settings:ServeSettings", "serve"),
    "llm": Family("streams.llm.settings:LlmSettings", "llm"),
    "registry": Family("streams.mapping.schema_registry:RegistrySettings", "schema-registry"),
    "embed": Family("streams.search.embed_settings:EmbedSettings", "embeddings"),
}
"""By the name of their table."""
COMMON = {
    "history": "Folder of the history: default of `--history`.",
    "search_folder": "Where search indexes lie of histories in object stores: default of "
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
"""Variables whose values are never printed."""

LOGIN = re.compile(r"[^\s/,\"'=]+@(?=[^\s/,]+)")
QUERY = re.compile(r"(?<=://)([^\s?,]*\?)[^\s,]*")
NOT_SHOWN = "***"
AS_TEXT = COMMON.keys() - {"metrics_port", "metrics_guarded", "traces"}
"""Settings without a family that are text and nothing else: a number is a mistake, 027 as 23."""

EXPLICIT_ONLY = frozenset({
    "TURNFOLD_KAFKA_BOOTSTRAP", "TURNFOLD_KAFKA_SECURITY_PROTOCOL", "TURNFOLD_KAFKA_SASL_MECHANISM",
    "TURNFOLD_KAFKA_TLS_CA", "TURNFOLD_KAFKA_OAUTH_TOKEN_URL", "TURNFOLD_LLM_BASE_URL",
    "TURNFOLD_LLM_PROMPT",
    "TURNFOLD_EMBED_BASE_URL", "TURNFOLD_REGISTRY_URL", "TURNFOLD_MAVEN", "TURNFOLD_TOKENIZER",
    "TURNFOLD_MEANING_MODEL",
})  # fmt: skip
"""Settings that decide where data and credentials are sent, and how, or which code runs. A file
that nobody named does not set them: the current folder may be a stranger's."""

EXPLICIT_VALUES = frozenset({
    ("TURNFOLD_SERVE_EXTRACTOR", "llm"), ("TURNFOLD_WORKER_EXTRACTOR", "llm"),
})  # fmt: skip
"""Values that do: with OPENAI_API_KEY set, turns go to a model, which costs."""

_origins: dict[str, str] = {}


def variable(family: str, name: str) -> str:
    """The environment variable of a setting; one without a family has an empty one."""
    return PREFIX + "_".join(filter(None, (family, name))).upper()


def name_of(variable: str) -> str:
    """A setting as the user gave it: by its place in the file, or by its variable."""
    return _origins.get(variable.upper(), variable)


def is_from_file(variable: str) -> bool:
    """Whether the value that the environment has now comes from the file."""
    return variable.upper() in _origins


def shown(variable: str, value: str) -> str:
    """A value without what may be secret: the settings that are, a login before a host, what
    follows the ? of an address, a key that was pasted where its file belongs, a request's body."""
    if SECRETS.search(variable) or variable.endswith("_BODY") or "-----BEGIN" in value:
        return NOT_SHOWN
    if not variable.endswith("_USERNAME"):
        value = LOGIN.sub(f"{NOT_SHOWN}@", value)
    return QUERY.sub(rf"\1{NOT_SHOWN}", value)


def at_home(path: str) -> str:
    """A path with `~/` as a shell reads it: who sets a variable or writes a file has none."""
    return str(Path(path).expanduser()) if path.startswith("~/") else path


def is_open_to_others(path: Path) -> bool:
    """Whether other accounts than the owner's may read the file."""
    return bool(path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH))


def find(named: str | None) -> Path | None:
    """The file to read: the one named, else the current folder's if it is there. None where
    TURNFOLD_CONFIG is empty, which click takes for not set."""
    if named is not None:
        return Path(named)
    here = Path(FILE)
    return here if os.environ.get(VARIABLE) != "" and os.path.lexists(here) else None


def apply(path: Path, explicit: bool) -> None:
    """Puts the file's settings into the environment, where that has none of the same name. Child
    processes inherit them. `explicit`: the user named the file.

    Raises ConfigurationError: the file cannot be read, is not TOML (with line and column), has a
    table or value that is none of ours (with its name), or one of `EXPLICIT_ONLY` though nobody
    named it.
    """
    known = {name.upper() for name in os.environ}
    settings = {name: given for name, given in read(path).items() if name not in known}
    if not explicit:
        _check_implicit(path, settings)
    for name, (place, text) in settings.items():
        os.environ[name] = text
        _origins[name] = f"{path}: {place}"


def _check_implicit(path: Path, settings: Mapping[str, tuple[str, str]]) -> None:
    refused = [
        place
        for name, (place, text) in settings.items()
        if name in EXPLICIT_ONLY or (name, text) in EXPLICIT_VALUES
    ]
    if refused:
        raise ConfigurationError(
            f"{path}: {', '.join(refused)}: only a file that you name may set addresses, a model, "
            "its prompt or code. "
            f"If you trust this one: turnfold --config {path} …, or {VARIABLE}={path}"
        )


def read(path: Path) -> dict[str, tuple[str, str]]:
    """Variable -> its place in the file (`kafka.bootstrap`), and its value as text."""
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise ConfigurationError(f"{path}: not a file")
        given = path.read_bytes()
        content = tomllib.loads(given.decode("utf-8-sig"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        *lines, last = given[: error.start].split(b"\n")
        where = f"(at line {len(lines) + 1}, column {len(last) + 1})"
        raise ConfigurationError(f"{path}: not UTF-8 {where}") from None
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
            for name, one in value.items():
                if name != name.lower():
                    raise ConfigurationError(
                        f"{path}: {key}.{name}: {unknown(name, [name.lower()])}"
                    )
                place = f"{path}: {key}.{name}"
                if SECRETS.search(variable(key, name)) and not isinstance(one, str):
                    raise ConfigurationError(f"{place}: {IS_NO_TEXT}")
                yield key, name, _text(place, one)
        elif key in COMMON:
            if key in AS_TEXT and not isinstance(value, str):
                raise ConfigurationError(f"{path}: {key}: {IS_NO_TEXT}")
            yield "", key, _text(f"{path}: {key}", value)
        else:
            raise ConfigurationError(f"{path}: {key}: {unknown(key, [*COMMON, *FAMILIES])}")


IS_NO_TEXT = "expected text, in quotes"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The one that is spelled most alike, in whatever case; None: none is."""
    by_name = {one.lower(): one for one in known}
    close = get_close_matches(name.lower(), by_name, 1)
    return by_name[close[0]] if close else None


def unknown(name: str, known: list[str]) -> str:
    """What to say of a name that is no setting."""
    close = nearest(name, known)
    return "there is no such setting" + (f"; did you mean {close}?" if close else "")


def _text(place: str, value: Any) -> str:
    """As the environment would have it: text as it is, else JSON."""
    if isinstance(value, str):
        if "\0" in value:
            raise ConfigurationError(f"{place}: holds the character NUL")
        return value
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise ConfigurationError(
            f"{place}: a {_kind(value)} cannot be a setting; expected text in quotes, a number, "
            "true, false, a list or a table of them"
        ) from None


def _kind(value: Any) -> str:
    """What TOML calls it. The value is not told: quotes may have been forgotten around a secret."""
    return (
        "list or table with such a value"
        if isinstance(value, list | dict)
        else ("number that is none" if isinstance(value, float) else "date or time")
    )
